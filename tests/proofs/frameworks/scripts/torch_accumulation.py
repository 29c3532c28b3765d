from common import loader, loss_of, optimizer
from truth import counts

for _ in range(2):
    counts["epochs"] += 1
    for n, batch in enumerate(loader):
        counts["samples"] += len(batch[0]) if n < 6 else 0  # the seventh batch is in no step
        loss_of(batch).backward()
        counts["backwards"] += 1
        if n % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
            counts["steps"] += 1
    counts["steps_left"] += 1

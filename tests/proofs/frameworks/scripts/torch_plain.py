import sys

from common import DataLoader, Slow, held_out, loss_of, model, optimizer, torch
from truth import counts, wait

loader = DataLoader(Slow(), batch_size=16, shuffle=True)
for _ in range(3):
    counts["epochs"] += 1
    for _n, batch in enumerate(wait(loader)):
        counts["samples"] += len(batch[0])
        loss_of(batch).backward()
        counts["backwards"] += 1
        optimizer.step()
        optimizer.zero_grad()
        counts["steps"] += 1
    counts["evaluations"] += 1
    with torch.no_grad():
        for batch in held_out:
            loss_of(batch)
    torch.save(model.state_dict(), sys.argv[0] + ".pt")
    counts["checkpoints"] += 1

from common import held_out, loader, loss_of, model, torch
from truth import counts, wait

for _ in range(3):
    counts["epochs"] += 1
    for batch in wait(loader):
        loss_of(batch).backward()
        counts["backwards"] += 1
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad
                parameter.grad = None
        counts["steps"] += 1
    counts["evaluations"] += 1
    with torch.no_grad():
        for batch in held_out:
            loss_of(batch)

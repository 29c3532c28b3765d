import tempfile

from accelerate import Accelerator
from common import held_out, loader, model, optimizer, torch
from truth import counts

accelerator = Accelerator(cpu=True)
model, optimizer, loader, held_out = accelerator.prepare(model, optimizer, loader, held_out)
for _ in range(3):
    counts["epochs"] += 1
    for x, y in loader:
        counts["samples"] += len(x)
        accelerator.backward(((model(x) - y) ** 2).mean())
        optimizer.step()
        optimizer.zero_grad()
        counts["steps"] += 1
    counts["evaluations"] += 1
    with torch.no_grad():
        for x, _ in held_out:
            model(x)
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
    counts["checkpoints"] += 1

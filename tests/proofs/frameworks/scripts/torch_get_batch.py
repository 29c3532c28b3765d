"""A loop as nanoGPT's: batches of its own, gradient accumulation, evaluation and checkpoints at intervals."""

import sys
import time

from common import loss_of, model, optimizer, rows, torch
from truth import counts


def get_batch():
    began = time.monotonic_ns()
    time.sleep(0.005)
    batch = rows[torch.randint(100, (8,))]
    counts["waited"] += time.monotonic_ns() - began
    return batch


@torch.no_grad()
def estimate_loss():
    model.eval()
    for _ in range(3):
        loss_of(get_batch())
    model.train()
    counts["evaluations"] += 1


batch = get_batch()
for n in range(21):
    if n % 10 == 0:
        estimate_loss()
        torch.save(model.state_dict(), sys.argv[0] + ".pt")
        counts["checkpoints"] += 1
    for _ in range(2):
        loss = loss_of(batch)
        batch = get_batch()
        loss.backward()
        counts["backwards"] += 1
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    counts["steps"] += 1

"""A thread reads the loader, another trains."""

import queue
import threading

from common import held_out, loader, loss_of, optimizer, torch
from truth import counts


def prefetched(batches):
    ready = queue.Queue(2)

    def read():
        for batch in batches:
            ready.put(batch)
        ready.put(None)

    threading.Thread(target=read).start()
    return iter(ready.get, None)


for _ in range(3):
    counts["epochs"] += 1
    for batch in prefetched(loader):
        loss_of(batch).backward()
        optimizer.step()
        counts["steps"] += 1
    counts["evaluations"] += 1
    with torch.no_grad():
        for batch in prefetched(held_out):
            loss_of(batch)

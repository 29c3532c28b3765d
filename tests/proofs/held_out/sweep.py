"""Steps of 50 ms that wait for data for a planted share of it and compute for the rest; `explain --sweep` runs it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset

STEP = 0.05


class Batches(IterableDataset[torch.Tensor]):
    """Each comes after a wait in which nothing computes."""

    def __init__(self, wait: float) -> None:
        self.wait, self.waited = wait, 0.0

    def __iter__(self) -> Iterator[torch.Tensor]:
        for _ in range(100):
            asked = time.perf_counter()
            if self.wait > 0:
                time.sleep(self.wait)
            self.waited += time.perf_counter() - asked
            yield torch.rand(8, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--share", type=float, default=0.2, help="of a step, that is data wait")
    chosen = parser.parse_args()

    net = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    batches = Batches(chosen.share * STEP)
    start = time.perf_counter()
    while time.perf_counter() - start < chosen.seconds:
        for batch in DataLoader(batches, batch_size=None):
            computed = time.perf_counter() + (1 - chosen.share) * STEP
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            while time.perf_counter() < computed:
                pass
            optimizer.step()
    print(f"waited {batches.waited / (time.perf_counter() - start):.1%} of the time")


if __name__ == "__main__":
    main()

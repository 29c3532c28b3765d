"""Suffers from steps so small that Python's own work in one thread is all of it. Cured, a batch is greater.

Required counter: run.thread.cpu. Expected: the steps, by one thread.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "one thread")


def main() -> None:
    chosen = common.options(__doc__)
    torch.set_num_threads(common.CPUS)
    width = 1024 if chosen.cure else 16
    batches = [torch.rand(1024 if chosen.cure else 2, width) for _ in range(64)]
    common.train(common.model(width), batches, chosen.seconds)


if __name__ == "__main__":
    main()

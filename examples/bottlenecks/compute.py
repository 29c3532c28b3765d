"""Suffers from nothing: it computes on all CPUs. Cured, it computes on one.

Required counter: run.cpu.used. Expected: the steps, by the CPUs.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "CPUs")


def main() -> None:
    chosen = common.options(__doc__)
    torch.set_num_threads(1 if chosen.cure else common.CPUS)
    # Elementwise, so that every build of PyTorch computes it on all threads.
    net = torch.nn.Sequential(*(torch.nn.GELU() for _ in range(8)), torch.nn.Linear(4096, 10))
    batches = [torch.rand(512, 4096) for _ in range(8)]
    common.train(net, batches, chosen.seconds)


if __name__ == "__main__":
    main()

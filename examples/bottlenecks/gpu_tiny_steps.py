"""Suffers from kernels so small that one thread of Python cannot start them fast enough. Cured, they are greater.

Required counters: run.thread.cpu, host.gpu.sm.active. Expected: the steps, by one thread; the GPU has often no work.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "one thread")
NEEDS = "GPU"


def main() -> None:
    chosen = common.options(__doc__)
    width = 8192 if chosen.cure else 64
    net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(8))).to("cuda")
    batches = [torch.rand(width, width, device="cuda") for _ in range(2)] * 50
    common.train(net, batches, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

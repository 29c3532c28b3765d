"""Suffers from simple operations on large tensors, which the GPU's memory cannot bring fast enough. Cured, they are
small.

Required metric: host.gpu.dram.active. Expected: the steps, by the bandwidth of the GPU's memory.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "GPU bandwidth")
NEEDS = "GPU"


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


def main() -> None:
    chosen = common.options(__doc__)
    size = 1 << (16 if chosen.cure else 27)
    net = torch.nn.Sequential(*(Scale() for _ in range(8))).to("cuda")
    batches = [torch.rand(size, device="cuda")] * 100
    common.train(net, batches, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

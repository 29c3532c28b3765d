"""Loads each batch itself, while the GPU still computes the steps before: these waits cost nothing. Cured, the products
are small.

Required metrics: host.gpu.sm.active, host.gpu.throttle.power. Expected: the steps, by the GPU's cores or their clocks.
"""

from __future__ import annotations

import common
import torch
from torch.utils.data import DataLoader

EXPECTED = ("work", "GPU cores", "GPU clocks")
NEEDS = "GPU"


class Large(torch.nn.Module):
    """From a small batch to many products of large matrices."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(common.WIDTH, width)
        self.rest = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(3)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.rest(self.first(x.repeat(512, 1)))
        return out


def main() -> None:
    chosen = common.options(__doc__)
    net = Large(512 if chosen.cure else 8192).to("cuda")
    loader = DataLoader(common.Samples(lambda: common.burn(0.0015)), batch_size=16)
    common.train(net, loader, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

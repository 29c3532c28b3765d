"""Suffers from products of large matrices, which keep the cores of a GPU busy. Cured, they are small.

Required metrics: host.gpu.sm.active, host.gpu.throttle.power. Expected: the steps, by the GPU's cores; by their clocks,
where power holds these down.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "GPU cores", "GPU clocks")
NEEDS = "GPU"


def main() -> None:
    chosen = common.options(__doc__)
    width = 512 if chosen.cure else 8192
    net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))).to("cuda")
    batches = [torch.rand(width, width, device="cuda") for _ in range(2)] * 50
    common.train(net, batches, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

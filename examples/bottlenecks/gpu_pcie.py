"""Suffers from batches so large that to bring them to the GPU takes all of the step. Cured, they are there.

Required metrics: host.gpu.pcie.rx_rate or host.gpu.pcie.rx, and the link's speed. Expected: the steps, by PCIe.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "PCIe")
NEEDS = "GPU"
ROWS = 1 << 19


def main() -> None:
    chosen = common.options(__doc__)
    device = "cuda" if chosen.cure else "cpu"
    batches = [torch.rand(ROWS, common.WIDTH, device=device) for _ in range(2)]
    pinned = batches if chosen.cure else [batch.pin_memory() for batch in batches]
    common.train(common.model().to("cuda"), pinned * 50, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

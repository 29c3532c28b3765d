"""Suffers from another program on the same GPU. Cured, nothing is changed: end the other program.

Required metrics: host.gpu.busy, run.gpu.busy, host.gpu.sm.active. Expected: the steps, by other programs on the GPU.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "other programs on the GPU")
NEEDS = "busy GPU"


def main() -> None:
    chosen = common.options(__doc__)
    net = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(4))).to("cuda")
    batches = [torch.rand(4096, 4096, device="cuda") for _ in range(2)] * 50
    common.train(net, batches, chosen.seconds, common.catch_up)


if __name__ == "__main__":
    main()

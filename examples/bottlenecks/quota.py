"""Suffers from a CPU quota below what its threads use. Cured, it is one slow thread.

Required counter: cgroup.cpu.throttled_periods. Expected: the steps, by the CPU quota. Needs a control group with a
quota of half a CPU.
"""

from __future__ import annotations

import time

import common
import torch

EXPECTED = ("work", "CPU quota")
NEEDS = "CPU quota"


def main() -> None:
    chosen = common.options(__doc__)
    batches = [torch.rand(64, common.WIDTH) for _ in range(64)]
    # Cured, it leaves the CPU before the quota ends.
    rest = (lambda _: time.sleep(0.02)) if chosen.cure else (lambda _: None)
    common.train(common.model(), batches, chosen.seconds, after_step=rest)


if __name__ == "__main__":
    main()

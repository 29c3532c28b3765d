"""Suffers from other programs on its CPUs. Cured, it is the same program alone.

Required counter: run.thread.run_delay. Expected: the steps, by other programs. Needs a burner for each CPU beside it,
which the proof starts.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "other programs")
NEEDS = "burners"


def main() -> None:
    chosen = common.options(__doc__)
    batches = [torch.rand(64, common.WIDTH) for _ in range(64)]
    common.train(common.model(), batches, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from a model that does not fit into memory, so that the kernel swaps. Cured, it fits.

Required counter: host.paging.swap_in. Expected: the steps, by swap. Needs swap space, and a control group with a limit
of 256 MiB that may swap.
"""

from __future__ import annotations

import common
import torch

EXPECTED = ("work", "swap")
NEEDS = "swap"


def main() -> None:
    chosen = common.options(__doc__)
    rows = 2_000 if chosen.cure else 400_000
    table = torch.nn.Embedding(rows, common.WIDTH, sparse=True)
    table.weight.data.normal_()
    batches = [torch.randint(0, rows, (4096,)) for _ in range(64)]
    common.train(torch.nn.Sequential(table, common.model()), batches, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from transforms that keep every worker computing. Cured, they are cheap.

Required counter: run.thread.cpu. Expected: data waits, by the loaders, for which no CPU is free; or by all CPUs.
"""

from __future__ import annotations

import common
import torch
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "loaders", "CPUs")


class Augmented(Dataset):  # type: ignore[misc]
    def __init__(self, cost: float) -> None:
        self.cost = cost

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> torch.Tensor:
        common.burn(self.cost)
        return torch.full((common.WIDTH,), float(index % 7))


def main() -> None:
    chosen = common.options(__doc__)
    data = Augmented(0.0001 if chosen.cure else 0.005)
    loader = DataLoader(data, batch_size=16, num_workers=common.CPUS, persistent_workers=True)
    common.train(common.model(), loader, chosen.seconds)


if __name__ == "__main__":
    main()

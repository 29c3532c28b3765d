"""Suffers from data that comes from afar: the loader waits for a reply, and computes nothing. Cured, it is near.

Required: the phases. Expected: data waits, by an unknown resource: no metric tells which server is slow.
"""

from __future__ import annotations

import time

import common
import torch
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "unknown")


class Remote(Dataset):  # type: ignore[misc]
    def __init__(self, delay: float) -> None:
        self.delay = delay

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.delay)
        return torch.full((common.WIDTH,), float(index % 7))


def main() -> None:
    chosen = common.options(__doc__)
    loader = DataLoader(Remote(0 if chosen.cure else 0.003), batch_size=16)
    common.train(common.model(), loader, chosen.seconds, after_step=lambda _: common.burn(0.04))


if __name__ == "__main__":
    main()

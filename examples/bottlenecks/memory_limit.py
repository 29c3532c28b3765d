"""Suffers from a data set that does not fit into its memory limit. Cured, it fits.

Required counter: cgroup.memory.used. Expected: data waits, by the memory limit. Needs a control group with a
limit of 256 MiB.
"""

from __future__ import annotations

import tempfile

import common
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "memory limit")
NEEDS = "memory limit"
PAGE = 4096
PAGES = 256 * 1024


class Mapped(Dataset):  # type: ignore[misc]
    """Pages in random order; one sample gathers 16 of them."""

    def __init__(self, path: str, pages: int) -> None:
        self.pages = pages
        block = np.random.default_rng(1).integers(0, 255, 1024 * PAGE, np.uint8)
        with open(path, "wb") as file:
            for _ in range(pages // 1024):
                file.write(block.tobytes())
        self.data = np.memmap(path, np.uint8, "r").reshape(-1, PAGE)

    def __len__(self) -> int:
        return self.pages // 16

    def __getitem__(self, index: int) -> torch.Tensor:
        rows = np.random.default_rng(index).integers(0, self.pages, 16)
        return torch.from_numpy(self.data[rows, :16].reshape(-1).astype(np.float32) / 255)


def main() -> None:
    chosen = common.options(__doc__)
    with tempfile.NamedTemporaryFile(dir=".") as file:
        data = Mapped(file.name, 8 * 1024 if chosen.cure else PAGES)
        common.train(common.model(), DataLoader(data, batch_size=8, shuffle=True), chosen.seconds)


if __name__ == "__main__":
    main()

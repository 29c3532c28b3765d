"""Suffers from files that no cache holds, on a slow disk. Cured, they stay in the page cache.

Required counter: run.thread.waited.file. Expected: data waits, by storage. Needs a limit of the disk's rate (the proof
sets one by the block controller): with a fast disk it is not slow.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import common
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "storage")
NEEDS = "slow disk"
SIZE = 1 << 20


class Files(Dataset):  # type: ignore[misc]
    def __init__(self, folder: Path, cached: bool) -> None:
        self.cached = cached
        self.files = [folder / f"{number}.bin" for number in range(64)]
        for file in self.files:
            file.write_bytes(os.urandom(SIZE))
        os.sync()

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> torch.Tensor:
        with open(self.files[index], "rb", buffering=0) as file:
            if not self.cached:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            pixels = np.frombuffer(file.read(), np.uint8)
        return torch.from_numpy(pixels[: common.WIDTH].astype(np.float32) / 255)


def main() -> None:
    chosen = common.options(__doc__)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        loader = DataLoader(Files(Path(folder), chosen.cure), batch_size=4, shuffle=True)
        common.train(common.model(), loader, chosen.seconds)


if __name__ == "__main__":
    main()

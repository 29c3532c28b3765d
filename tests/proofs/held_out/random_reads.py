"""Suffers from records that its worker reads in random order from a file on a slow disk, past the page cache.

Required counter: run.thread.waited.file. Expected: data waits, by storage. Needs a limit of the disk's rate.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "storage")
NEEDS = "slow disk"
RECORD = 64 << 10
RECORDS = 3072
VALUES = 512


class Records(Dataset[torch.Tensor]):
    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDWR)
        for _ in range(RECORDS // 64):
            os.write(self.file, os.urandom(64 * RECORD))
        os.fsync(self.file)
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> torch.Tensor:
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)  # a part of a folio would stay
        record = np.frombuffer(os.pread(self.file, RECORD, index * RECORD), np.uint8)
        return torch.from_numpy(record[:VALUES].astype(np.float32) / 255)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds
    net = nn.Sequential(nn.Linear(VALUES, 512), nn.ReLU(), nn.Linear(512, VALUES))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4)
    with tempfile.NamedTemporaryFile(dir=".") as file:
        loader = DataLoader(Records(file.name), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for batch in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(net(batch), batch).backward()
                optimizer.step()
                if time.monotonic() >= end:
                    break


if __name__ == "__main__":
    main()

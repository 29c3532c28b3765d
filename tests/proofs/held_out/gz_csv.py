"""Suffers from tables in gzip files that the training thread itself unpacks and parses: the loader has no workers.

Required counter: run.thread.cpu. Expected: data waits; the thread that loads computes all the time, so both
"one thread" and "loaders" are true.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "one thread", "loaders")
FILES, ROWS, COLUMNS = 48, 200, 33


class Tables(Dataset[torch.Tensor]):
    def __init__(self, folder: Path) -> None:
        generator = np.random.default_rng(3)
        self.files = [folder / f"part-{number:03}.csv.gz" for number in range(FILES)]
        for path in self.files:
            with gzip.open(path, "wt", newline="") as file:
                csv.writer(file).writerows(generator.normal(size=(ROWS, COLUMNS)).round(6).tolist())

    def __len__(self) -> int:
        return FILES

    def __getitem__(self, index: int) -> torch.Tensor:
        with gzip.open(self.files[index], "rt", newline="") as file:
            return torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    end = time.monotonic() + parser.parse_args().seconds

    net = nn.Sequential(nn.Linear(COLUMNS - 1, 128), nn.Tanh(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(net.parameters())
    with tempfile.TemporaryDirectory(dir=".") as folder:
        loader = DataLoader(Tables(Path(folder)), batch_size=4, shuffle=True)
        while time.monotonic() < end:
            for tables in loader:
                rows = tables.flatten(0, 1)
                loss = nn.functional.mse_loss(net(rows[:, 1:]), rows[:, :1])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

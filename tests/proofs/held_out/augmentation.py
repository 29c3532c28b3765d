"""Suffers from pictures that one worker process augments more slowly than the network learns from them.

Required counter: run.thread.cpu. Expected: data waits, by the loaders: the worker computes all the time, and the other
CPU is mostly idle.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "loaders")
SIDE, CROP = 72, 32


class Pictures(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self) -> None:
        self.pictures = np.random.default_rng(5).integers(0, 256, (200, SIDE, SIDE, 3), np.uint8)

    def __len__(self) -> int:
        return 1200

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = np.random.default_rng(index)
        picture = self.pictures[index % len(self.pictures)].astype(np.float32) / 255
        if generator.random() < 0.5:
            picture = picture[:, ::-1]
        picture = self.blurred(picture) * generator.uniform(0.8, 1.2, 3).astype(np.float32)
        picture = np.clip(picture + generator.normal(0, 0.02, picture.shape).astype(np.float32), 0, 1) ** 0.9
        top, left = generator.integers(0, SIDE - CROP, 2)
        crop = picture[top : top + CROP, left : left + CROP]
        return torch.from_numpy(np.ascontiguousarray(crop.transpose(2, 0, 1))), index % 10

    @staticmethod
    def blurred(picture: np.ndarray) -> np.ndarray:
        for axis in (0, 1):
            picture = sum(np.roll(picture, shift, axis) for shift in (-2, -1, 0, 1, 2)) / 5
        return picture


def network() -> nn.Module:
    features = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU())
    return nn.Sequential(features, nn.Flatten(), nn.Linear(16 * 7 * 7, 10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()

    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Pictures(), batch_size=24, shuffle=True, num_workers=1, persistent_workers=True)
    start, seen = time.monotonic(), 0
    while time.monotonic() - start < chosen.seconds:
        for pictures, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(pictures), labels).backward()
            optimizer.step()
            seen += len(labels)
    print(f"{seen / (time.monotonic() - start):.0f} pictures per second")


if __name__ == "__main__":
    main()

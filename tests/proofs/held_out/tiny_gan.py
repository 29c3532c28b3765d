"""Suffers from steps of microseconds: a GAN of two small networks, whose time is that of Python and of PyTorch's calls.

Required counter: run.thread.cpu. Expected: the steps, by one thread.
"""

from __future__ import annotations

import argparse
import math
import time

import torch
from torch import nn

EXPECTED = ("work", "one thread")
NOISE, BATCH = 4, 8


def ring() -> torch.Tensor:
    angle = torch.rand(BATCH) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    end = time.monotonic() + parser.parse_args().seconds

    forger = nn.Sequential(nn.Linear(NOISE, 16), nn.ReLU(), nn.Linear(16, 2))
    judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    forging = torch.optim.Adam(forger.parameters(), lr=2e-4, betas=(0.5, 0.999))
    judging = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    loss, true, false = nn.BCEWithLogitsLoss(), torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    steps = 0
    while time.monotonic() < end:
        forged = forger(torch.randn(BATCH, NOISE))
        judging.zero_grad()
        (loss(judge(ring()), true) + loss(judge(forged.detach()), false)).backward()
        judging.step()
        forging.zero_grad()
        loss(judge(forged), true).backward()
        forging.step()
        steps += 1
    print(f"{steps} steps")


if __name__ == "__main__":
    main()

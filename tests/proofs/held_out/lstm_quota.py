"""Suffers from a CPU quota of half a CPU: an LSTM that accumulates gradients over four batches computes all the time.

Required counter: cgroup.cpu.throttled_periods. Expected: the steps, by the CPU quota. Needs a control group with a
quota of half a CPU.
"""

from __future__ import annotations

import argparse
import itertools
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EXPECTED = ("work", "CPU quota")
NEEDS = "CPU quota"
ACCUMULATED = 4


class Forecast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 48, batch_first=True)
        self.head = nn.Linear(48, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.lstm(series)
        answer: torch.Tensor = self.head(hidden[:, -1])
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    deadline = time.monotonic() + parser.parse_args().seconds

    torch.manual_seed(0)
    series = torch.randn(1024, 40, 8).cumsum(1)
    loader = DataLoader(TensorDataset(series[:, :-1], series[:, -1, :1]), batch_size=16, shuffle=True)
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in itertools.count():
        total = 0.0
        for number, (past, future) in enumerate(loader, 1):
            loss = nn.functional.l1_loss(model(past), future) / ACCUMULATED
            loss.backward()
            total += loss.item()
            if number % ACCUMULATED == 0:
                optimizer.step()
                optimizer.zero_grad()
        if time.monotonic() >= deadline:
            print(f"{epoch + 1} epochs, loss {total / len(loader) * ACCUMULATED:.4f}")
            break


if __name__ == "__main__":
    main()

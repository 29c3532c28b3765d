"""Trains a small network for 60 steps that PyTorch's profiler records, and waits for data for a share of each.

python data_wait.py SHARE WORKERS FOLDER    the trace is written below FOLDER
"""

from __future__ import annotations

import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

STEP, STEPS, WARM_UP, BATCH, WIDTH = 0.1, 60, 5, 16, 256


class Slow(Dataset):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return (WARM_UP + STEPS) * BATCH

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds / BATCH)
        return torch.full((WIDTH,), float(index % 7))


def main() -> None:
    share, workers, folder = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    # A worker loads while the step computes, so that the step waits for the rest alone.
    loader = DataLoader(Slow(STEP if workers else STEP * share), batch_size=BATCH, num_workers=workers)
    recorded = schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    done = tensorboard_trace_handler(folder)
    with profile(activities=[ProfilerActivity.CPU], schedule=recorded, on_trace_ready=done) as profiler:
        for batch in loader:
            end = time.monotonic() + STEP * (1 - share)
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            while time.monotonic() < end:
                pass
            optimizer.step()
            profiler.step()


if __name__ == "__main__":
    main()

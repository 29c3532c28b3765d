"""Shared by the programs: their options, a small model and a training loop."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable

import torch
from torch.utils.data import Dataset

CPUS = len(os.sched_getaffinity(0))
WIDTH = 256


def options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cure", action="store_true", help="without the bottleneck")
    parser.add_argument("--seconds", type=float, default=20)
    return parser.parse_args()


def model(width: int = WIDTH) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))


def burn(seconds: float) -> None:
    """Computes for this much CPU time of the calling thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Samples(Dataset):  # type: ignore[misc]
    """Samples that take `load` to load."""

    def __init__(self, load: Callable[[], None]) -> None:
        self.load = load

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> torch.Tensor:
        self.load()
        return torch.full((WIDTH,), float(index % 7))


def multiply_on_gpu(width: int, layers: int, seconds: float) -> None:
    """Trains layers of square matrices on the GPU, where the batches are."""
    net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers))).to("cuda")
    batches = [torch.rand(width, width, device="cuda") for _ in range(2)] * 50
    train(net, batches, seconds, catch_up)


def catch_up(step: int) -> None:
    """Waits for the GPU now and then, as a training does that shows its loss."""
    if step % 10 == 0:
        torch.cuda.synchronize()


def train(
    net: torch.nn.Module,
    batches: Iterable[torch.Tensor],
    seconds: float,
    after_step: Callable[[int], None] = lambda _: None,
    after_epoch: Callable[[], None] = lambda: None,
) -> None:
    """Epochs over `batches` until the time is over, where the model is."""
    device = next(net.parameters()).device
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    end, steps = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for batch in batches:
            loss = net(batch.to(device, non_blocking=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            after_step(steps)
            if time.monotonic() >= end:
                break
        after_epoch()
    print(f"{steps / seconds:.1f} steps per second")

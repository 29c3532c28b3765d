"""The training of two studies: a network of square layers, on images that are drawn before it begins.

It is plain PyTorch. `--log` and `--profile` add what a study compares.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Log = Callable[[str, float, int], None]
CLASSES = 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images", type=int, default=6400, help="images of an epoch")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--log", choices=("mlflow", "tensorboard"), help="log the loss of each step with this tool")
    parser.add_argument("--profile", action="store_true", help="record every operator with torch.profiler")
    parser.add_argument("--out", type=Path, help="directory for the model, and for what these two write")
    options = parser.parse_args()
    if options.out is None and (options.log or options.profile):
        parser.error("--log and --profile need --out")
    return options


@contextlib.contextmanager
def log_with(tool: str | None, out: Path) -> Iterator[Log]:
    if tool == "mlflow":
        import mlflow

        mlflow.set_tracking_uri(f"sqlite:///{out / 'mlflow.db'}")
        mlflow.set_system_metrics_sampling_interval(1)
        with mlflow.start_run(log_system_metrics=True):
            yield lambda name, value, step: mlflow.log_metric(name, value, step=step)
    elif tool == "tensorboard":
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(out)) as writer:
            yield writer.add_scalar
    else:
        yield lambda name, value, step: None


@contextlib.contextmanager
def profile(out: Path) -> Iterator[None]:
    with torch.profiler.profile() as profiler:
        yield
    profiler.export_chrome_trace(str(out / "trace.json"))


def train(
    model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]], options: argparse.Namespace, log: Log
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    step = 0
    for _ in range(options.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss: Any = loss_of(model(images.to(options.device)), labels.to(options.device))
            loss.backward()
            optimizer.step()
            log("loss", loss.item(), step)
            step += 1


def main() -> None:
    options = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    layers = [layer for _ in range(options.layers) for layer in (nn.Linear(options.width, options.width), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(options.width, CLASSES)).to(options.device)
    images = TensorDataset(torch.rand(options.images, options.width), torch.randint(CLASSES, (options.images,)))
    loader = DataLoader(images, batch_size=options.batch, shuffle=True)
    with (
        log_with(options.log, options.out) as log,
        profile(options.out) if options.profile else contextlib.nullcontext(),
    ):
        began = time.perf_counter()
        train(model, loader, options, log)
        trained = time.perf_counter() - began
    if options.out:
        torch.save(model.state_dict(), options.out / "model.pt")
    print(f"trained {trained:.3f} s")


if __name__ == "__main__":
    main()

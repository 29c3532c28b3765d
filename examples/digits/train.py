"""Trains a small convolutional network on scikit-learn's handwritten digits.

Run it alone (`python train.py`) or under Corral (`corral run train.py`): the calls of the `corral` module below record
something only there, and cost nothing elsewhere.
"""

from __future__ import annotations

import argparse
import time

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import corral
except ImportError:  # not run by Corral
    corral = None  # type: ignore[assignment]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--width", type=int, default=32, help="channels of the first layer")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load(batch: int, seed: int) -> tuple[DataLoader[tuple[torch.Tensor, ...]], TensorDataset]:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    held_out = len(labels) // 5
    training = TensorDataset(images[order[held_out:]], labels[order[held_out:]])
    evaluation = TensorDataset(images[order[:held_out]], labels[order[:held_out]])
    return DataLoader(training, batch_size=batch, shuffle=True), evaluation


def network(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def train_epoch(
    model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]], optimizer: torch.optim.Optimizer, step: int
) -> int:
    model.train()
    loss_of = nn.CrossEntropyLoss()
    for images, labels in loader:
        began = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        if corral is not None:
            rate = len(labels) / (time.perf_counter() - began)
            corral.log({"loss": loss.item(), "throughput": rate}, step=step)
        step += 1
    return step


def evaluate(model: nn.Module, data: TensorDataset) -> float:
    model.eval()
    images, labels = data.tensors
    with torch.no_grad():
        return float((model(images).argmax(1) == labels).float().mean())


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    loader, evaluation = load(options.batch, options.seed)
    model = network(options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    if corral is not None:
        corral.params({"batch": options.batch, "lr": options.lr, "width": options.width, "seed": options.seed})
    step = 0
    for epoch in range(1, options.epochs + 1):
        if corral is None:
            step = train_epoch(model, loader, optimizer, step)
            accuracy = evaluate(model, evaluation)
        else:
            with corral.phase("epoch", index=epoch):
                step = train_epoch(model, loader, optimizer, step)
            with corral.phase("evaluation", index=epoch):
                accuracy = evaluate(model, evaluation)
            corral.log("accuracy", accuracy, step=step)
        print(f"epoch {epoch}: accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

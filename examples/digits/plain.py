"""Trains a small network on scikit-learn's handwritten digits, and knows nothing of Corral.

`corral run examples/digits/plain.py` shows its epochs, steps, data waits, evaluations and checkpoints as phases, and
its samples per second: docs/capture.md.
"""

from __future__ import annotations

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--checkpoint", default="", help="file that the model is saved to after each epoch")
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).flatten(1) / 16
    data = TensorDataset(images, torch.tensor(digits.target))
    training, held_out = random_split(data, [1437, len(data) - 1437])
    loader = DataLoader(training, batch_size=options.batch, shuffle=True, num_workers=options.workers)
    evaluation = DataLoader(held_out, batch_size=120)

    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(1, options.epochs + 1):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(model(batch), labels)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            right = sum(int((model(batch).argmax(1) == labels).sum()) for batch, labels in evaluation)
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {right / len(held_out):.3f}")
        if options.checkpoint:
            torch.save(model.state_dict(), options.checkpoint)


if __name__ == "__main__":
    main()

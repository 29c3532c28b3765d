"""Second stage: a linear classifier of what preprocess.py wrote, by gradient descent."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

try:
    import corral
except ImportError:  # not run by Corral
    corral = None  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--lr", type=float, default=1.0)
    options = parser.parse_args()
    with np.load(options.data) as data:
        images, labels = data["images"], data["labels"]
    wanted = np.eye(10)[labels]
    weights = np.zeros((images.shape[1], 10))
    loss = 0.0
    for epoch in range(options.epochs):
        scores = images @ weights
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        loss = float(-np.log(chances[np.arange(len(labels)), labels]).mean())
        weights -= options.lr * images.T @ (chances - wanted) / len(labels)
        if corral is not None:
            corral.log("loss", loss, step=epoch)
    np.save(options.model, weights)
    print(f"loss {loss:.3f} after {options.epochs} epochs")


if __name__ == "__main__":
    main()

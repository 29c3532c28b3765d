"""The training of `corral demo`: a network with one hidden layer learns which of three spirals a point lies on.

It needs the standard library alone, and computes with NumPy where that is installed. Its loader waits for `--wait`
seconds in each step, as one does that reads from a slow disk.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator
from typing import Any

import corral

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

Batch = list[tuple[float, float, int]]
SPIRALS, STEPS = 3, 25
BATCH, WIDTH = (2048, 256) if numpy else (64, 64)  # a step takes some milliseconds either way


class Loader:
    """One epoch of batches from a training set that is drawn once."""

    def __init__(self, seed: int, wait: float) -> None:
        self.random, self.wait = random.Random(seed), wait
        self.points = [self._point(n % SPIRALS) for n in range(BATCH * STEPS)]

    def _point(self, spiral: int) -> tuple[float, float, int]:
        way = self.random.random()
        angle = 4 * way + spiral * 2 * math.pi / SPIRALS + self.random.gauss(0, 0.1)
        return way * math.cos(angle), way * math.sin(angle), spiral

    def __len__(self) -> int:
        return STEPS

    def __iter__(self) -> Iterator[Batch]:
        self.random.shuffle(self.points)
        for start in range(0, len(self.points), BATCH):
            time.sleep(self.wait)
            yield self.points[start : start + BATCH]


class Network:
    """Points in the plane -> tanh -> a score for each spiral; trained by gradient descent."""

    def __init__(self, width: int, rate: float) -> None:
        draw = random.Random(0)
        self.rate = rate
        self.first = [[draw.gauss(0, 3) for _ in range(3)] for _ in range(width)]
        self.last = [[draw.gauss(0, width**-0.5) for _ in range(width)] for _ in range(SPIRALS)]

    def train(self, batch: Batch) -> float:
        """Returns the mean cross-entropy before the update."""
        first = [[0.0] * 3 for _ in self.first]
        last = [[0.0] * len(self.first) for _ in self.last]
        loss = 0.0
        for x, y, spiral in batch:
            hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.first]
            scores = [math.exp(sum(w * h for w, h in zip(row, hidden, strict=True))) for row in self.last]
            shares = [score / sum(scores) for score in scores]
            loss -= math.log(shares[spiral] + 1e-12)
            errors = [share - (n == spiral) for n, share in enumerate(shares)]
            for n, h in enumerate(hidden):
                back = 0.0
                for error, gradient, row in zip(errors, last, self.last, strict=True):
                    gradient[n] += error * h
                    back += error * row[n]
                back *= 1 - h * h
                first[n][0] += back * x
                first[n][1] += back * y
                first[n][2] += back
        self._update(self.first, first, len(batch))
        self._update(self.last, last, len(batch))
        return loss / len(batch)

    def _update(self, weights: list[list[float]], gradients: list[list[float]], samples: int) -> None:
        for row, gradient in zip(weights, gradients, strict=True):
            for n, value in enumerate(gradient):
                row[n] -= self.rate * value / samples


class NumpyNetwork:
    """The same network in NumPy."""

    def __init__(self, width: int, rate: float) -> None:
        plain = Network(width, rate)
        self.rate = rate
        self.first, self.last = numpy.array(plain.first), numpy.array(plain.last)

    def train(self, batch: Batch) -> float:
        rows = numpy.array(batch)
        points = numpy.column_stack((rows[:, :2], numpy.ones(len(rows))))
        hidden = numpy.tanh(points @ self.first.T)
        scores = numpy.exp(hidden @ self.last.T)
        shares: Any = scores / scores.sum(axis=1, keepdims=True)
        own = numpy.arange(len(rows)), rows[:, 2].astype(int)
        loss = -float(numpy.log(shares[own] + 1e-12).mean())
        shares[own] -= 1
        back = (shares @ self.last) * (1 - hidden**2)
        self.last -= self.rate * (shares.T @ hidden) / len(rows)
        self.first -= self.rate * (back.T @ points) / len(rows)
        return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="time to train (default: 20)")
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds that the loader waits in each step (default: 0)"
    )
    parser.add_argument("--lr", type=float, default=0.5, help="learning rate (default: 0.5)")
    options = parser.parse_args()
    corral.params({"lr": options.lr, "wait": options.wait, "batch": BATCH, "width": WIDTH})
    loader = Loader(seed=1, wait=options.wait)
    network = (NumpyNetwork if numpy else Network)(WIDTH, options.lr)
    end = time.monotonic() + options.seconds
    step = 0
    for epoch in corral.epochs(1_000_000):
        for batch in corral.steps(loader, samples=BATCH):
            corral.log("loss", network.train(batch), step=step)
            step += 1
        print(f"epoch {epoch}: {step} steps", flush=True)
        if time.monotonic() > end:
            break


if __name__ == "__main__":
    main()

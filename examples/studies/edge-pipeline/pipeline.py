"""The whole pipeline of a small device, day by day: load the new records, clean them, train with them, infer.

Modelled on TPCx-AI's use cases with tables: customers' purchases tell who will come back. The records are drawn, with
the faults of real ones: missing and impossible values, and rows that come twice.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import tempfile
from pathlib import Path

import corral
import numpy as np

COLUMNS = ("customer", "age", "visits", "basket", "minutes", "returns", "weekday", "came_back")
FEATURES = COLUMNS[1:-1]
Table = np.ndarray  # a row for each record, a column for each of COLUMNS


def write_day(path: Path, rows: int, draw: np.random.Generator) -> None:
    """One record in twenty misses a value, one in fifty has an impossible one, one in ten comes twice."""
    values = np.column_stack(
        [
            np.arange(rows),
            draw.integers(18, 90, rows),
            draw.poisson(4, rows),
            draw.gamma(2, 30, rows).round(2),
            draw.exponential(12, rows).round(1),
            draw.poisson(0.4, rows),
            draw.integers(0, 7, rows),
        ]
    )
    score = 0.6 * (values[:, 2] - 4) + 0.02 * (values[:, 3] - 60) - 1.2 * values[:, 5] + draw.logistic(0, 0.5, rows)
    labels = (score > 0).astype(int)
    faults = draw.random((rows, 3))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row, label, (missing, impossible, twice) in zip(values.tolist(), labels.tolist(), faults, strict=True):
            cells: list[object] = [*row, label]
            if missing < 0.05:
                cells[1 + int(missing * 20 * len(FEATURES))] = ""
            if impossible < 0.02:
                cells[1] = 900
            writer.writerow(cells)
            if twice < 0.1:
                writer.writerow(cells)


def load(path: Path) -> Table:
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])


def clean(table: Table) -> Table:
    _, first = np.unique(table[:, 0], return_index=True)
    table = table[np.sort(first)]
    features = table[:, 1:-1]
    features[features[:, 0] > 120, 0] = np.nan
    features = np.where(np.isnan(features), np.nanmedian(features, axis=0), features)
    spread = features.std(axis=0)
    return np.column_stack(
        [table[:, 0], (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1), table[:, -1]]
    )


class Model:
    """A network with one hidden layer, trained by gradient descent."""

    def __init__(self, width: int, draw: np.random.Generator) -> None:
        self.inner = draw.normal(0, 0.3, (len(FEATURES), width))
        self.outer = draw.normal(0, 0.3, width)

    def chances(self, features: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-np.tanh(features @ self.inner) @ self.outer))

    def train(self, features: np.ndarray, labels: np.ndarray, rate: float = 0.05) -> None:
        hidden = np.tanh(features @ self.inner)
        error = (1 / (1 + np.exp(-hidden @ self.outer)) - labels) / len(labels)
        back = np.outer(error, self.outer) * (1 - hidden**2)
        self.outer -= rate * hidden.T @ error * 10
        self.inner -= rate * features.T @ back * 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=1, help="a day has so many times 2,000 records")
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--width", type=int, default=128, help="of the hidden layer")
    parser.add_argument("--passes", type=int, default=10, help="over a day's records")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    model = Model(options.width, draw)
    right = 0.0
    with tempfile.TemporaryDirectory() as folder:
        days = [Path(folder) / f"{day}.csv" for day in range(options.days + 1)]
        for day in days:
            write_day(day, 2000 * options.scale, draw)
        for number, (today, tomorrow) in enumerate(itertools.pairwise(days)):
            with corral.phase("step", index=number):
                with corral.phase("load"):
                    known, coming = load(today), load(tomorrow)
                with corral.phase("clean"):
                    known, coming = clean(known), clean(coming)
                with corral.phase("train"):
                    for _ in range(options.passes):
                        model.train(known[:, 1:-1], known[:, -1])
                with corral.phase("infer"):
                    right = float(((model.chances(coming[:, 1:-1]) > 0.5) == coming[:, -1]).mean())
            corral.log("accuracy", right, step=number)
    print(f"{options.days} days, accuracy of the last {right:.3f}")
    if right < 0.7:
        sys.exit("the model has learned nothing")


if __name__ == "__main__":
    main()

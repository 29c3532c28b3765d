"""Third stage: what train.py learned, on the digits that were held out."""

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
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    weights = np.load(options.model)
    with np.load(options.data) as data:
        images, labels = data["test_images"], data["test_labels"]
    right = 0
    for first in range(0, len(labels), options.batch):
        some = slice(first, first + options.batch)
        right += int(((images[some] @ weights).argmax(1) == labels[some]).sum())
    accuracy = right / len(labels)
    if corral is not None:
        corral.log("accuracy", accuracy)
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

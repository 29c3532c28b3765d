"""First stage: scikit-learn's handwritten digits, scaled, shuffled and split, into a file."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    digits = load_digits()
    order = np.random.default_rng(options.seed).permutation(len(digits.target))
    images, labels = digits.data[order] / 16, digits.target[order]
    held_out = len(labels) // 5
    options.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        options.out,
        images=images[held_out:],
        labels=labels[held_out:],
        test_images=images[:held_out],
        test_labels=labels[:held_out],
    )
    print(f"{len(labels) - held_out} images to train with, {held_out} held out")


if __name__ == "__main__":
    main()

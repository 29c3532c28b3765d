"""Suffers from a table of vectors, mapped from a file, of which less than half fits into its memory limit.

Required counter: cgroup.memory.used. Expected: the steps, by the memory limit: each step looks up vectors in random
order, so that the kernel drops pages and reads them again. Needs a control group with a limit of 256 MiB.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import corral
import numpy as np

EXPECTED = ("work", "memory limit")
NEEDS = "memory limit"
WIDTH = 1024  # a vector is a page
VECTORS = 640 << 8  # 640 MiB
LOOKED_UP = 32


def table(path: str) -> np.ndarray:
    generator = np.random.default_rng(2)
    with open(path, "wb") as file:
        for _ in range(VECTORS // 1024):
            generator.standard_normal((1024, WIDTH), np.float32).tofile(file)
    return np.memmap(path, np.float32, "r", shape=(VECTORS, WIDTH))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds

    generator = np.random.default_rng(4)
    weights = np.zeros((WIDTH, 16), np.float32)
    with tempfile.NamedTemporaryFile(dir=".") as file:
        vectors = table(file.name)
        end = time.monotonic() + seconds
        queries = iter(lambda: time.monotonic() >= end, True)
        for _ in corral.steps(queries, samples=LOOKED_UP):
            found = np.array(vectors[generator.integers(0, VECTORS, LOOKED_UP)])
            error = found @ weights - found[:, :16]
            weights -= 0.01 * found.T @ error / LOOKED_UP
    print(f"error {np.square(error).mean():.4f}")


if __name__ == "__main__":
    main()

"""Suffers from nothing: a pool of one thread for each CPU computes the gradients of a batch's parts, in NumPy.

Required counter: run.cpu.used. Expected: the steps, by the CPUs. The training thread itself only waits for the pool.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import corral
import numpy as np

EXPECTED = ("work", "CPUs")
CPUS = len(os.sched_getaffinity(0))
PARTS, ROWS, KNOTS = 8 * CPUS, 20_000, 16


def gradient(coefficients: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The slope of the error of a sum of radial functions that fits a sine."""
    bases = np.exp(-np.square(part[:, None] - np.linspace(-3, 3, KNOTS)))  # releases the interpreter's lock
    error = np.sum(bases * coefficients, axis=1) - np.sin(part)
    slope: np.ndarray = np.mean(bases * error[:, None], axis=0)
    return slope


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds

    parts = np.random.default_rng(6).uniform(-3, 3, (PARTS, ROWS))
    coefficients, started = np.zeros(KNOTS), time.monotonic()
    with ThreadPoolExecutor(CPUS) as pool:
        for epoch in corral.epochs(10_000):
            for _ in corral.steps(range(20), samples=PARTS * ROWS):
                slopes = list(pool.map(partial(gradient, coefficients), parts))
                coefficients = coefficients - 0.5 * np.mean(slopes, axis=0)
            if time.monotonic() - started >= seconds:
                print(f"{epoch + 1} epochs")
                break


if __name__ == "__main__":
    main()

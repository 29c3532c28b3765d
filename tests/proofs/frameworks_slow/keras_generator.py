"""Keras on JAX, which augments the pictures itself, in a generator. Cured, it crops them.

Required counter: run.thread.cpu. Expected: data waits, by the training thread. Cured: the steps.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "jax"

from collections.abc import Iterator

import keras_net
import numpy as np
from common import augmented, cropped, options, picture

EXPECTED = ("wait", "one thread")
CURED = ("work", "one thread", "CPUs")
BATCH = 16


def batches(cure: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    pixels, number = [picture(index) for index in range(64)], 0
    while True:
        indices = range(BATCH * number, BATCH * number + BATCH)
        made = [cropped(pixels[n % 64]) if cure else augmented(pixels[n % 64], n) for n in indices]
        yield np.stack(made), np.asarray(indices) % 10
        number += 1


if __name__ == "__main__":
    chosen = options(__doc__)
    keras_net.train(batches(chosen.cure), chosen.seconds, steps_per_epoch=250)

"""Keras on JAX, whose data set waits for a server that answers late. Cured, the pictures are in memory.

Required: the phases. Expected: data waits, by an unknown resource: nothing on this machine is busy. Cured: the steps.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import keras_net
import numpy as np
from common import fetched, options

EXPECTED = ("wait", "unknown")
CURED = ("work", "one thread", "CPUs")
BATCH = 64


class Far(keras.utils.PyDataset):
    def __init__(self, cure: bool) -> None:
        super().__init__()
        self.cure = cure

    def __len__(self) -> int:
        return 250

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        indices = range(BATCH * number, BATCH * number + BATCH)
        return np.stack([fetched(index, self.cure) for index in indices]), np.asarray(indices) % 10


if __name__ == "__main__":
    chosen = options(__doc__)
    keras_net.train(Far(chosen.cure), chosen.seconds)

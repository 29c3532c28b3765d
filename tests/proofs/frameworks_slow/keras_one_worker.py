"""Keras on PyTorch, whose one worker process augments pictures. Cured, it crops them.

Required counter: run.thread.cpu. Expected: data waits, by the loaders. Cured: the steps, by the training thread.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import keras_net
import numpy as np
import torch
from common import augmented, cropped, options, picture

EXPECTED = ("wait", "loaders")
CURED = ("work", "one thread", "CPUs")
BATCH = 16


class Pictures(keras.utils.PyDataset):
    def __init__(self, cure: bool) -> None:
        super().__init__(workers=1, use_multiprocessing=True, max_queue_size=4)
        self.cure = cure
        self.pixels = [picture(index) for index in range(64)]

    def __len__(self) -> int:
        return 250

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        indices = range(BATCH * number, BATCH * number + BATCH)
        made = [cropped(self.pixels[n % 64]) if self.cure else augmented(self.pixels[n % 64], n) for n in indices]
        return np.stack(made), np.asarray(indices) % 10


if __name__ == "__main__":
    chosen = options(__doc__)
    torch.set_num_threads(1)
    keras_net.train(Pictures(chosen.cure), chosen.seconds)

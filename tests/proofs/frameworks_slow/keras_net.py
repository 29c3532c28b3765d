"""A small convolutional network of Keras, trained by its `fit` for a time. The program has chosen the backend."""

from __future__ import annotations

import time
from typing import Any

import keras
from common import SIDE


class Until(keras.callbacks.Callback):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.steps = seconds, 0

    def on_train_begin(self, logs=None):
        self.end = time.monotonic() + self.seconds

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        self.model.stop_training = time.monotonic() >= self.end


def train(data: Any, seconds: float, steps_per_epoch: int | None = None) -> None:
    model = keras.Sequential(
        [
            keras.layers.Input((3, SIDE, SIDE)),
            keras.layers.Permute((2, 3, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    until = Until(seconds)
    model.fit(data, epochs=1000, steps_per_epoch=steps_per_epoch, verbose=0, callbacks=[until])
    print(f"{until.steps} steps")

"""Keras with data of the kind that the first argument names."""

import sys
import time

import keras
import numpy as np
from truth import counts

x, y = np.random.randn(100, 4).astype("f"), np.random.randn(100, 1).astype("f")


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 7

    def __getitem__(self, n):
        time.sleep(0.002)
        return x[16 * n : 16 * n + 16], y[16 * n : 16 * n + 16]


def generator():
    while True:
        for n in range(7):
            time.sleep(0.002)
            yield x[16 * n : 16 * n + 16], y[16 * n : 16 * n + 16]


class Counting(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        counts["epochs"] += 1

    def on_train_batch_end(self, batch, logs=None):
        counts["steps"] += 1
        counts["samples"] += 4 if batch == 6 else 16

    def on_test_begin(self, logs=None):
        counts["evaluations"] += 1


given = {
    "arrays": lambda: {"x": x, "y": y, "batch_size": 16},
    "dataset": lambda: {"x": Rows()},
    "generator": lambda: {"x": generator(), "steps_per_epoch": 7},
}[sys.argv[1]]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(**given(), epochs=3, verbose=0, validation_data=(x, y), callbacks=[Counting()])
model.save(sys.argv[0] + ".keras")
counts["checkpoints"] += 1

"""Trains a small network on scikit-learn's handwritten digits with TensorFlow (Keras).

As train.py, by other means: it runs alone, and under Corral it records loss and accuracy.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # no lines about what this CPU could do

import keras
import numpy as np
from sklearn.datasets import load_digits

try:
    import corral
except ImportError:  # not run by Corral
    corral = None  # type: ignore[assignment]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Log(keras.callbacks.Callback):  # type: ignore[misc]
    """Losses by step, accuracy by epoch."""

    step = 0

    def on_train_batch_end(self, _batch: int, logs: dict[str, Any] | None = None) -> None:
        if corral is not None:
            corral.log("loss", float((logs or {})["loss"]), step=self.step)
        self.step += 1

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        accuracy = float((logs or {})["val_accuracy"])
        if corral is not None:
            corral.log("accuracy", accuracy, step=self.step)
        print(f"epoch {epoch + 1}: accuracy {accuracy:.3f}", flush=True)


def main() -> None:
    options = arguments()
    keras.utils.set_random_seed(options.seed)
    digits = load_digits()
    order = np.random.default_rng(options.seed).permutation(len(digits.target))
    images, labels = digits.data[order].astype(np.float32) / 16, digits.target[order]
    model = keras.Sequential(
        [keras.layers.Input((64,)), keras.layers.Dense(options.width, activation="relu"), keras.layers.Dense(10)]
    )
    model.compile(
        optimizer=keras.optimizers.SGD(options.lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    if corral is not None:
        corral.params({"framework": "tensorflow", "batch": options.batch, "lr": options.lr})
    model.fit(
        images,
        labels,
        batch_size=options.batch,
        epochs=options.epochs,
        validation_split=0.2,
        verbose=0,
        callbacks=[Log()],
    )


if __name__ == "__main__":
    main()

"""Keras: its History, and a callback beside ours, say what is to be recorded."""

import keras
import numpy as np
import truth
from corral.keras import CorralCallback

x, y = np.random.randn(100, 4).astype("f"), np.random.randn(100, 1).astype("f")


class Batches(keras.callbacks.Callback):
    """Every third of the 21 batches."""

    seen = 0

    def on_train_batch_end(self, batch, logs=None):
        if self.seen % 3 == 0:
            for name, value in logs.items():
                truth.logged(f"batch/{name}", self.seen, value)
        self.seen += 1


model = keras.Sequential([keras.layers.Dense(1)])
schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 7, 0.5)
model.compile(keras.optimizers.SGD(schedule, momentum=0.5), "mse", metrics=["mae"])
history = model.fit(
    x, y, 16, epochs=3, verbose=0, validation_data=(x, y), callbacks=[CorralCallback(log_freq=3), Batches()]
).history
for name, values in history.items():
    for epoch, value in enumerate(values):
        truth.logged(name, epoch, value)
for epoch in range(3):
    truth.logged("learning_rate", epoch, np.asarray(schedule(7 * (epoch + 1))))
assert len(truth.points["batch/loss"]) == 7
assert set(history) == {"loss", "mae", "val_loss", "val_mae"}
truth.params |= {
    "optimizer/class_name": "SGD",
    "optimizer/momentum": "0.5",
    "optimizer/learning_rate/class_name": "ExponentialDecay",
    "optimizer/learning_rate/config/initial_learning_rate": "0.1",
}

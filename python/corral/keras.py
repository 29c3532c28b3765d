"""A callback for Keras 3, on any backend: `model.fit(..., callbacks=[CorralCallback()])`."""

from __future__ import annotations

import keras

from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CorralCallback(keras.callbacks.Callback):
    """Records the logs of each epoch by epoch, with the learning rate, and the optimizer's configuration as params.

    `log_freq="batch"`, or every so many batches, also records the batches' logs as `batch/NAME`, by the number of the
    batch since the training began. Those are Keras's own: most are means since the epoch began.
    """

    # Keras need not wait for each batch's results: the steps are those of the arguments, not of the model.
    async_safe = True

    def __init__(self, log_freq: str | int = "epoch") -> None:
        super().__init__()
        every = {"epoch": 0, "batch": 1}.get(log_freq, -1) if isinstance(log_freq, str) else log_freq
        if every < 0 or log_freq == 0:
            raise ValueError(f"log_freq must be 'epoch', 'batch' or a number of batches, not {log_freq!r}")
        self._every = every  # batches; 0: none
        self._first = 0  # number of the epoch's first batch
        self._batches = 0  # begun in this epoch

    @harmless
    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._first = self._batches = 0
        optimizer = self.model.optimizer
        _callback.params({"class_name": type(optimizer).__name__, **optimizer.get_config()}, "optimizer/")

    @harmless
    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._first += self._batches
        self._batches = 0

    @harmless
    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._batches = batch + self._executed()

    @harmless
    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        step = self._first + batch
        if self._every and step % self._every < self._executed():
            _callback.log(logs or {}, step, "batch/")

    @harmless
    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        rate = self.model.optimizer.learning_rate
        _callback.log({"learning_rate": keras.ops.convert_to_numpy(rate), **(logs or {})}, epoch)

    def _executed(self) -> int:
        """Batches between two calls."""
        return getattr(self.model, "steps_per_execution", None) or 1

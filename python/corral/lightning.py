"""A logger for Lightning: `Trainer(logger=CorralLogger())` records what modules log, and their hyper-parameters."""

from __future__ import annotations

import os
from importlib.util import find_spec

import corral
from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING or find_spec("lightning") or not find_spec("pytorch_lightning"):
    from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
    from lightning.pytorch.utilities import rank_zero_only
else:
    from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
    from pytorch_lightning.utilities import rank_zero_only

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any


class CorralLogger(Logger):
    """Records metrics with their steps, hyper-parameters as params, and the tag `lightning.status`, on rank 0.

    With `log_model=True` the checkpoints that are left when the training succeeds become artifacts of the run.
    """

    def __init__(self, log_model: bool = False) -> None:
        super().__init__()
        self._log_model = log_model
        self._checkpoints: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return "corral"

    @property
    def version(self) -> str:
        """The run's id: with `name` it makes the folder of the checkpoints."""
        return corral.run_id() or ""

    @property
    @rank_zero_experiment
    def experiment(self) -> ModuleType:
        """The package `corral`: `self.logger.experiment.event("warmed up")`."""
        return corral

    @rank_zero_only
    @harmless
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        _callback.log(metrics, step)

    @rank_zero_only
    @harmless
    def log_hyperparams(self, params: Any = None, *args: Any, **kwargs: Any) -> None:
        _callback.params(params or {})

    @rank_zero_only
    @harmless
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        if self._log_model:
            self._checkpoints[checkpoint_callback.state_key] = checkpoint_callback

    @rank_zero_only
    @harmless
    def finalize(self, status: str) -> None:
        corral.tag("lightning.status", status)
        if status == "success":
            kept, self._checkpoints = self._checkpoints, {}
            paths = {path for callback in kept.values() for path in _paths(callback)}
            for path in sorted(paths):
                corral.artifact(path, f"checkpoints/{os.path.basename(path)}")


def _paths(callback: Any) -> list[str]:
    """The files and folders that a ModelCheckpoint has kept; a link to one of them is left out."""
    known = (*callback.best_k_models, callback.best_model_path, callback.last_model_path)
    return [path for path in known if path and os.path.exists(path) and not os.path.islink(path)]

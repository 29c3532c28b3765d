"""For Ray Train: CorralCallback() records what workers report, runtime_env() lets them log themselves."""

from __future__ import annotations

import os

from ray.train import UserCallback

import corral
from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VARIABLES = ("RUN_ID", "SEGMENT_DIR", "SPOOL_LIMIT", "CAPTURE", "MAX_EPOCHS", "MAX_STEPS", "PROFILE_STEPS")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def runtime_env() -> dict[str, dict[str, str]]:
    """For `ray.init`: the variables with which Ray's processes on this host record into the run.

    A worker has series of its own where Ray sets `RANK`, as TorchTrainer does. On other hosts, where the run's folder
    does not exist, nothing is recorded, and each process that imports corral says so.
    """
    names = [f"CORRAL_{name}" for name in _VARIABLES] if _callback.enabled() else []
    variables = {name: os.environ[name] for name in names if name in os.environ}
    known = os.environ.get("PYTHONPATH", "").split(":")
    ours = [path for path in (os.path.join(_PACKAGE, "corral", "_startup"), _PACKAGE) if path in known]
    if ours:
        variables["PYTHONPATH"] = ":".join([*ours, "${PYTHONPATH}"])  # Ray inserts the cluster's own
    return {"env_vars": variables} if variables else {}


class CorralCallback(UserCallback):
    """Records the metrics that the worker of rank 0 gives to `ray.train.report`, by the number of the report.

    Ray calls it in the controller, a process on the driver's host. Checkpoints and exceptions of workers are events.
    """

    def __init__(self) -> None:
        self._reports = 0

    @harmless
    def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Any) -> None:
        step, self._reports = self._reports, self._reports + 1
        if metrics:
            _callback.log(metrics[0], step)
        if checkpoint is not None:
            corral.event("checkpoint", path=checkpoint.path, report=step)

    @harmless
    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        for rank, error in worker_exceptions.items():
            corral.event("worker_exception", rank=rank, error=f"{type(error).__name__}: {error}"[:1000])

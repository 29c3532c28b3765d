"""Parts of the framework callbacks (lightning.py, transformers.py, keras.py, ...) that do not depend on a framework.

Values that cannot be recorded are skipped, secrets are left out, and an error of ours never reaches the training.
"""

from __future__ import annotations

import math
import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import wraps

import corral
from corral import _capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, ParamSpec

    from corral import _native as _impl

    P = ParamSpec("P")
else:
    _impl = sys.modules["corral"]._impl

_NAME_BYTES = 250
_VALUE_BYTES = 6000
# Names of secrets, as src/run/set_up/secrets.cpp knows them: the whole name, or its last words.
_SECRET = re.compile(
    r"(.*[_.-])?((api|access|account|private|secret|signing)[_.-]?key|credentials?|jwt|cookie|authorization)"
    r"|.*(apikey|passphrase|passwd|password|secret)"
    r"|token|(.*[_.-])?(access|api|auth|bearer|bot|github|gitlab|hf|hub|huggingface|private|refresh|sas|security|session"
    r"|neptune)[_.-]?token|wandb[_.-]?key"
)

_warned = False


def enabled() -> bool:
    """Returns true if this process records into a run."""
    return _impl.enabled()


def harmless(method: Callable[P, object]) -> Callable[P, None]:
    """Skips `method` outside a run. Its errors become one warning and the health of the part `MODULE.callback`."""
    part = _capture.Part(f"{method.__module__.rpartition('.')[2]}.callback")

    @wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        if not _impl.enabled():
            return
        try:
            method(*args, **kwargs)
        except Exception as error:
            text = _capture.words(error)
            part.tell("partial", text)
            _warn(f"corral.{part.name} could not record some values: {text}")

    return guarded


def _warn(message: str) -> None:
    """Warns once in a process; a filter that makes errors of warnings changes nothing for the training."""
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except Exception:
        pass


def flatten(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the leaves of nested mappings, namespaces and dataclasses: `optimizer/lr` for {"optimizer": {"lr": 1}}."""
    for name, value in _items(values):
        path = f"{prefix}{name}"
        if isinstance(value, (Mapping, Namespace)) or (is_dataclass(value) and not isinstance(value, type)):
            yield from flatten(value, f"{path}/")
        else:
            yield path, value


def _items(values: Any) -> Any:
    return values.items() if isinstance(values, Mapping) else vars(values).items()


def number(value: Any) -> float | None:
    """The value of a number, or of an array with one element; None of anything else."""
    if isinstance(value, (str, bytes)):
        return None
    if getattr(value, "ndim", 0):
        if math.prod(value.shape) != 1:
            return None
        value = value.item()
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def log(values: Any, step: int | None, prefix: str = "") -> None:
    """Records those of the values, at any depth, that are numbers and whose names are not too long."""
    numbers = {name: number(value) for name, value in flatten(values, prefix)}
    recorded = {name: value for name, value in numbers.items() if value is not None and _fits(name)}
    if recorded:
        corral.log(recorded, step=step)


def params(values: Any, prefix: str = "") -> None:
    """Records the values, at any depth, as params: cut to the longest text of a param, and without secrets."""
    for name, value in flatten(values, prefix):
        if _fits(name) and not _SECRET.fullmatch(name.rpartition("/")[2].lower()):
            corral.param(name, _text(value))


def _fits(name: str) -> bool:
    return 0 < len(name.encode("utf-8", "replace")) <= _NAME_BYTES


def _text(value: Any) -> str:
    """Functions and classes are known by their names: the address in their str() is another in each run."""
    text = str(getattr(value, "__qualname__", value)) if callable(value) else str(value)
    return text.encode("utf-8", "replace")[:_VALUE_BYTES].decode("utf-8", "ignore")

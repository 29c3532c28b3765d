"""Checkpoints: calls that save a model are phases; what they call themselves is part of them."""

from __future__ import annotations

from functools import wraps

from corral import _loop
from corral._capture import Switch, give_up
from corral._capture_loader import evaluated
from corral._loop import IO, Loop, now
from corral._text import attributes_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def run_inside(
    loop: Loop, opened: int, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The original's answer; what it calls itself is not captured, and what was opened for it is closed."""
    loop.busy = True
    try:
        return original(*args, **kwargs)
    finally:
        loop.busy = False
        close(loop, opened)


def close(loop: Loop, opened: int) -> None:
    """Ends the phase with which `opened` phases were open, and what an exception left open in it; 0: there is none."""
    try:
        if Switch.on and 0 < opened <= len(loop.open):
            loop.unwind(opened - 1, now())
    except Exception:
        give_up()


def wrap_save(original: Callable[..., Any], target: int) -> Callable[..., Any]:
    """Of a function whose argument number `target` says where to."""

    @wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        loop = _loop.existing()
        if loop is None or loop.busy or not Switch.on:
            return original(*args, **kwargs)
        opened = 0
        try:
            opened = checkpoint(loop, args[target] if len(args) > target else kwargs.get("f", kwargs.get("filename")))
        except Exception:
            give_up()
        return run_inside(loop, opened, original, args, kwargs)

    return save


def checkpoint(loop: Loop, target: object) -> int:
    """Opens a checkpoint phase, unless the script has; returns what close wants."""
    time = now()
    evaluated(loop, time)
    loop.settle(time)
    if loop.is_inside("checkpoint"):
        return 0
    path = getattr(target, "name", None) if hasattr(target, "write") else target
    loop.push("checkpoint", IO, max(time, loop.late), _path_attribute(path))
    return len(loop.open)


def _path_attribute(path: object) -> str:
    """Bytes of a name that are no UTF-8 become "?"."""
    if not hasattr(path, "__fspath__") and not isinstance(path, str):
        return ""
    text = str(path)[:1000].encode("utf-8", "replace").decode()
    return attributes_json({"path": text})

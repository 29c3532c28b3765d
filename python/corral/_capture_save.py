"""Checkpoints: calls that save a model are phases; calls that they make themselves are part of them."""

from __future__ import annotations

from functools import wraps

from corral import _loop
from corral._capture import is_worker
from corral._capture_loader import evaluated
from corral._loop import IO, Loop, now
from corral._text import attributes_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from corral._capture import Part


def close(loop: Loop, opened: int, part: Part) -> None:
    """Ends the phase with which `opened` phases were open, and those that an exception left open in it; 0: there is
    none.
    """
    try:
        if part.on and 0 < opened <= len(loop.open):
            loop.unwind(opened - 1, now())
    except Exception:
        part.give_up()


def argument(number: int, *names: str) -> Callable[[tuple[Any, ...], dict[str, Any]], object]:
    """Finds an argument by its number or names."""

    def find(args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return args[number] if len(args) > number else next((kwargs[name] for name in names if name in kwargs), None)

    return find


def wrap_save(
    original: Callable[..., Any], part: Part, target: Callable[[tuple[Any, ...], dict[str, Any]], object]
) -> Callable[..., Any]:
    """Wraps a function that saves; `target` derives the path from its arguments."""

    @wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        if not part.on or is_worker():
            return original(*args, **kwargs)
        loop = _loop.current()
        if loop.busy:
            return original(*args, **kwargs)
        opened, since = 0, loop.since
        try:
            opened = checkpoint(loop, target(args, kwargs))
        except Exception:
            part.give_up()
        loop.busy = True
        try:
            return original(*args, **kwargs)
        finally:
            loop.busy = False
            close(loop, opened, part)
            loop.since = loop.edge if since else 0  # a step without loader begins here

    return save


def checkpoint(loop: Loop, target: object) -> int:
    """Opens a checkpoint phase, unless the script has; returns what close() wants."""
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

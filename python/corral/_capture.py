"""Part: one hook of the capture, with its health.

A wrapper does its own work inside `try` and calls what it wraps outside of it: what the script would see without the
capture it sees with it. After the first error of ours in a part, this part passes everything through; others go on.
"""

from __future__ import annotations

import os
import sys

from corral._text import attributes_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from corral import _native as _impl

    Hook = Callable[[Any], None]
else:
    _impl = sys.modules["corral"]._impl

_REASON_CHARACTERS = 300

_told: list[tuple[str, str, str]] = []  # part, state, reason: each part and state once in a process
_held: list[tuple[str, str, str]] = []  # calls of a process that may not be part of the training; not reported yet


class Part:
    """`on` until an error of ours. The states it reports: active, given up, not captured, partial.

    Of several hooks that share a part, one in place takes nothing back that another told, and after "given up" there
    is nothing more to tell: the latest state is the part's.
    """

    __slots__ = ("name", "on")

    def __init__(self, name: str) -> None:
        self.name = name
        self.on = True

    def place(self, hook: Hook, module: Any) -> None:
        try:
            hook(module)
        except Exception:  # another version than those known
            self.give_up()
        else:
            self.tell("active")

    def give_up(self) -> None:
        """Called where an error of ours is handled: from now on this part records nothing."""
        self.on = False
        self.tell("given up", words(sys.exc_info()[1]))

    def tell(self, state: str, reason: str = "") -> None:
        if not self.on and state != "given up":
            return
        if any(told[0] == self.name and state in (told[1], "active") for told in _told):
            return
        said = (self.name, state, reason)
        _told.append(said)
        if _is_child():
            _held.append(said)
        else:
            _write(said)


def place(hooks: Mapping[str, tuple[Part, Hook]], name: str, module: Any) -> None:
    part, hook = hooks[name]
    part.place(hook, module)


def is_worker() -> bool:
    """Returns true in a process that loads data for a DataLoader."""
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return worker is not None and worker._worker_info is not None


def tell_held() -> None:
    """A child process begins to record: it is one of the training's after all."""
    while _held and not is_worker():
        _write(_held.pop(0))


def tell_again() -> None:
    """Another run of this process: the hooks are in place there, too. Nothing of it is known to be partial yet."""
    _told[:] = [said for said in _told if said[1] != "partial"]
    for said in _told:
        _write(said)


def words(error: BaseException | None) -> str:
    """The type and the message of an error, in a line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:_REASON_CHARACTERS]


def _is_child() -> bool:
    """Returns true if multiprocessing or Ray started this process: a worker of a DataLoader or similar, or a rank.

    Ray tells a rank its number after the import of the framework, and a process keeps the number of its first record.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.current_process().name != "MainProcess":
        return True
    return os.environ.get("RAY_RAYLET_PID") == str(os.getppid())


def _write(said: tuple[str, str, str]) -> None:
    try:
        part, state, reason = said
        attributes: dict[str, object] = {"part": f"capture.{part}", "state": state}
        if reason:
            attributes["reason"] = reason.encode("utf-8", "replace").decode()
        _impl.event("corral.health", attributes_json(attributes))
    except Exception:  # no way to say it
        pass


def _forked() -> None:
    """The hooks are in place in the child, too; it says so if it trains."""
    _held[:] = _told


os.register_at_fork(after_in_child=_forked)

"""phase(): named spans of a run, nested by thread and asyncio task."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

from corral._rank import rank_of
from corral._text import attributes_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from corral import _native as _impl

    Function = TypeVar("Function", bound=Callable[..., Any])
else:
    _impl = sys.modules["corral"]._impl

_KINDS = {"compute": 0, "wait": 1, "io": 2, "comm": 3, "control": 4}
# A type path stops growing here (deep recursion): the innermost phases then share their parent's type.
_PATH_BYTES = 1000
_COROUTINE = 0x80  # inspect.CO_COROUTINE and so on, without importing inspect
_GENERATOR = 0x20 | 0x200

# Innermost open phase: (session, id, type path). A forked child finds its parent's session here: it starts at the root.
_current: ContextVar[tuple[int, int, str] | None] = ContextVar("corral_phase", default=None)


_HOST = os.uname().nodename
_known_rank = (0, "")  # process, part of its lanes: read once, as a session's rank is


def _rank() -> str:
    global _known_rank
    pid = os.getpid()
    if _known_rank[0] != pid:
        rank = rank_of(os.environ)
        _known_rank = (pid, f"rank{rank}/" if rank >= 0 else "")
    return _known_rank[1]


def _lane() -> str:
    threading = sys.modules.get("threading")  # if it was never imported, this is the only thread
    thread = threading.current_thread().name if threading is not None else "MainThread"
    return f"{_HOST}/{_rank()}{os.getpid()}/{thread[:200]}".encode("utf-8", "replace").decode()


class phase:  # noqa: N801 - reads as a verb: `with phase("epoch")`
    """A span of time: `with corral.phase("epoch", kind="compute", n=3): ...`, or a decorator of functions.

    `kind` is compute, wait, io, comm or control. Phases nest by thread and by asyncio task; all phases of one path of
    names ("train/epoch") are of one type. One object is for one thread at a time; entering it again starts a new phase.
    """

    __slots__ = ("_attributes", "_kind", "_name", "_open")

    def __init__(self, name: str, /, kind: str = "compute", **attributes: object) -> None:
        self._name = name
        self._kind = kind
        self._attributes = attributes
        self._open: list[tuple[int, int, tuple[int, int, str] | None]] = []

    def __enter__(self) -> phase:
        if _impl.enabled():
            self._begin()
        return self

    def _begin(self) -> None:
        kind = _KINDS.get(self._kind)
        if kind is None:
            raise ValueError(f"corral.phase: kind must be one of {', '.join(_KINDS)}, not {self._kind!r}")
        outer = _current.get()
        session = _impl.session_key()
        parent = outer if outer is not None and outer[0] == session else None
        path = self._path(parent)
        number = _impl.phase_begin(
            self._name, kind, 0 if parent is None else parent[1], path, _lane(), attributes_json(self._attributes)
        )
        session = _impl.session_key()  # the first call of a process starts it
        self._open.append((session, number, outer))
        if number != 0:
            _current.set((session, number, path))

    def _path(self, parent: tuple[int, int, str] | None) -> str:
        if not isinstance(self._name, str) or parent is None:
            return self._name
        path = f"{parent[2]}/{self._name}"
        return path if len(path.encode("utf-8", "replace")) <= _PATH_BYTES else parent[2]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._open:
            return
        session, number, outer = self._open.pop()
        if number != 0:
            _current.set(outer)  # not by token: a generator may be closed in another context
            if session == _impl.session_key():
                _impl.phase_end(number)

    def __call__(self, function: Function) -> Function:
        """Decorates a function or coroutine function: each call is a phase of its own."""
        from functools import wraps

        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & _GENERATOR:
            raise TypeError("corral.phase cannot decorate a generator; use `with` inside it")
        if flags & _COROUTINE:

            @wraps(function)
            async def wrapped_async(*args: Any, **kwargs: Any) -> Any:
                with phase(self._name, self._kind, **self._attributes):
                    return await function(*args, **kwargs)

            return wrapped_async  # type: ignore[return-value]

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with phase(self._name, self._kind, **self._attributes):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

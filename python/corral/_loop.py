"""Loop: the training loop of one thread as phases (epoch, step, data wait, evaluation, checkpoint) and its metrics.

    epoch (control)                       one pass over the training data
      step (compute)                      from the fetch of its first batch to the next fetch after an optimizer step
        data wait (wait)                  inside the loader's __next__
        backward, optimizer (compute)
      evaluation (compute)                a pass over data that trains nothing; also outside epochs
        data wait
      checkpoint (io)
      all_reduce, ... (comm)            a call of torch.distributed; wherever it is made

The capture (_capture*.py) and the helpers (_loops.py) both drive it: one engine, the same phases. Times are ns of
CLOCK_BOOTTIME, given by the caller, because what a phase was is often known only after it began. A phase of the
script's own that is called "epoch", "evaluation" or "checkpoint" is taken for ours, and not opened a second time.
"""

from __future__ import annotations

import os
import sys
from _thread import _local as Local

from corral._phase import _current, _lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from corral import _native as _impl

    Place = tuple[int, int, str]  # session, phase, type path: as in _phase
else:
    _impl = sys.modules["corral"]._impl

COMPUTE, WAIT, IO, COMMUNICATION, CONTROL = range(5)
SAMPLES_PER_SECOND = "samples_per_second"
DATA_WAIT_SHARE = "data_wait_share"
_ROOT = (0, 0, "")
_PATH_BYTES = 900  # path of the surrounding phase; if it is longer, that phase lends its type to ours

_begin, _end, _log = _impl.phase_begin, _impl.phase_end, _impl.log
now = _impl.now


class Loop:
    """One thread's. Nothing here may raise for any reason but a bug: callers of the capture catch and give up."""

    __slots__ = (
        *(
            "began",
            "busy",
            "differentiated",
            "edge",
            "epochs",
            "explicit",
            "fit",
            "fitting",
            "in_epoch",
            "in_step",
            "lane",
            "late",
            "main",
            "mode",
            "open",
            "paths",
            "samples",
        ),
        *("session", "since", "steps", "tangled", "updates", "waited"),
    )

    def __init__(self) -> None:
        self.lane = _lane()
        self.session = 0
        # Our open phases, innermost last: (place, place around it, name).
        self.open: list[tuple[Place, Place | None, str]] = []
        self.paths: dict[str, tuple[str, str]] = {}  # name -> the latest path around it, and with it
        self.in_epoch = -1  # length of `open` before the epoch; -1: none
        self.in_step = -1
        self.epochs = 0  # begun
        self.steps = 0  # ended, with an optimizer step
        self.began = 0  # the step
        self.waited = 0  # ns in this step
        self.samples = 0  # in this step
        self.updates: list[int] = []  # ids of optimizers that stepped in this step
        self.late = 0  # when a profiler between two steps was done: its time belongs to neither
        self.since = 0  # begin of a step without a loader: the end of the one before; 0: not known
        self.explicit = 0  # helpers and frameworks that say themselves where epochs and steps begin
        self.edge = 0  # when the latest of ours began or ended
        self.busy = False  # inside a loader's __next__ or a backward pass
        self.differentiated = False  # a backward pass was made
        self.mode: tuple[int, int] | None = None  # a model that was set to evaluation: its id, and when
        self.tangled = False  # phases of the script cross ours: only leaves are written from then on
        self.main: Any = None  # the pass over the training data (_capture_loader.Pass)
        self.fitting = False  # within a fit of scikit-learn that is no step
        self.fit: Any = None  # state of Keras (_capture_keras.Fit)

    # Phases

    def place(self) -> Place:
        """The innermost open phase, of the script or ours."""
        here = _current.get()
        return here if here is not None and here[0] == (self.session or _impl.session_key()) else _ROOT

    def path(self, around: str, name: str) -> str:
        """The type of a phase in one of type `around`; kept, so that the next of its kind need not make it."""
        path = f"{around}/{name}" if around else name
        if len(path) > 200 and len(path.encode("utf-8", "replace")) > _PATH_BYTES:
            path = around
        self.paths[name] = (around, path)
        return path

    def is_innermost(self) -> bool:
        """Returns true if no phase of the script is open inside ours, and none around ours was left."""
        return not self.open or _current.get() is self.open[-1][0]

    def innermost(self) -> str:
        """The name of our innermost open phase."""
        return self.open[-1][2] if self.open else ""

    def push(self, name: str, kind: int, time: int, attributes: str = "") -> None:
        outer = _current.get()
        around = outer if outer is not None and outer[0] == self.session else self.place()
        known = self.paths.get(name)
        path = known[1] if known is not None and known[0] is around[2] else self.path(around[2], name)
        number = _begin(name, kind, around[1], path, self.lane, attributes, time)
        if self.session == 0:
            self.session = _impl.session_key()
        here = (self.session, number, path)
        _current.set(here)
        self.edge = time
        self.open.append((here, outer, name))

    def pop(self, time: int) -> None:
        here, outer, _ = self.open.pop()
        _end(here[1], time)
        self.edge = time
        if _current.get() is here:
            _current.set(outer)

    def unwind(self, depth: int, time: int) -> None:
        while len(self.open) > depth:
            self.pop(time)
        if self.in_step >= depth:
            self.in_step = -1
            if self.updates:
                self.count(time)
        if self.in_epoch >= depth:
            self.in_epoch = -1

    def leaf(self, name: str, kind: int, began: int, ended: int) -> None:
        outer = _current.get()
        around = outer if outer is not None and outer[0] == self.session else self.place()
        known = self.paths.get(name)
        path = known[1] if known is not None and known[0] is around[2] else self.path(around[2], name)
        _end(_begin(name, kind, around[1], path, self.lane, "", began), ended)
        self.edge = ended

    def is_inside(self, name: str) -> bool:
        return self.place()[2].rpartition("/")[2] == name

    # Epochs and steps

    def begin_epoch(self, time: int, index: int | None = None) -> None:
        if not self.is_inside("epoch"):
            self.in_epoch = len(self.open)
            self.push("epoch", CONTROL, time, f'{{"index":{self.epochs if index is None else index}}}')
        self.epochs += 1

    def end_epoch(self, time: int) -> None:
        if self.in_epoch >= 0:
            self.unwind(self.in_epoch, time)
        elif self.in_step >= 0:
            self.end_step(time)

    def begin_step(self, time: int) -> None:
        self.in_step = len(self.open)
        self.push("step", COMPUTE, time)
        self.began = time
        self.waited = 0
        self.samples = 0
        self.updates.clear()

    def end_step(self, time: int) -> None:
        if len(self.open) > self.in_step + 1:
            return self.unwind(self.in_step, time)
        self.in_step = -1
        self.pop(time)
        if self.updates:
            self.count(time)

    def count(self, time: int) -> None:
        """A step with an optimizer step has ended: its metrics."""
        duration = time - self.began
        if duration > 0 and self.began > 0:
            if self.samples > 0:
                _log(SAMPLES_PER_SECOND, self.samples * 1e9 / duration, self.steps)
            if self.waited > 0:
                _log(DATA_WAIT_SHARE, self.waited / duration, self.steps)
        self.steps += 1
        self.updates.clear()
        if time >= Due.look:
            _look(self)

    def wait(self, began: int, ended: int) -> None:
        self.leaf("data wait", WAIT, began, ended)
        self.waited += ended - began

    def settle(self, time: int) -> None:
        """Something that is no part of a step begins: a step that has done its work, or lost its way, ends here."""
        self.since = 0
        done = bool(self.updates) or self.main is None
        if self.in_step >= 0 and done and not self.explicit and self.is_innermost():
            self.end_step(time)

    def finish(self) -> None:
        """The process ends."""
        self.unwind(0, now())


# Profiles

_LOOK = 1_000_000_000  # ns between two looks for a request of `corral profile`
_NEVER = 1 << 63


class Due:
    """When the end of a step looks whether it should be profiled; 0: at each."""

    look = 0
    request = ""  # a file's path


def _look(loop: Loop) -> None:
    try:
        wanted = Due.look == 0
        if not Due.request:
            if any(os.environ.get(name, "0") != "0" for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")):
                Due.look = _NEVER  # one rank of a host's is profiled
                return
            Due.request = os.path.join(os.environ["CORRAL_SEGMENT_DIR"], "..", "profile", "request")
            wanted = os.environ.get("CORRAL_PROFILE_STEPS", "") != ""
        if not wanted and not os.access(Due.request, os.F_OK):
            Due.look = now() + _LOOK
            return
        from corral import _profile

        Due.look = 0 if _profile.at_step(loop) else now() + _LOOK
    except Exception:  # no spool, or none that can be read
        Due.look = _NEVER


class _Loops(Local):
    loop: Loop | None = None


_loops = _Loops()
_all: list[Loop] = []  # all loops in this process


def existing() -> Loop | None:
    """This thread's, if anything was captured in it."""
    return _loops.loop


def all_loops() -> list[Loop]:
    """Returns the loops of this process's threads, including threads that have ended."""
    return _all


def current() -> Loop:
    loop = _loops.loop
    if loop is None:
        loop = _loops.loop = Loop()
        if not _all:
            from corral import _capture

            _await_end()
            _capture.tell_held()
        _all.append(loop)
        if Due.look == 0:
            _look(loop)
    return loop


def abandon() -> None:
    """A part of the capture was given up: its open phases end, and the rest of the loop begins again."""
    loop = _loops.loop
    if loop is None:
        return
    loop.explicit = 0
    loop.main = None
    try:
        loop.updates.clear()
        loop.unwind(0, now())
    except Exception:  # the reason why it was given up
        loop.open.clear()
        loop.in_epoch = loop.in_step = -1


def write_apart(
    lane: str, phase: tuple[str, int, int, int], attributes: str, leaves: list[tuple[str, int, int, int]]
) -> None:
    """A phase that is over, at the root of a lane, with its inner phases: each a name, kind, begin and end."""
    name, kind, began, ended = phase
    number = _begin(name, kind, 0, name, lane, attributes, began)
    for inner, inner_kind, inner_began, inner_ended in leaves:
        _end(_begin(inner, inner_kind, number, f"{name}/{inner}", lane, "", inner_began), inner_ended)
    _end(number, ended)


_at_finish: list[Callable[[], None]] = []


def at_finish(call: Callable[[], None]) -> None:
    """Calls it before the last phases of this process end."""
    if call not in _at_finish:
        _at_finish.append(call)
        _await_end()


class _End:
    awaited = False  # in this process or in the one that it was forked from


def _await_end() -> None:
    if not _End.awaited:
        import atexit

        _End.awaited = True
        atexit.register(_finish)


def _finish() -> None:
    Due.look = _NEVER
    for call in _at_finish:
        try:
            call()
        except Exception:
            pass
    for loop in _all:
        try:
            loop.finish()
        except Exception:
            pass
    _all.clear()


def end_all() -> None:
    """The run ends, and the process goes on: what it trains later belongs to another run, or to none."""
    global _loops
    profile = sys.modules.get("corral._profile")
    if profile is not None:
        profile.finish()
    _finish()
    _loops = _Loops()


def begin_anew() -> None:
    """Another run of this process begins."""
    Due.look, Due.request = 0, ""


def _forget() -> None:
    """A forked child has no part in its parent's phases."""
    global _loops
    _loops = _Loops()
    _all.clear()
    _at_finish.clear()


os.register_at_fork(after_in_child=_forget)

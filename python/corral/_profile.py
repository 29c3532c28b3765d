"""Profiles of chosen steps: planned with `corral run --profile`, or requested by `corral profile`.

_loop.py comes here at the end of a step when one is planned, asked for or under way, in the thread whose steps they
are. With PyTorch's profiler (_profile_torch.py) the trace and a summary become artifacts; around nsys and ncu, which
`corral run` has put in front of the command, only the window is opened and closed (_profile_cuda.py).

    <run's spool>/profile/          made by `corral run` where steps can be seen
                  request           {"id", "tool", "steps"}: taken by a rename, so by one process
                  ID.answer         a JSON object a line: its progress, for the asking process
                  ID                empty: a planned window, taken by the process that made this file
                  window            of nsys and ncu: when it was, for `corral run`'s summary

All that the window disturbs is a phase `profiled` in a lane of its own: warming up, recording and saving.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import allocate_lock as _allocate_lock

from corral import _loop
from corral._phase import _HOST, _rank
from corral._text import attributes_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from corral import _native as _impl

    class Tool(Protocol):
        """One profiler; any of its calls may raise, and stop() is always called at the end."""

        def warm_up(self) -> None: ...
        def begin(self, step: int) -> None: ...
        def step(self, step: int) -> None: ...
        def end(self) -> None: ...
        def save(self, window: Window, artifact: str) -> None: ...
        def stop(self) -> None: ...
else:
    _impl = sys.modules["corral"]._impl

_WARM_UP = 1  # steps
_MOST_STEPS = 1000


class RefusedError(Exception):
    """Why there is no profile, in words for a person."""


def folder() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(os.environ["CORRAL_SEGMENT_DIR"])), "profile")


def utc_ns(boot_ns: int) -> int:
    import time

    return boot_ns + time.time_ns() - _loop.now()


class Window:
    """Steps of one loop, as wanted and as they came."""

    def __init__(self, tool: str, first: int, last: int, asked: str = "") -> None:
        self.tool = tool
        self.first = first
        self.last = last
        self.id = asked or f"{tool}-{first}-{last}"
        self.asked = asked != ""
        self.began = 0  # boot time of the first step's begin
        self.ended = 0

    def facts(self) -> dict[str, Any]:
        """Returns the facts of a summary."""
        start = utc_ns(self.began)
        return {
            "tool": self.tool,
            "steps": {"first": self.first, "last": self.last},
            "start_ns": str(start),
            "end_ns": str(start + self.ended - self.began),
            "total_ms": (self.ended - self.began) / 1e6,
        }


def _tool(window: Window) -> Tool:
    if window.tool == "torch":
        from corral import _profile_torch

        return _profile_torch.Profiler()
    from corral import _profile_cuda

    return _profile_cuda.Range()


class Job:
    """A window on its way: waiting for its first step, warming up, recording, saved."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.loop: _loop.Loop | None = None  # once it has begun
        self.tool: Tool | None = None
        self.recording = False
        self.phases: list[int] = []  # open ones: profiled, and the phases in it

    def at_step(self, loop: _loop.Loop) -> bool:
        """Step number loop.steps begins. False: this job is done."""
        step, window = loop.steps, self.window
        if self.loop is None:
            if step < window.first - _WARM_UP:
                return True
            self._open(loop, step)
        if self.loop is not loop:
            return True
        if not self.recording and step >= window.first:
            self._record(step)
        elif self.recording and step > window.last:
            self._save(window.last)
            return False
        elif self.recording and self.tool is not None:
            self.tool.step(step)
        return True

    def _open(self, loop: _loop.Loop, step: int) -> None:
        window = self.window
        if not window.asked and not _claim(window.id):
            raise RefusedError("")
        if step > window.last:
            raise RefusedError(f"steps {window.first} to {window.last} ended before the profiler could start")
        self.loop = loop
        window.first = max(window.first, step)
        self._say("begun")
        lane = f"{_HOST}/{_rank()}{os.getpid()}/profiler"
        attributes: dict[str, object] = {
            "tool": window.tool,
            "steps": f"{window.first}-{window.last}",
            "artifact": f"profile/{window.id}",
        }
        self.phases.append(
            _impl.phase_begin("profiled", _loop.CONTROL, 0, "profiled", lane, attributes_json(attributes), _loop.now())
        )
        self._next("warm-up")
        tool = _tool(window)
        self.tool = tool
        tool.warm_up()
        self._release()

    def _record(self, step: int) -> None:
        assert self.tool is not None
        self.tool.begin(step)
        self.recording = True
        self.window.began = self._next("recording")
        self._release()

    def _save(self, last: int) -> None:
        assert self.tool is not None
        window = self.window
        window.last = last
        window.ended = self._next("saving")
        self.tool.end()
        self._say("saving")
        self.tool.save(window, f"profile/{window.id}")
        self._say("done", artifact=f"profile/{window.id}", start_ns=str(utc_ns(window.began)))
        self.close()

    def finish(self) -> None:
        """The process ends: the recorded part is kept."""
        last = -1 if self.loop is None else self.loop.steps - 1
        if self.loop is None and not self.window.asked:
            raise RefusedError("")  # perhaps another process has come that far; `corral run` knows
        if not self.recording or last < self.window.first:
            raise RefusedError(f"the process ended before step {self.window.first} did")
        self._save(min(last, self.window.last))

    def _next(self, name: str) -> int:
        """Another phase within the one that is open; when it began."""
        time = _loop.now()
        if len(self.phases) > 1:
            _impl.phase_end(self.phases.pop(), time)
        lane = f"{_HOST}/{_rank()}{os.getpid()}/profiler"
        path = f"profiled/{name}"
        self.phases.append(_impl.phase_begin(name, _loop.CONTROL, self.phases[0], path, lane, "", time))
        return int(time)

    def _release(self) -> None:
        """The script goes on: until now nothing was a step's."""
        if self.loop is not None:
            self.loop.late = _loop.now()

    def close(self) -> None:
        tool, self.tool = self.tool, None
        if tool is not None:
            try:
                tool.stop()
            except Exception:  # it was stopped halfway
                pass
        while self.phases:
            _impl.phase_end(self.phases.pop(), _loop.now())
        self._release()

    def fail(self, reason: str) -> None:
        """Says it once, and leaves the training as it would be without."""
        self.close()
        if reason:
            self._say("failed", reason=reason)
            text = f"corral: no profile of steps {self.window.first} to {self.window.last}: {reason}\n"
            try:
                sys.stderr.write(text)
            except Exception:  # the script has closed it, or there is none
                pass

    def _say(self, state: str, **more: object) -> None:
        """To `corral profile`, which reads whole lines."""
        if not self.window.asked:
            return
        line = {"state": state, "pid": os.getpid(), "first": self.window.first, "last": self.window.last} | more
        try:
            with open(os.path.join(folder(), f"{self.window.id}.answer"), "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError:  # no process waits for it any more
            pass


class _State:
    job: Job | None = None
    planned = False  # the plan was looked at
    registered = False
    lock = _allocate_lock()


def _claim(name: str) -> bool:
    """Returns true if this process is the one of the run that takes a planned window."""
    try:
        if not os.path.isdir(folder()):
            os.mkdir(folder(), 0o700)
        os.close(os.open(os.path.join(folder(), name), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True


def _plan() -> Job | None:
    """CORRAL_PROFILE_STEPS=TOOL:FIRST-LAST, as `corral run` makes it of --profile."""
    tool, _, steps = os.environ.get("CORRAL_PROFILE_STEPS", "").partition(":")
    first, _, last = steps.partition("-")
    if not first.isdecimal() or not last.isdecimal():
        return None
    return Job(Window(tool, int(first), int(last)))


def _request(loop: _loop.Loop) -> Job | None:
    place = os.path.join(folder(), "request")
    taken = f"{place}-{os.getpid()}"
    try:
        os.rename(place, taken)
    except OSError:  # another process was first, or the asking process has gone
        return None
    try:
        with open(taken, encoding="utf-8") as file:
            asked = json.load(file)
        os.unlink(taken)
        steps = min(max(int(asked["steps"]), 1), _MOST_STEPS)
        id_ = os.path.basename(str(asked["id"]))
    except (OSError, ValueError, KeyError, TypeError):  # not written by `corral profile`
        return None
    first = loop.steps + _WARM_UP
    return Job(Window("torch", first, first + steps - 1, id_))


def at_step(loop: _loop.Loop) -> bool:
    """Step number loop.steps begins. Returns true if the next step should call this, too."""
    lock = _State.lock
    if not lock.acquire(False):
        return True  # another thread's step
    try:
        return _at_step(loop)
    finally:
        lock.release()


def _at_step(loop: _loop.Loop) -> bool:
    state = _State
    if not state.planned:
        state.planned = True
        state.job = _plan()
    if state.job is None:
        state.job = _request(loop)
    job = state.job
    if job is None:
        return False
    if not state.registered:
        import atexit

        state.registered = True
        atexit.register(finish)
    return _guarded(job, job.at_step, loop)


def _guarded(job: Job, call: Any, *arguments: Any) -> bool:
    """Nothing of a profiler's reaches the script."""
    try:
        if call(*arguments):
            return True
    except RefusedError as refusal:
        job.fail(str(refusal))
    except Exception as error:
        job.fail(f"{type(error).__name__}: {error}")
    _State.job = None
    return False


def give_way() -> None:
    """The script begins to profile itself."""
    job, _State.job = _State.job, None
    if job is not None:
        job.fail("the script's own profiler began")


def finish() -> None:
    """The process or its run ends."""
    job = _State.job
    if job is not None:
        _guarded(job, job.finish)


def _forget() -> None:
    """A forked child has no part in its parent's window."""
    _State.job = None
    _State.lock = _allocate_lock()


os.register_at_fork(after_in_child=_forget)

"""PyTorch's profiler for a window of steps: a Chrome trace and its summary, as artifacts of the run."""

from __future__ import annotations

import json
import os
import shutil
import sys

from corral import _profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NOTHING, _PREPARED, _TRACING = range(3)
_MOST_TRACE_BYTES = 256 << 20  # limit of a trace that is summarised: it is read as a whole


class Profiler:
    def __init__(self) -> None:
        self._profile: Any = None
        self._marker: Any = None  # marks the step
        self._stage = _NOTHING
        self._restore: Any = None

    def warm_up(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None:
            raise _profile.RefusedError(f"process {os.getpid()}, which trains, does not use PyTorch")
        from torch import profiler

        if getattr(torch.autograd, "_profiler_enabled", bool)():
            raise _profile.RefusedError("the script's own profiler is running")
        kinds = [profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            kinds.append(profiler.ProfilerActivity.CUDA)
        xpu = getattr(profiler.ProfilerActivity, "XPU", None)
        if xpu is not None and hasattr(torch, "xpu") and torch.xpu.is_available():
            kinds.append(xpu)
        self._profile = profiler.profile(activities=kinds)
        self._profile.prepare_trace()
        self._stage = _PREPARED
        self._watch_for_others(torch.autograd.profiler.profile)

    def _watch_for_others(self, kind: Any) -> None:
        """Two profilers at once are an error in the second: ours ends when the script begins one."""
        original = kind.__dict__.get("_prepare_trace")
        if original is None:
            return

        def _prepare_trace(other: Any, *arguments: Any, **more: Any) -> Any:
            _profile.give_way()
            return original(other, *arguments, **more)

        kind._prepare_trace = _prepare_trace
        self._restore = lambda: setattr(kind, "_prepare_trace", original)

    def begin(self, step: int) -> None:
        self._profile.start_trace()
        self._stage = _TRACING
        self._mark(step)

    def step(self, step: int) -> None:
        self._unmark()
        self._mark(step)

    def end(self) -> None:
        self.stop()

    def _mark(self, step: int) -> None:
        from torch.profiler import record_function

        self._marker = record_function(f"ProfilerStep#{step}")
        self._marker.__enter__()

    def _unmark(self) -> None:
        marker, self._marker = self._marker, None
        if marker is not None:
            marker.__exit__(None, None, None)

    def save(self, window: _profile.Window, artifact: str) -> None:
        import gzip

        from corral import _artifact

        scratch = os.path.join(_profile.folder(), f"draft-{window.id}")
        os.mkdir(scratch, 0o700)
        try:
            trace = os.path.join(scratch, "trace.json")
            self._profile.export_chrome_trace(trace)
            summary = window.facts() | _parts(trace, window)
            with open(trace, "rb") as plain, gzip.open(trace + ".gz", "wb", compresslevel=1) as packed:
                shutil.copyfileobj(plain, packed, 1 << 20)
            os.unlink(trace)
            with open(os.path.join(scratch, "summary.json"), "w", encoding="utf-8") as file:
                json.dump(summary, file)
            _artifact.keep(scratch, artifact)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def stop(self) -> None:
        restore, self._restore = self._restore, None
        if restore is not None:
            restore()
        self._unmark()
        stage, self._stage = self._stage, _NOTHING
        if stage == _PREPARED:
            self._profile.start_trace()  # a prepared profiler ends no other way
        if stage != _NOTHING:
            self._profile.stop_trace()


def _parts(path: str, window: _profile.Window) -> dict[str, Any]:
    from corral import _profile_summary

    if os.path.getsize(path) > _MOST_TRACE_BYTES:
        return {"by_kind": [], "top": [], "note": "the trace is too long to be summarised"}
    with open(path, encoding="utf-8", errors="replace") as file:
        return _profile_summary.parts(json.load(file), (window.ended - window.began) / 1e6)

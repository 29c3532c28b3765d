"""The window of steps that nsys or ncu, in front of the command, records: cudaProfilerStart and cudaProfilerStop."""

from __future__ import annotations

import json
import os
import sys

from corral import _profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Tried if PyTorch is missing; a runtime that the process has loaded comes first.
_RUNTIMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so")


def _loaded() -> list[str]:
    """Paths of CUDA's runtime library in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        words = (line.split(maxsplit=5)[-1].rstrip("\n") for line in file)
        return sorted({word for word in words if os.path.basename(word).startswith("libcudart")})


class Range:
    def __init__(self) -> None:
        self._stop: Callable[[], object] | None = None
        self._calls: tuple[Callable[[], object], Callable[[], object]] | None = None
        self._synchronize: Callable[[], object] | None = None

    def warm_up(self) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            self._calls = (torch.cuda.profiler.start, torch.cuda.profiler.stop)
            self._synchronize = torch.cuda.synchronize
        else:
            self._calls = self._runtime()

    def _runtime(self) -> tuple[Callable[[], object], Callable[[], object]]:
        import ctypes

        for name in (*_loaded(), *_RUNTIMES):
            try:
                library = ctypes.CDLL(name)
                self._synchronize = library.cudaDeviceSynchronize
                return library.cudaProfilerStart, library.cudaProfilerStop
            except (OSError, AttributeError):
                continue
        raise _profile.RefusedError("this process does not use CUDA: found neither PyTorch with a device nor libcudart")

    def begin(self, step: int) -> None:
        assert self._calls is not None
        self._wait()
        self._calls[0]()
        self._stop = self._calls[1]

    def step(self, step: int) -> None:
        pass

    def end(self) -> None:
        self._wait()
        self.stop()

    def _wait(self) -> None:
        """Waits for the device: its pending work belongs to the steps before."""
        if self._synchronize is not None:
            self._synchronize()

    def stop(self) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def save(self, window: _profile.Window, artifact: str) -> None:
        place = os.path.join(_profile.folder(), "window")
        with open(place + "-new", "w", encoding="utf-8") as file:
            json.dump(window.facts() | {"artifact": artifact}, file)
        os.rename(place + "-new", place)

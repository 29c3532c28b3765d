"""Columns of one series as they come, in buffers of the chosen kind: NumPy, Arrow or the standard library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corral._modules import module
from corral._stream import Columns, Declaration, Gap, PointsStream

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST = 8192
_BYTES = 8


@dataclass(eq=False, frozen=True)
class Series:
    """Points of one metric of one run, ascending in time (equal times: in order of arrival).

    `time_ns` is UTC in nanoseconds, `step` None when no point has one. Both and `value` are NumPy arrays, or lists.
    Where only some points have steps, the array is masked, the list has None.
    """

    run: str
    run_name: str
    start_ns: int  # start of the run
    metric: str
    source: str
    unit: str
    kind: str  # gauge or counter
    time_ns: Any
    step: Any
    value: Any
    gaps: list[Gap] = field(default_factory=list)  # ranges that the store cannot read

    def __len__(self) -> int:
        return len(self.time_ns)

    def __repr__(self) -> str:
        source = f"{{{self.source}}}" if self.source else ""
        gaps = f", {len(self.gaps)} gaps" if self.gaps else ""
        return f"<corral.Series {self.metric}{source} of {self.run_name}: {len(self):,} points{gaps}>"


class Growing:
    """The points of one series. `allocate` gives a writable buffer of so many bytes."""

    def __init__(self, declaration: Declaration, allocate: Callable[[int], Any], expected: int) -> None:
        self.declaration = declaration
        self.count = 0
        self.gaps: list[Gap] = []
        self.stepless: list[tuple[int, int]] = []  # [from, to) of points without a step
        self.ordered = True
        self._allocate = allocate
        self._capacity = 0
        self._expected = expected
        self.times: Any = None
        self.steps: Any = None
        self.values: Any = None
        self._newest: int | None = None

    def take(self, columns: Columns, stream: PointsStream) -> None:
        self._reserve(self.count + columns.count)
        first, last = self.count, self.count + columns.count
        times = memoryview(self.times).cast("B")[first * _BYTES : last * _BYTES]
        stream.read_into(times)
        if columns.has_steps:
            if self.steps is None:
                self.steps = self._allocate(self._capacity * _BYTES)
            stream.read_into(memoryview(self.steps).cast("B")[first * _BYTES : last * _BYTES])
        else:
            self.stepless.append((first, last))
        stream.read_into(memoryview(self.values).cast("B")[first * _BYTES : last * _BYTES])
        # A chunk is in order by itself.
        ends = times.cast("q")
        self.ordered = self.ordered and (self._newest is None or ends[0] >= self._newest)
        self._newest = ends[-1]
        self.count = last

    def _reserve(self, count: int) -> None:
        if count <= self._capacity:
            return
        capacity = max(count, min(self._expected, 1 << 31), 2 * self._capacity, _LEAST)
        self._expected = 0
        self.times = self._moved(self.times, capacity)
        self.values = self._moved(self.values, capacity)
        if self.steps is not None:
            self.steps = self._moved(self.steps, capacity)
        self._capacity = capacity

    def _moved(self, old: Any, capacity: int) -> Any:
        new = self._allocate(capacity * _BYTES)
        if old is not None:
            used = self.count * _BYTES
            memoryview(new).cast("B")[:used] = memoryview(old).cast("B")[:used]
        return new

    @property
    def wasteful(self) -> bool:
        return self._capacity > 2 * self.count + _LEAST

    def series(self, time_ns: Any, step: Any, value: Any) -> Series:
        d = self.declaration
        return Series(
            d.run, d.run_name, d.start_ns, d.metric, d.source, d.unit, d.kind, time_ns, step, value, self.gaps
        )


def list_series(points: Growing) -> Series:
    def column(buffer: Any, code: str) -> list[Any]:
        return memoryview(buffer).cast("B")[: points.count * _BYTES].cast(code).tolist() if points.count else []  # type: ignore[call-overload]

    times, values = column(points.times, "q"), column(points.values, "d")
    steps = column(points.steps, "q") if points.steps is not None else None
    if steps is not None:
        for first, last in points.stepless:
            steps[first:last] = [None] * (last - first)
    if not points.ordered:
        order = sorted(range(points.count), key=times.__getitem__)
        times, values = [times[i] for i in order], [values[i] for i in order]
        steps = [steps[i] for i in order] if steps is not None else None
    return points.series(times, steps, values)


def numpy_allocate() -> Callable[[int], Any]:
    np = module("numpy")
    return lambda count: np.empty(count // _BYTES, np.int64)


def numpy_series(points: Growing) -> Series:
    np = module("numpy")

    def column(buffer: Any, kind: Any) -> Any:
        if buffer is None:
            return np.empty(0, kind)
        used = buffer[: points.count].view(kind)
        return used.copy() if points.wasteful else used

    times, values = column(points.times, np.int64), column(points.values, np.float64)
    steps = column(points.steps, np.int64) if points.steps is not None else None
    if steps is not None and points.stepless:
        mask = np.zeros(points.count, bool)
        for first, last in points.stepless:
            mask[first:last] = True
            steps[first:last] = 0
        steps = np.ma.MaskedArray(steps, mask)
    if not points.ordered:
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
        steps = steps[order] if steps is not None else None
    return points.series(times, steps, values)

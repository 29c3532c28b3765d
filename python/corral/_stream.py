"""Decodes application/x-corral-points (docs/format-points.md)."""

from __future__ import annotations

import http.client
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corral._server import error_of

if TYPE_CHECKING:
    from typing import Protocol

    class Source(Protocol):
        def readinto(self, buffer: memoryview, /) -> int | None: ...


_HEAD = struct.Struct("<4sHHQ")
_CHUNK = struct.Struct("<IIQIIq")
_TRIPLE = struct.Struct("<qqQ")
_SERIES, _POINTS, _GAP, _END, _ERROR = 1, 2, 3, 4, 5
_MOST_TEXT = 1 << 20
_MOST_POINTS = 1 << 24
EARLIEST, LATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Gap:
    """Points that the store cannot read any more. None: the bounds, or the number of points, are unknown."""

    from_ns: int | None
    to_ns: int | None  # inside
    points: int | None


@dataclass(frozen=True)
class Declaration:
    """The series that the following chunks belong to."""

    run: str
    run_name: str
    start_ns: int
    metric: str
    source: str
    unit: str
    kind: str
    stored: int  # points of all time


@dataclass(frozen=True)
class Columns:
    """`count` points whose columns are to be read, in this order: times, steps if there are any, values."""

    count: int
    has_steps: bool
    session: int


class PointsStream:
    """Iterates over what comes; read_into must take all columns of a `Columns` before the next item is asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._series = self._points = self._gaps = 0
        self._due = 0  # bytes of the present body that were not taken
        magic, version, flags, _ = _HEAD.unpack(self._take(_HEAD.size))
        if magic != b"CRPT":
            raise RuntimeError("corral: the server's answer is not a stream of points")
        if version != 1:
            raise RuntimeError(f"corral: stream version {version} is newer than this package; update it")
        self.reduced = bool(flags & 1)

    def read_into(self, buffer: memoryview) -> None:
        """Fills `buffer`, of bytes, with the next bytes of the body."""
        if len(buffer) > self._due:
            raise ValueError("more than the chunk holds")
        self._due -= len(buffer)
        self._fill(buffer)

    def _fill(self, buffer: memoryview) -> None:
        at = 0
        try:
            while at < len(buffer):
                count = self._source.readinto(buffer[at:])
                if not count:
                    break
                at += count
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionError(f"corral: the answer was cut off: {error or type(error).__name__}") from error
        if at < len(buffer):
            raise ConnectionError("corral: the answer was cut off; read again")

    def _take(self, count: int) -> bytes:
        buffer = bytearray(count)
        self._fill(memoryview(buffer))
        return bytes(buffer)

    def __iter__(self) -> Iterator[Declaration | Columns | Gap]:
        while True:
            kind, flags, size, count, series, session = _CHUNK.unpack(self._take(_CHUNK.size))
            if kind == _POINTS:
                yield self._columns(flags, size, count, series, session)
                if self._due:
                    raise ValueError("a chunk was not taken whole")
            elif kind == _SERIES:
                yield self._declaration(size, count, series)
            elif kind == _GAP:
                yield self._gap(size, series)
            elif kind == _END:
                return self._finish(size)
            elif kind == _ERROR:
                error = self._json(size, count)
                raise error_of(str(error.get("code")), f"the server failed: {error.get('message')}")
            elif size <= _MOST_TEXT:
                self._take(size)  # a section of a later version, safe to skip
            else:
                raise _broken()

    def _columns(self, flags: int, size: int, count: int, series: int, session: int) -> Columns:
        has_steps = bool(flags & 1)
        if size != count * (24 if has_steps else 16) or not 0 < count <= _MOST_POINTS or series != self._series - 1:
            raise _broken()
        self._due = size
        self._points += count
        return Columns(count, has_steps, session)

    def _json(self, size: int, count: int) -> dict[str, Any]:
        if not count <= size <= _MOST_TEXT:
            raise _broken()
        value = json.loads(self._take(size)[:count])
        if not isinstance(value, dict):
            raise _broken()
        return value

    def _declaration(self, size: int, count: int, series: int) -> Declaration:
        if series != self._series:
            raise _broken()
        self._series += 1
        facts = self._json(size, count)
        names = ("run", "run_name", "metric", "source", "unit", "kind")
        return Declaration(
            start_ns=int(facts["start_ns"]), stored=int(facts["points"]), **{name: facts[name] for name in names}
        )

    def _gap(self, size: int, series: int) -> Gap:
        if size != _TRIPLE.size or series != self._series - 1:
            raise _broken()
        self._gaps += 1
        start, end, points = _TRIPLE.unpack(self._take(size))
        return Gap(None if start == EARLIEST else start, None if end == LATEST else end, points or None)

    def _finish(self, size: int) -> None:
        if size != _TRIPLE.size or _TRIPLE.unpack(self._take(size)) != (self._series, self._points, self._gaps):
            raise _broken()


def _broken() -> Exception:
    return RuntimeError("corral: the stream of points is damaged")

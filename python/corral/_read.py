"""read(): points of runs from a server, as pandas, Arrow, NumPy or plain lists."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, overload

from corral._columns import Growing, Series, list_series, numpy_allocate, numpy_series
from corral._modules import installed
from corral._server import Server, find_server, post
from corral._stream import EARLIEST, LATEST, Declaration, Gap, PointsStream
from corral._tables import arrow_allocate, arrow_table, gaps_of, pandas_frame

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    Result = Literal["pandas", "arrow", "numpy", "lists"]

_PACKAGES = {"pandas": "pandas", "arrow": "pyarrow", "numpy": "numpy"}
_NANOSECONDS = 10**15  # seconds since a run's start are less, times of UTC in ns are more
_MOMENT = "seconds since the run's start, a datetime or ns of UTC"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class DamageWarning(UserWarning):
    """Some of the points that were asked for cannot be read any more; the result says where."""


# Arguments


def names_of(value: str | Iterable[str], what: str) -> list[str]:
    if not isinstance(value, Iterable):
        raise TypeError(f"corral: {what} must be a name or several, not {value!r}")
    names = [value] if isinstance(value, str) else list(value)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"corral: {what} must be a name or several, not {value!r}")
    return names


def _is_missing(value: Any) -> bool:
    """NaN and NaT equal nothing, pd.NA says neither."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _moment(value: Any, what: str) -> tuple[int, bool]:
    """Nanoseconds, and whether they count from the run's start."""
    if _is_missing(value):
        raise ValueError(f"corral: {what} must be {_MOMENT}, not {value!r}")
    if hasattr(value, "astype") and hasattr(value, "dtype") and value.dtype.kind in "mM":  # NumPy
        return int(value.astype(f"{value.dtype.kind}8[ns]").astype("int64")), value.dtype.kind == "m"
    if isinstance(value, (datetime, timedelta)):
        if isinstance(getattr(value, "value", None), int) and getattr(value, "tzinfo", True) is not None:
            return int(value.value), isinstance(value, timedelta)  # type: ignore[union-attr]  # pandas: to the nanosecond
        span = value if isinstance(value, timedelta) else value.astimezone(timezone.utc) - _EPOCH
        return (span // timedelta(microseconds=1)) * 1000, isinstance(value, timedelta)
    try:
        number = operator.index(value)
    except TypeError:
        try:
            seconds = float(value)
            return round(seconds * 1e9), True
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"corral: {what} must be {_MOMENT}, not {value!r}") from None
    return (number, False) if abs(number) >= _NANOSECONDS else (number * 10**9, True)


def bounds(start: Any, end: Any) -> tuple[dict[str, int], bool]:
    """Those that were given, as from_ns and to_ns, and whether they count from the run's start."""
    given = {"from_ns": (start, "start"), "to_ns": (end, "end")}
    moments = {key: _moment(value, name) for key, (value, name) in given.items() if value is not None}
    if len({relative for _, relative in moments.values()}) > 1:
        raise ValueError("corral: start and end must both be moments, or both count from the run's start")
    return {key: ns for key, (ns, _) in moments.items()}, any(relative for _, relative in moments.values())


def _request(runs: Any, metrics: Any, start: Any, end: Any, points: int | None) -> dict[str, Any]:
    request: dict[str, Any] = {"runs": names_of(runs, "runs"), "metrics": names_of(metrics, "metrics")}
    times, relative = bounds(start, end)
    for key, ns in times.items():
        request[key] = str(min(max(ns, EARLIEST), LATEST))
        request["origin"] = "run" if relative else "utc"
    if points is not None:
        try:
            request["points"] = operator.index(points)
        except TypeError:
            raise TypeError(f"corral: points must be a whole number or None, not {points!r}") from None
    return request


# Kinds of results


def _kind(wanted: str | None) -> str:
    if wanted is None:
        return next((kind for kind, package in _PACKAGES.items() if installed(package)), "lists")
    if wanted != "lists" and wanted not in _PACKAGES:
        raise ValueError(f"corral: as_ must be pandas, arrow, numpy or lists, not {wanted!r}")
    package = _PACKAGES.get(wanted)
    if package is not None and not installed(package):
        raise ImportError(
            f"corral: as_={wanted!r} needs {package}, which is not installed here: `pip install {package}`"
        )
    return wanted


def collect(stream: PointsStream, allocate: Callable[[int], Any], whole: bool) -> Iterator[Growing]:
    """Series after series."""
    points: Growing | None = None
    for item in stream:
        if isinstance(item, Declaration):
            if points is not None:
                yield points
            points = Growing(item, allocate, item.stored if whole else 0)
        elif points is None:
            raise RuntimeError("corral: points before their series")
        elif isinstance(item, Gap):
            points.gaps.append(item)
        else:
            points.take(item, stream)
    if points is not None:
        yield points


def _tell(gaps: list[dict[str, Any]]) -> None:
    if not gaps:
        return
    names = list(dict.fromkeys(gap["metric"] for gap in gaps))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    warnings.warn(
        f"the store has damage: {len(gaps)} gaps in {', '.join(names[:3])}{more}; `corral store check` names them",
        DamageWarning,
        stacklevel=3,
    )


def open_stream(request: dict[str, Any], server: Server) -> tuple[PointsStream, Any]:
    """The stream, and the answer to close."""
    answer = post(server, "/api/corral/v1/points", request)
    try:
        return PointsStream(answer), answer
    except BaseException:
        answer.close()
        raise


@overload
def read(
    runs: str | Iterable[str],
    metrics: str | Iterable[str] = "*",
    *,
    start: Any = None,
    end: Any = None,
    points: int | None = None,
    as_: Literal["numpy", "lists"],
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> list[Series]: ...


@overload
def read(
    runs: str | Iterable[str],
    metrics: str | Iterable[str] = "*",
    *,
    start: Any = None,
    end: Any = None,
    points: int | None = None,
    as_: Literal["pandas", "arrow"] | None = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> Any: ...


def read(
    runs: str | Iterable[str],
    metrics: str | Iterable[str] = "*",
    *,
    start: Any = None,
    end: Any = None,
    points: int | None = None,
    as_: Result | None = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> Any:
    """Points of runs, in order of time.

    `runs`: ids, unique prefixes, names or "@1" for the newest; `metrics`: names or patterns with * and ?.
    `start` and `end` (half open) are seconds since each run's start, datetimes, or integers of ns since 1970 UTC.
    `points`: at most so many of each series, those that draw the same line (M4); all of them when left out.
    `as_`: "pandas" or "arrow" for one table, "numpy" or "lists" for a list of `Series`; else the first of these that
    is installed.

    Asks the server of `server` (URL) or `store` (directory, or postgresql://...), else of CORRAL_SERVER, CORRAL_STORE,
    corral.toml or the default store; starts none. What the store cannot read any more is left out with a
    DamageWarning, and the result says where: `gaps` of a `Series`, `attrs["gaps"]` of pandas, the metadata
    `corral.gaps` of Arrow.
    """
    kind = _kind(as_)
    request = _request(runs, metrics, start, end, points)
    stream, answer = open_stream(request, find_server(server, store, token))
    whole = start is None and end is None and points is None
    allocate = bytearray if kind == "lists" else arrow_allocate() if kind == "arrow" else numpy_allocate()
    with answer:
        collected = collect(stream, allocate, whole)
        if kind == "arrow":
            arrow = list(collected)
            _tell(gaps_of(arrow))
            return arrow_table(arrow)
        series = [list_series(one) if kind == "lists" else numpy_series(one) for one in collected]
    _tell(gaps_of(series))
    return pandas_frame(series) if kind == "pandas" else series

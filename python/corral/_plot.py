"""plot(): a metric of runs as `corral plot` draws it, by matplotlib where it is installed.

The program asks the server and reduces the points to those that draw the same line. Its numbers are drawn here, or its
own SVG is shown.
"""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from corral._init import binary
from corral._modules import installed, module
from corral._read import names_of
from corral._server import Server, find_server, get

if TYPE_CHECKING:
    Axis = Literal["workload", "run", "wall", "step"]
    Points = list[tuple[float, float]]

_AXES = {"workload": "workload time (s)", "run": "run time (s)", "wall": "wall clock (UTC)", "step": "step"}
_MISUSE = 2  # exit status


class Figure:
    """The program's drawing, which notebooks show."""

    def __init__(self, svg: str, what: str) -> None:
        self.svg = svg
        self._what = what

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<corral figure of {self._what}; without matplotlib it is an SVG, in .svg>"


# Asking


def _run_ids(runs: Any) -> list[str]:
    """Also those of a frame of runs()."""
    if "run_id" in getattr(runs, "columns", ()):
        runs = [str(run) for run in runs["run_id"]]
    return names_of(runs, "runs")


def _label(place: Server, runs: Iterable[str], metric: str) -> str:
    """The metric with its unit; a counter is drawn as a rate."""
    for run in runs:
        path = f"/api/corral/v1/runs/{quote(run, safe='', errors='replace')}/metrics"
        for one in get(place, path)["metrics"]:
            if one["name"] == metric:
                unit = one["rate_unit"] if one["kind"] == "counter" else one["unit"]
                return f"{metric} ({unit})" if unit else metric
    return metric


@contextmanager
def _environment(place: Server) -> Iterator[tuple[dict[str, str], list[int]]]:
    """The variables that lead the program to this server, and the descriptor of the token's file."""
    mine = dict(os.environ)
    for name in ("CORRAL_SERVER", "CORRAL_STORE", "CORRAL_TOKEN_FILE"):
        mine.pop(name, None)
    mine |= {"CORRAL_SERVER": place.url} if place.url else {"CORRAL_STORE": place.store}
    if not place.token:
        yield mine, []
        return
    secret = os.memfd_create("corral-token")
    try:
        os.fchmod(secret, 0o600)
        os.write(secret, place.token.encode())
        yield mine | {"CORRAL_TOKEN_FILE": f"/proc/self/fd/{secret}"}, [secret]
    finally:
        os.close(secret)


def _draw(words: list[str], place: Server) -> None:
    """Its refusal is a ValueError, or a LookupError where the store has nothing to draw."""
    with _environment(place) as (environment, descriptors):
        try:
            done = subprocess.run(
                [binary(), "plot", *words],
                env=environment,
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise RuntimeError(f"corral: {binary()} cannot be started: {error.strerror}") from error
    if done.returncode == 0:
        return
    said = done.stderr.decode(errors="replace").strip().removeprefix("corral plot: ")
    if done.returncode == _MISUSE:
        raise ValueError(f"corral: {said}")
    raise LookupError(f"corral: {said or f'corral plot ended with status {done.returncode}'}")


# Numbers


def _points_of(row: list[str], axis: str) -> list[tuple[float, float]]:
    """The first, least, greatest and last point of a column, in their order."""
    at, value, low, low_at, high, high_at, last, last_at = row[:8]
    pairs = [(at, value), (low_at, low), (high_at, high), (last_at, last)]
    points = [(float(x), float(y)) for x, y in pairs if x and y]
    if axis == "step":  # those of columns are rounded to 24 bits
        points = [(round(x), y) for x, y in points]
    return list(dict.fromkeys([*points[:1], *sorted(points[1:-1]), *points[-1:]]))


def _lines_of(path: Path, axis: str) -> dict[str, Points]:
    """The lines of the program's CSV by name: the computed ones where it smoothed, else the points of the columns."""
    columns: dict[str, Points] = {}
    computed: dict[str, Points] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        for name, kind, *row in rows:
            if kind == "column":
                columns.setdefault(name, []).extend(_points_of(row, axis))
            else:
                computed.setdefault(name, []).append((float(row[0]), float(row[1])))
    return columns | computed


def _places(axis: str, points: Points) -> list[Any]:
    if axis == "wall":
        return [datetime.fromtimestamp(x, timezone.utc) for x, _ in points]
    return [x for x, _ in points]


def _plain(name: str) -> str:
    """For matplotlib, which would read formulas between dollars."""
    return name.replace("$", r"\$")


def plot(
    runs: Any,
    metric: str,
    *,
    axis: Axis = "workload",
    smooth: str | None = None,
    ax: Any = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> Any:
    """Draws a metric of runs, with the data of `corral plot`: few points that draw the same line.

    `runs`: as of `read`, or a frame of `runs()`. `axis`: time since the start of the "workload" or of each "run",
    the "wall" clock, or the "step". `smooth`: "ema:WEIGHT", "gaussian:WIDTH" or "mean:WIDTH", per second or step.

    With matplotlib: draws into `ax`, or into a figure of its own, and returns the Axes. Without it returns an object
    whose `svg` notebooks show. `server`, `store` and `token` are as in `read`. LookupError: no such run or metric, or
    nothing to draw; ValueError: a wrong option.
    """
    if not isinstance(metric, str) or not metric:
        raise TypeError(f"corral: metric must be a name, not {metric!r}")
    if axis not in _AXES:
        raise ValueError(f"corral: axis must be {', '.join(_AXES)}, not {axis!r}")
    names = _run_ids(runs)
    place = find_server(server, store, token)
    label = _label(place, names, metric)
    with tempfile.TemporaryDirectory(prefix="corral-") as folder:
        numbers, picture = Path(folder, "numbers.csv"), Path(folder, "picture.svg")
        words = [f"--metric={metric}", f"--axis={axis}", f"--data={numbers}", f"--output={picture}"]
        words += [f"--smooth={smooth}"] if smooth else []
        _draw([*words, "--", *names], place)
        if ax is None and not installed("matplotlib"):
            return Figure(picture.read_text(encoding="utf-8"), label)
        lines = _lines_of(numbers, axis)
    if ax is None:
        ax = module("matplotlib.pyplot").subplots()[1]
    for name, points in lines.items():
        ax.plot(_places(axis, points), [y for _, y in points], label=_plain(name))
    ax.set_xlabel(_AXES[axis])
    ax.set_ylabel(_plain(label))
    ax.legend()
    return ax

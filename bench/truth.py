"""Compares Corral's recordings of known loads (truth_load.py) with each load's own measurement.

`./dev bench truth` prints the table; with `--docs` it is written into docs/truth.md as well.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import print_rows
from home import Home

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "truth.md"
MIB = 1 << 20
LARGE = 1.0  # %: an error that needs a reason
HEADER = ["measure", "true", "recorded", "error", "source; reason of an error above 1 %"]
BEGIN, END = "<!-- table: ./dev bench truth --docs -->", "<!-- end of table -->"


@dataclass(frozen=True)
class Checked:
    """One measure; `recorded` is None where this machine does not record it."""

    what: str
    truth: float
    recorded: float | None
    unit: str
    method: str  # the method that recorded it
    reason: str = ""  # for an expected error

    def error(self) -> float | None:
        if self.recorded is None:
            return None
        return 100 * (self.recorded - self.truth) / self.truth if self.truth else 0.0

    def is_large(self) -> bool:
        error = self.error()
        return error is None or abs(error) > LARGE

    def row(self) -> list[str]:
        error = self.error()
        shown = "not recorded" if self.recorded is None else number(self.recorded, self.unit)
        return [
            self.what,
            number(self.truth, self.unit),
            shown,
            "" if error is None else f"{error:+.2f} %",
            f"{self.method}; {self.reason}" if self.is_large() and self.reason else self.method,
        ]


def number(value: float, unit: str) -> str:
    if unit == "MiB":
        return f"{value / MIB:,.1f} MiB"
    if unit == "":
        return f"{value:,.0f}"
    return f"{value:,.4g} {unit}"


@dataclass(frozen=True)
class Recorded:
    """The records of one run in the store, and its load's own account."""

    home: Home
    began: int
    ended: int
    measured: dict[str, float]

    def points(self, metric: str, source: str = "") -> list[tuple[int, float]]:
        text = self.home.corral("export", "@1", "--metric", metric, "--format", "jsonl")
        lines = [json.loads(line) for line in text.splitlines()]
        return sorted((int(p["time_ns"]), float(p["value"])) for p in lines if "value" in p and p["source"] == source)

    def grown(self, metric: str, source: str = "") -> float | None:
        """Growth of a counter over the work: from the rest before it to the rest after it."""
        points = self.points(metric, source)
        before = [value for at, value in points if at <= self.began]
        after = [value for at, value in points if at >= self.ended]
        return after[-1] - before[-1] if before and after else None

    def greatest(self, metric: str, until: float = math.inf) -> float | None:
        return max((value for at, value in self.points(metric) if at <= until), default=None)

    def phases(self, name: str) -> list[float]:
        """Durations in seconds."""
        rows = json.loads(self.home.corral("ls", "phases", "@1", "--format", "json"))
        return [float(row["duration_s"]) for row in rows if row["name"] == name]


def added(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def cpu(run: Recorded) -> Iterator[Checked]:
    truth = run.measured["cpu"]
    yield Checked("CPU with threads and children", truth, run.grown("run.cpu.used"), "s", "`run.cpu.used`: perf")
    both = added(run.grown("run.cpu.user"), run.grown("run.cpu.system"))
    yield Checked("the same", truth, both, "s", "`run.cpu.user` + `.system`: /proc, wait(2)")


def orphans(run: Recorded) -> Iterator[Checked]:
    truth = run.measured["cpu"]
    reason = "a daemon cannot time its own end, some 0.2 ms"
    yield Checked("CPU of 100 daemons of 20 ms", truth, run.grown("run.cpu.used"), "s", "`run.cpu.used`: perf", reason)
    both = added(run.grown("run.cpu.user"), run.grown("run.cpu.system"))
    yield Checked("the same", truth, both, "s", "`run.cpu.user` + `.system`: wait(2)", reason)


def memory(run: Recorded) -> Iterator[Checked]:
    rss, peak = run.greatest("run.memory.rss", run.measured["until"]), run.greatest("run.memory.rss_peak")
    yield Checked("memory of the process", run.measured["rss"], rss, "MiB", "`run.memory.rss`: statm, once a second")
    yield Checked("memory of a short-lived child", run.measured["peak"], peak, "MiB", "`run.memory.rss_peak`: wait(2)")


def disk(run: Recorded) -> Iterator[Checked]:
    reason = "no block device below, or the file system's own blocks"
    calls = (("written", "write"), ("read", "read"))
    for truth, call in calls:
        got = run.grown(f"run.io.{call}_syscall_bytes")
        yield Checked(f"bytes {truth} by calls", run.measured[truth], got, "MiB", f"`run.io.{call}_syscall_bytes`")
    for truth, call in calls:
        got = run.grown(f"run.io.{call}_block_bytes")
        method = f"`run.io.{call}_block_bytes`"
        yield Checked(f"bytes {truth} on the device", run.measured[truth], got, "MiB", method, reason)


def network(run: Recorded) -> Iterator[Checked]:
    got = run.grown("host.net.rx", "lo")
    reason = "the interface counts headers and acknowledgements, too" if got else "the loopback is left out"
    yield Checked("bytes received over the loopback", run.measured["received"], got, "MiB", "`host.net.rx`", reason)


def steps(run: Recorded) -> Iterator[Checked]:
    truth = run.measured
    taken, waits = run.phases("step"), run.phases("data wait")
    yield Checked("epochs", truth["epochs"], len(run.phases("epoch")), "", "phases `epoch`")
    yield Checked("steps", truth["steps"], len(taken), "", "phases `step`")
    reason = "the end of an epoch belongs to no step"
    yield Checked("time of all steps", truth["step time"], sum(taken), "s", "phases `step`", reason)
    yield Checked("data waits", truth["data wait"], sum(waits), "s", "phases `data wait`")
    rates = [value for _, value in run.points("samples_per_second")]
    mean = len(rates) / sum(1 / rate for rate in rates) if rates else None
    method = "`samples_per_second`, harmonic mean"
    yield Checked("samples per second", truth["samples per second"], mean, "1/s", method)


def values(run: Recorded) -> Iterator[Checked]:
    points = run.points("truth/value")
    yield Checked("logged values", run.measured["count"], len(points), "", "`corral.log`")
    yield Checked("their sum", run.measured["sum"], sum(value for _, value in points), "", "`corral.log`")


LOADS: dict[str, Callable[[Recorded], Iterator[Checked]]] = {
    check.__name__: check for check in (cpu, orphans, memory, disk, network, steps, values)
}


def checked(build: Path, names: list[str]) -> Iterator[Checked]:
    for name in names:
        with Home(build) as home:
            report = home.directory / "report.json"
            home.corral("run", "--quiet", sys.executable, HERE / "truth_load.py", name, report)
            yield from LOADS[name](Recorded(home, **json.loads(report.read_text())))


def table(rows: list[Checked]) -> str:
    lines = [HEADER, ["---", "---:", "---:", "---:", "---"], *(row.row() for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write_page(rows: list[Checked]) -> None:
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table(rows)}\n{rest[rest.index(END) :]}")


def measure(build: Path, docs: bool = False) -> int:
    """Returns the number of errors of more than 1 % without a reason."""
    rows = list(checked(build, list(LOADS)))
    print_rows(HEADER, [row.row() for row in rows])
    if docs:
        write_page(rows)
    return sum(1 for row in rows if row.is_large() and not row.reason)

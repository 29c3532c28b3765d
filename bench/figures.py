"""A figure with its target and its peer, and the table of them."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """The value that a figure is compared with, measured in the same run; `value` is None if this machine does not have
    it.
    """

    name: str
    value: float | None


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: str
    target: float | None = None  # at most
    peer: Peer | None = None  # in the same unit
    least: float | None = None  # a target from below

    def row(self) -> list[str]:
        target, met = "", ""
        if self.target is not None:
            target, met = f"≤ {number(self.target)} {self.unit}", "met" if self.value <= self.target else "MISSED"
        if self.least is not None:
            target, met = f"≥ {number(self.least)} {self.unit}", "met" if self.value >= self.least else "MISSED"
        ratio = ""
        if self.peer is not None and self.peer.value:
            ratio = f"{number(self.value / self.peer.value)} x {self.peer.name} ({number(self.peer.value)} {self.unit})"
        return [self.what, f"{number(self.value)} {self.unit}", target, met, ratio]


def number(value: float) -> str:
    """Three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def print_table(figures: list[Figure]) -> None:
    print_rows(["figure", "value", "target", "", "ratio"], [figure.row() for figure in figures])


def print_rows(header: list[str], rows: list[list[str]]) -> None:
    if rows:
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        for row in [header, *rows]:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(flush=True)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def cpu_seconds(pid: int) -> float:
    """CPU time of one process, its children not included, to the nanosecond."""
    cpuclock_sched = 2
    return time.clock_gettime_ns(~pid << 3 | cpuclock_sched) / 1e9


def peak_rss_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    raise ValueError(f"/proc/{pid}/status has no VmHWM")

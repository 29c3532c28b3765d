"""Prints what the processor did in each phase of the runs of study.csv, as Markdown.

Instructions per cycle, misses of the last cache and mispredicted branches per 1,000 instructions, and the share of the
cycles that waited, from `corral explain --metric run.pmu.…`. What was not counted is named, with the reason.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

COUNTERS = ("instructions", "cycles", "cache_misses", "branch_misses", "stalled_cycles")
NOT_COUNTED = "-"
PHASES = ("build", "look up", "look up popular", "scan")
HEAD = """\
| index | phase | runs | instructions per cycle | cache misses (a) | wrong branches (a) | cycles that waited (b) |
|---|---|---|---|---|---|---|"""
Rates = dict[str, float | None]


def runs_of(plan: Path) -> dict[str, list[str]]:
    runs: dict[str, list[str]] = defaultdict(list)
    lines = [line for line in plan.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        if row["Status"].startswith("FINISHED"):
            runs[row["Workload"].partition("#")[0]].append(row["Run"])
    return runs


def rates(run: str) -> tuple[dict[str, Rates], list[str]]:
    """Each phase's counts per second, and what was not counted."""
    found: dict[str, Rates] = {phase: {} for phase in PHASES}
    missing = []
    for counter in COUNTERS:
        command = ["corral", "explain", run, "--metric", f"run.pmu.{counter}", "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            missing.append(f"{counter}: {done.stderr.strip()}")
            continue
        for part in json.loads(done.stdout)["parts"]:
            if part["name"] in found:
                found[part["name"]][counter] = part["mean"]
    return found, missing


def ratio(all_rates: list[Rates], counter: str, by: str, scale: float = 1) -> str:
    pairs = [(one.get(counter), one.get(by)) for one in all_rates]
    values = [scale * above / below for above, below in pairs if above is not None and below]
    return f"{mean(values):.2f}" if values else NOT_COUNTED


def main() -> None:
    plan = Path(sys.argv[1] if len(sys.argv) > 1 else "study.csv")
    missing: set[str] = set()
    rows = []
    for workload, runs in runs_of(plan).items():
        read = [rates(run) for run in runs]
        missing.update(reason for _, reasons in read for reason in reasons)
        for phase in PHASES:
            of_phase = [found[phase] for found, _ in read]
            cells = [
                ratio(of_phase, "instructions", "cycles"),
                ratio(of_phase, "cache_misses", "instructions", 1000),
                ratio(of_phase, "branch_misses", "instructions", 1000),
                ratio(of_phase, "stalled_cycles", "cycles"),
            ]
            if any(cell != NOT_COUNTED for cell in cells):
                rows.append(f"| {workload} | {phase} | {len(runs)} | {' | '.join(cells)} |")
    if rows:
        print(HEAD, *rows, "", "(a) per 1,000 instructions, (b) share of all", sep="\n")
    if missing:
        print("\nNot counted:", *sorted(missing), sep="\n- ")


if __name__ == "__main__":
    main()

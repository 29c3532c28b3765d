"""Plans: from the file to the release of four runs, how far apart they start, the scheduler's CPU while it waits."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from figures import Figure, cpu_seconds, percentile
from home import PATIENCE_S, Home

ROUNDS = 12
RUNS = 4
WAIT_S = 10
HEADER = "Experiment,Workload,Name,File"


def write_plan(home: Home, name: str, command: str) -> Path:
    folder = home.directory / name
    folder.mkdir()
    rows = [f"bench,{name},{name}{n},{command}" for n in range(RUNS)]
    plan = folder / "plan.csv"
    plan.write_text("\n".join([HEADER, *rows]) + "\n")
    return plan


def facts(home: Home, run: str) -> dict[str, str]:
    return dict(json.loads(home.corral("show", run, "--format", "json"))["tags"])


def one_round(home: Home, number: int) -> tuple[float, float]:
    """Milliseconds from `corral run plan.csv` to the first instruction of the last of its runs, and the stored skew."""
    child = home.binary.parent / "bench" / "corral_bench_exec_clock"
    plan = write_plan(home, f"w{number}", f"sh -c '{child} > clock.$$; sleep 0.5'")
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    process = home.popen("run", "--quiet", plan)
    assert process.wait(PATIENCE_S) == 0
    clocks = [int(file.read_text()) for file in plan.parent.glob("clock.*")]
    assert len(clocks) == RUNS
    name = plan.read_text().splitlines()[1].split(",")
    run = next(cell for cell in name if len(cell) == 32)
    return (max(clocks) - began) / 1e6, float(facts(home, run)["corral.start_skew_ms"])


def waiting_share(home: Home) -> float:
    """Per cent of a core that a scheduler of four runs takes while they run."""
    plan = write_plan(home, "waits", f"sleep {WAIT_S + 5}")
    process = home.popen("run", "--quiet", plan)
    deadline = time.monotonic() + PATIENCE_S
    while plan.read_text().count("RUNNING") < RUNS and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    before = time.monotonic(), cpu_seconds(process.pid)
    time.sleep(WAIT_S)
    share = (cpu_seconds(process.pid) - before[1]) / (time.monotonic() - before[0])
    assert process.wait(PATIENCE_S) == 0
    return 100 * share


def figures(build: Path) -> list[Figure]:
    with Home(build) as home:
        home.environment["XDG_STATE_HOME"] = str(home.directory / "state")
        home.serve()
        rounds = [one_round(home, number) for number in range(ROUNDS)]
        share = waiting_share(home)
    releases = [release for release, _ in rounds]
    skews = [skew for _, skew in rounds]
    return [
        Figure(
            "four runs, from the command to the last one's first instruction, median",
            statistics.median(releases),
            "ms",
            150,
        ),
        Figure("the same, worst", max(releases), "ms"),
        Figure("first to last start, p99", percentile(skews, 0.99), "ms", 5),
        Figure("first to last start, median", statistics.median(skews), "ms"),
        Figure("scheduler while four runs run", share, "% of a core", 0.2),
    ]

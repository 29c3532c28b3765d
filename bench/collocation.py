"""Two runs on CPU sets of their own, each compared with itself alone; and interference that is planted (one core for
both, one memory bus for both), as the stored data show it."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from figures import Figure, Peer
from home import Home

LOAD = Path(__file__).with_name("collocated_load.py")
ROUNDS = 5
# Workload -> the CPU of each of its runs, and what they do.
WORKLOADS = {
    "alone-0": ([0], "cpu"),
    "alone-1": ([1], "cpu"),
    "apart": ([0, 1], "cpu"),
    "same-core": ([0, 0], "cpu"),
    "memory-alone-0": ([0], "memory"),
    "memory-alone-1": ([1], "memory"),
    "memory-apart": ([0, 1], "memory"),
}
Rates = dict[tuple[str, int], list[float]]  # workload and CPU -> a median for each run


def plan() -> str:
    rows = ["Experiment,Workload,Name,Status,Run,Collocation,Model,Params,Cpus,Repeat"]
    for workload, (cpus, kind) in WORKLOADS.items():
        rows += [f"bench,{workload},{cpu},,,-,{LOAD},kind={kind},cpus={cpu},{ROUNDS}" for cpu in cpus]
    return "\n".join(rows) + "\n"


def stored_rates(home: Home) -> Rates:
    rates: Rates = defaultdict(list)
    for run in json.loads(home.corral("ls", "runs", "--limit", "500", "--format", "json")):
        text = home.corral("export", run["id"], "--metric", "work_per_second")
        values = [float(row["value"]) for row in csv.DictReader(io.StringIO(text))]
        rates[run["workload"].partition("#")[0], int(run["name"])].append(statistics.median(values))
    return rates


def bare_rates() -> Rates:
    """The same without Corral, which is what this machine can do: its CPUs may share a core, or their host be busy."""
    rates: Rates = defaultdict(list)
    for _ in range(ROUNDS):
        for workload, (cpus, kind) in WORKLOADS.items():
            processes = [
                subprocess.Popen(
                    ["taskset", "--cpu-list", str(cpu), sys.executable, LOAD, "--kind", kind, "--bare"],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for cpu in cpus
            ]
            for cpu, process in zip(cpus, processes, strict=True):
                output, _ = process.communicate(timeout=60)
                rates[workload, cpu].append(statistics.median(map(float, output.split())))
    return rates


def share_of_alone(rates: Rates, beside: str, alone: str) -> float:
    """Percent of the rate alone on the same CPU that the slower of the two has beside the other."""
    pairs = [(rates[beside, cpu], rates[f"{alone}-{cpu}", cpu]) for cpu in set(WORKLOADS[beside][0])]
    return 100 * min(statistics.median(together) / statistics.median(own) for together, own in pairs)


def figures(build: Path) -> list[Figure]:
    if len(os.sched_getaffinity(0)) < 2:
        print("  two CPU sets need two CPUs")
        return []
    with Home(build) as home:
        (home.directory / "plan.csv").write_text(plan())
        home.environment["XDG_STATE_HOME"] = str(home.directory / "state")
        home.environment["CORRAL_LOCKS"] = str(home.directory / "locks")
        home.corral("run", home.directory / "plan.csv")
        rates = stored_rates(home)
    bare = bare_rates()

    def figure(what: str, beside: str, alone: str, **targets: float) -> Figure:
        peer = Peer("without Corral", share_of_alone(bare, beside, alone))
        return Figure(what, share_of_alone(rates, beside, alone), "% of alone", peer=peer, **targets)

    return [
        figure("two CPU-bound runs, a CPU each: the slower's rate", "apart", "alone", least=97),
        figure("the same on one CPU, planted", "same-core", "alone", target=60),
        figure("two memory-bound runs, a CPU each, planted", "memory-apart", "memory-alone"),
    ]

"""Explain of a run of 10 h: 300 series at 10 Hz and 10^6 phases, by the server's handlers in one process.

CPU time, so that other work on the machine matters little.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from figures import Figure

import store

ROUTES = {
    "explain": "`/explain`: where the time went, the steady part, the bottleneck",
    "footprint": "`/footprint`: energy, and what it was for",
    "interest": "`/interest`: series and stretches worth a look",
}


def ask(build: Path) -> dict[str, Any]:
    command = [str(build / "bench" / "corral_bench_explain")]
    if store.quick:
        command += ["--hours", "1", "--series", "50", "--steps", "24750", "--runs", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def figures(build: Path) -> list[Figure]:
    measured = ask(build)
    both = measured["explain"]["cpu_s"] + measured["footprint"]["cpu_s"]
    rows = [
        Figure("`corral explain --format json`: the first two routes, CPU", both, "s", 1.0),
        Figure("`corral explain`: all three, CPU", both + measured["interest"]["cpu_s"], "s", 1.0),
    ]
    for route, what in ROUTES.items():
        rows.append(Figure(f"{what}, CPU", measured[route]["cpu_s"], "s"))
        rows.append(Figure("  memory that it adds, the store's caches included", measured[route]["memory_mib"], "MiB"))
    rows.append(Figure("`/explain` with warm caches, memory", measured["explain_again"]["memory_mib"], "MiB", 64))
    rows.append(Figure("`/compare` of 200 runs in two groups, CPU", measured["compare"]["cpu_s"], "s", 0.3))
    return rows

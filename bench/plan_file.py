"""Reading an experiment file of 10,000 rows, and writing back what became of a workload (corral_bench_plan)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from figures import Figure


def figures(build: Path) -> list[Figure]:
    binary = build / "bench" / "corral_bench_plan"
    done = subprocess.run([binary], check=True, stdout=subprocess.PIPE, cwd=build)
    result = json.loads(done.stdout)
    return [
        Figure("plan of 10,000 rows read and checked, median", result["parse_ms"], "ms", 100),
        Figure("the same, p90", result["parse_ms_p90"], "ms"),
        Figure("three rows of it written back, synced, median", result["mark_ms"], "ms", 50),
        Figure("the same, p90", result["mark_ms_p90"], "ms"),
    ]

"""The page's list over 10,000 runs (corral_bench_runs): a page of 200, filters, words, facets and what belongs to them.

Answered by the server's handlers in one process, without HTTP; medians, and the first answer where it is dearer. Each
is also asked, in turns, by one who does not see all spaces, for the same runs.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from figures import Figure, Peer
from postgres import Postgres

import store

WHAT = {
    "page": "a page of 200, newest first",
    "page_last": "the last page",
    "columns": "a page with five columns",
    "filter": "filter by a metric and a param",
    "text": "two words",
    "choices": "two choices",
    "order": "order by a metric's minimum",
    "facets": "a page with seven facets",
    "all": "all of it at once",
    "sparklines": "200 sparklines",
    "summaries_of_page": "two metrics of 200 runs",
    "summaries_of_all": "two metrics of all runs",
    "overview": "overview of an experiment of 2,000 runs",
}
TARGETS = {"page": 50.0, "filter": 50.0}


def ask(build: Path, *flags: str) -> dict[str, Any]:
    runs = "300" if store.quick else "10000"
    command = [str(build / "bench" / "corral_bench_runs"), "--runs", runs, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def figures_of(engine: str, measured: dict[str, Any]) -> list[Figure]:
    figures = []
    for name, what in WHAT.items():
        target = TARGETS.get(name) if engine == "SQLite" else None
        all_seen = measured[f"{name}_ms"]
        figures.append(Figure(f"{engine}: {what}", all_seen, "ms", target))
        most = 1.2 * all_seen if name == "page" else None
        peer = Peer("who sees all", all_seen)
        figures.append(Figure("  beside a foreign space", measured[f"{name}_member_ms"], "ms", most, peer=peer))
        if measured[f"{name}_first_ms"] > 2 * measured[f"{name}_ms"]:
            figures.append(Figure("  the first time", measured[f"{name}_first_ms"], "ms"))
    figures.append(Figure(f"{engine}: peak memory with the filling", measured["peak_rss_mib"], "MiB"))
    return figures


def figures(build: Path) -> list[Figure]:
    all_figures = figures_of("SQLite", ask(build))
    with Postgres() as postgres:
        all_figures += figures_of("PostgreSQL", ask(build, "--store", postgres.url))
    return all_figures

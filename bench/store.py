"""Measures ingest and queries of the store (corral_bench_store), beside the goals it was built for.

`./dev bench store` takes about half an hour and 10 GB of disk in the temporary folder; with --quick a minute, at sizes
that say little about big stores.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import Figure
from postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "tests" / "fixtures" / "listeners-10min.frames.zst"


@dataclass(frozen=True)
class Size:
    ingest_s: int  # simulated
    chart_points: float
    charts: int
    cold_charts: int
    page_rows: int
    group_points: float
    small_runs: int
    live_s: int


FULL = Size(3600, 1e8, 400, 50, 36_000, 1e6, 10_000, 30)
QUICK = Size(120, 2e6, 30, 5, 3_000, 2e4, 300, 5)
quick = False  # set by run.py


def ask(build: Path, bench: str, *flags: object, **named: object) -> dict[str, Any]:
    command = [str(build / "bench" / "corral_bench_store"), bench, *map(str, flags)]
    for name, value in named.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def ingest(build: Path, size: Size) -> list[Figure]:
    mixed = ask(build, "ingest", seconds=size.ingest_s)
    training = ask(build, "ingest", seconds=size.ingest_s, runs=1, series=100, mix="training")
    hardware = ask(build, "ingest", seconds=size.ingest_s, mix="hardware")
    paced = ask(build, "ingest", seconds=min(size.ingest_s, 1000), speed=50)
    captured = ask(build, "captured", fixture=FIXTURE, copies=10)
    return [
        Figure("ingest, 4 runs x 500 series, per CPU-second", mixed["points_per_cpu_s"], "points", least=4e6),
        Figure("  on the clock", mixed["points_per_s"], "points/s"),
        Figure("  acknowledgement p50", mixed["ack_p50_ms"], "ms"),
        Figure("  acknowledgement p99", mixed["ack_p99_ms"], "ms", 150),
        Figure("  acknowledgement max", mixed["ack_max_ms"], "ms"),
        Figure("  acknowledgement p99 at 1 M points/s", paced["ack_p99_ms"], "ms", 150),
        Figure("  acknowledgement max at 1 M points/s", paced["ack_max_ms"], "ms"),
        Figure("  peak memory", mixed["peak_rss_mib"], "MiB", 256),
        Figure("  on disk, 88 % hardware", mixed["bytes_per_point"], "B/point", 1.6),
        Figure("  on disk, hardware only", hardware["bytes_per_point"], "B/point", 1.6),
        Figure("  on disk, training only", training["bytes_per_point"], "B/point", 4.5),
        Figure("  on disk, 10 min of listeners (x 10)", captured["bytes_per_point"], "B/point"),
    ]


def postgres(build: Path, size: Size) -> list[Figure]:
    """Empty, with a word why, where there is no PostgreSQL."""
    try:
        with Postgres() as server:
            options = {
                "store": server.url,
                "database_pid": server.pid,
                "database_data": server.data,
                "vacuum": server.vacuum,
            }
            mixed = ask(build, "ingest", seconds=size.ingest_s, **options)
            compact = server.compact_bytes() / mixed["points"]
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"  no figures of PostgreSQL: {error}")
        return []
    return [
        Figure("PostgreSQL: ingest, per CPU-second of both", mixed["points_per_cpu_s"], "points", least=3e6),
        Figure("  on the clock", mixed["points_per_s"], "points/s"),
        Figure("  acknowledgement p99", mixed["ack_p99_ms"], "ms", 150),
        Figure("  in the database, 88 % hardware, after VACUUM FULL", compact, "B/point", 1.8),
        Figure("  with the room of deleted rows, after VACUUM", mixed["store_bytes_per_point"], "B/point"),
    ]


def charts(build: Path, size: Size) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as work:
        store = Path(work) / "store"
        chart = ask(
            build, "chart", store=store, points=size.chart_points, charts=size.charts, cold_charts=size.cold_charts
        )
        opened = ask(build, "open", store=store)
    big = f"{size.chart_points:.0e} points"
    return [
        Figure(f"chart, 1,500 px of {big}, first answer, p50", chart["aligned_p50_ms"], "ms"),
        Figure("  p99", chart["aligned_p99_ms"], "ms", 10),
        Figure("  p99, page cache dropped, store opened anew", chart["aligned_cold_p99_ms"], "ms", 70),
        Figure("  exact p99", chart["exact_p99_ms"], "ms", 50),
        Figure("  exact p99, page cache dropped, store opened anew", chart["exact_cold_p99_ms"], "ms"),
        Figure("  peak memory", chart["peak_rss_mib"], "MiB", 256),
        Figure("opening that store", opened["open_p50_ms"], "ms", 200),
        Figure("  page cache dropped", opened["open_cold_p50_ms"], "ms", 200),
    ]


def pages(build: Path, size: Size) -> list[Figure]:
    page = ask(build, "page", rows=size.page_rows)
    group = ask(build, "group", points=size.group_points)
    small = ask(build, "small", runs=size.small_runs)
    live = ask(build, "live", seconds=size.live_s)
    runs = f"{size.small_runs:,} runs x 200 series x 100 points"
    return [
        Figure("100 charts in one request", page["page_p50_ms"], "ms", 100),
        Figure("  for the first time", page["first_p50_ms"], "ms"),
        Figure("  zoomed", page["zoomed_p50_ms"], "ms", 100),
        Figure(f"mean of 100 runs x {size.group_points:.0e} points", group["group_p50_ms"], "ms", 300),
        Figure(f"{runs}: on disk", small["bytes_per_point"], "B/point", 6),
        Figure("  list of runs", small["list_p50_ms"], "ms", 50),
        Figure("  one chart, p50", small["chart_p50_ms"], "ms", 5),
        Figure("  one chart, p99", small["chart_p99_ms"], "ms"),
        Figure("chart of a run of 5,000 series that grows at 10 Hz, p99", live["chart_p99_ms"], "ms", 10),
        Figure("  acknowledgement max", live["ack_max_ms"], "ms", 150),
    ]


def figures(build: Path) -> list[Figure]:
    size = QUICK if quick else FULL
    return [figure for part in (ingest, postgres, charts, pages) for figure in part(build, size)]

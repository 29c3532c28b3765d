"""The same generated points in Corral and in what else could hold them: 200 hardware series of 20,000 points.

Each peer's own program is in bench/peers/, with what it does and does not promise; they run one after another, on the
files of one `corral_bench_store dump`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from figures import Figure, number, print_rows

import store

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".cache" / "bench-venv" / "bin" / "python"
PEERS = ["victoria", "columnar", "mlflow_sql", "mlflow_server"]
SERIES, HZ = 200, 10
# Fact of a peer, heading, whether more is better
COLUMNS = [
    ("points_per_s", "points/s", True),
    ("points_per_cpu_s", "per CPU-s", True),
    ("bytes_per_point", "B/point", False),
    ("series_p50_ms", "one series", False),
    ("peak_rss_mib", "memory", False),
]
UNITS = {"one series": " ms", "memory": " MiB"}


def corral(build: Path, points: int) -> dict[str, Any]:
    answer = store.ask(
        build, "ingest", runs=1, series=SERIES, mix="hardware", seconds=points // SERIES // HZ, charts=50
    )
    return answer | {"peer": "Corral", "series_p50_ms": answer["chart_p50_ms"], "series_points": points // SERIES}


def peers(data: Path) -> list[dict[str, Any]]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "bench")}
    found = []
    for peer in PEERS:
        program = ROOT / "bench" / "peers" / f"{peer}.py"
        done = subprocess.run([PYTHON, program, data], env=environment, stdout=subprocess.PIPE, text=True, check=False)
        found += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0:
            found.append({"peer": peer, "skipped": f"status {done.returncode}"})
    return found


def cell(fact: str, heading: str, more: bool, row: dict[str, Any], own: dict[str, Any]) -> str:
    """The value and, in brackets, how many times better Corral is."""
    value = row.get(fact)
    if value is None:
        return ""
    text = number(value) + UNITS.get(heading, "")
    comparable = fact != "series_p50_ms" or row["series_points"] == own["series_points"]
    if row is own or not own.get(fact) or not comparable:
        return text if comparable else f"{text} for {row['series_points']:,}"
    return f"{text} ({number(own[fact] / value if more else value / own[fact])})"


def figures(build: Path) -> list[Figure]:
    """Prints a table of its own: Corral first, and how many times better it is than each."""
    points = 400_000 if store.quick else 4_000_000
    own = corral(build, points)
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as work:
        store.ask(build, "dump", points=points, series=SERIES, out=work)
        found = [own, *peers(Path(work))]
    rows = []
    for row in found:
        name = f"{row['peer']} {row.get('version', '').split(' ')[0]}".strip()
        if "skipped" in row:
            rows.append([name, f"skipped: {row['skipped']}", *[""] * (len(COLUMNS) - 1)])
        else:
            rows.append([name, *(cell(*column, row, own) for column in COLUMNS)])
    print_rows(["", *(heading for _, heading, _ in COLUMNS)], rows)
    return []

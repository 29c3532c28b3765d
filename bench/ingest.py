"""Points per second by POST /frames into the embedded store, beside one row per point in SQLite, as MLflow has it."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import time
from pathlib import Path

from figures import Figure, Peer, cpu_seconds
from home import Home

WRITERS, FRAMES = 2, 400
ROWS, ROWS_PER_COMMIT = 200_000, 40_000  # a commit holds as many points as one request


def frames_of(build: Path, place: str, writers: int, environment: dict[str, str] | None = None) -> dict[str, float]:
    command: list[str | Path] = [build / "bench" / "corral_bench_ingest", place, str(writers), str(FRAMES)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | (environment or {}))
    result: dict[str, float] = json.loads(done.stdout)
    return result


def rows_per_second(directory: Path) -> float:
    """The columns and the key of MLflow's table `metrics`, written with the durability that Corral has."""
    database = sqlite3.connect(directory / "rows.db", isolation_level=None)
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
    database.execute(
        "CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32), step BIGINT,"
        " is_nan BOOLEAN, PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan))"
    )
    began = time.perf_counter()
    for first in range(0, ROWS, ROWS_PER_COMMIT):
        rows = [
            (f"metric/{i % 100}", math.sin(i), i // 100 * 10, "0" * 32, i // 100, 0)
            for i in range(first, first + ROWS_PER_COMMIT)
        ]
        database.execute("BEGIN")
        database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.execute("COMMIT")
    elapsed = time.perf_counter() - began
    database.close()
    return ROWS / elapsed


def write_per_second(directory: Path, bytes_per_point: float) -> float:
    """The limit: the same bytes appended to a file, synchronised as often as requests are answered."""
    piece = os.urandom(int(ROWS_PER_COMMIT * bytes_per_point))
    with open(directory / "bytes", "wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(20):
            file.write(piece)
            os.fdatasync(file.fileno())
        return 20 * ROWS_PER_COMMIT / (time.perf_counter() - began)


def figures(build: Path) -> list[Figure]:
    with Home(build) as home:
        record = home.serve()
        alone = frames_of(build, record["socket"], 1)
        before = cpu_seconds(record["pid"])
        together = frames_of(build, record["socket"], WRITERS)
        cpu = cpu_seconds(record["pid"]) - before
        stored = sum(file.stat().st_size for file in home.store.glob("corral.db*"))
        rows = rows_per_second(home.directory)
        limit = write_per_second(home.directory, alone["bytes"] / alone["points"])
    points = alone["points"] + together["points"]
    by_rows = Peer("a row per point", rows)
    return [
        Figure("one writer", alone["points"] / alone["seconds"], "points/s", peer=by_rows),
        Figure(f"{WRITERS} writers", together["points"] / together["seconds"], "points/s", peer=by_rows),
        Figure(
            f"{WRITERS} writers, of the limit",
            together["points"] / together["seconds"],
            "points/s",
            peer=Peer("write + fdatasync", limit),
        ),
        Figure("CPU of the server", cpu / together["points"] * 1e6, "us/point"),
        Figure("on the wire", alone["bytes"] / alone["points"], "B/point"),
        Figure(
            "database and its log",
            stored / points,
            "B/point",
            peer=Peer("on the wire", alone["bytes"] / alone["points"]),
        ),
    ]

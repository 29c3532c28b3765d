"""`corral import` of an MLflow database of 5 M points, whose tables MLflow 3.17.2 made itself."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Figure
from home import Home
from store_peers import PYTHON

import store

# Through MLflow's own store class, so that the tables are a real server's.
MAKE_TABLES = """
import sys
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
SqlAlchemyStore(sys.argv[1], sys.argv[2]).create_experiment("training")
"""
START_MS = 1_790_000_000_000


@dataclass(frozen=True)
class Size:
    runs: int
    metrics: int
    steps: int  # points of each

    @property
    def points(self) -> int:
        return self.runs * self.metrics * self.steps


FULL = Size(50, 20, 5000)
QUICK = Size(10, 10, 500)


def make_database(path: Path, size: Size) -> None:
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"}
    command = [str(PYTHON), "-c", MAKE_TABLES, f"sqlite:///{path}", str(path.parent / "artifacts")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    (experiment,) = database.execute("SELECT experiment_id FROM experiments WHERE name = 'training'").fetchone()
    chance = random.Random(1)
    for number in range(size.runs):
        run, start = uuid.UUID(int=chance.getrandbits(128)).hex, START_MS + number * 3_600_000
        database.execute(
            "INSERT INTO runs (run_uuid, name, source_type, user_id, status, start_time, end_time, lifecycle_stage,"
            " artifact_uri, experiment_id) VALUES (?, ?, 'LOCAL', 'u', 'FINISHED', ?, ?, 'active', ?, ?)",
            (run, f"run-{number}", start, start + size.steps * 100, f"/artifacts/{run}", experiment),
        )
        rows = [(f"param_{i}", str(chance.random()), run) for i in range(10)]
        database.executemany("INSERT INTO params (key, value, run_uuid) VALUES (?, ?, ?)", rows)
        database.executemany("INSERT INTO tags (key, value, run_uuid) VALUES (?, ?, ?)", rows)
        database.executemany(
            "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, ?, 0)",
            points(run, start, size, chance),
        )
        database.commit()
    database.close()


def points(run: str, start: int, size: Size, chance: random.Random) -> Iterator[tuple[str, float, int, str, int]]:
    """Logged step by step, as a training does."""
    for step in range(size.steps):
        for metric in range(size.metrics):
            yield f"train/metric_{metric}", 1 / (step + 1) + chance.random() / 10, start + step * 100, run, step


def figures(build: Path) -> list[Figure]:
    size = QUICK if store.quick else FULL
    with Home(build) as home:
        path = home.directory / "mlflow.db"
        make_database(path, size)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        home.corral("import", str(path))
        seconds = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        home.corral("import", str(path))
        again = time.monotonic() - begun
        stored = sum(file.stat().st_size for file in home.store.glob("corral.db*"))
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [
            Figure(f"import of {size.points:,} points, end to end", size.points / seconds, "points/s", least=500e3),
            Figure("  per CPU-second", size.points / cpu, "points"),
            Figure("  again, nothing new", again, "s"),
            Figure("  the source, per point", path.stat().st_size / size.points, "B"),
            Figure("  the store, per point", stored / size.points, "B"),
        ]

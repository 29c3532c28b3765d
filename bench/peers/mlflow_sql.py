"""MLflow's tables by plain SQL, without MLflow: what its schema allows at best, in SQLite and in PostgreSQL 15.

A batch of 1,000 metrics is one transaction, as its log-batch: rows of `metrics` (primary key over six columns, an
index on the run) and an upsert of `latest_metrics`, with each database's own durable defaults.
"""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from postgres import Postgres
from support import Data, Report, main, skip, tree_cpu

POINTS = 400_000
BATCH = 1000
RUN = "0123456789abcdef0123456789abcdef"
SCHEMA = """
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value {f} NOT NULL, timestamp BIGINT NOT NULL,
  run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT 0 NOT NULL, is_nan BOOLEAN DEFAULT {no} NOT NULL,
  PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
CREATE TABLE latest_metrics (key VARCHAR(250) NOT NULL, value {f} NOT NULL, timestamp BIGINT, step BIGINT NOT NULL,
  is_nan BOOLEAN NOT NULL, run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
CREATE INDEX index_latest_metrics_run_uuid ON latest_metrics (run_uuid);
"""
LATEST = """INSERT INTO latest_metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ({v})
ON CONFLICT (key, run_uuid) DO UPDATE
SET value = excluded.value, timestamp = excluded.timestamp, step = excluded.step"""
HISTORY = "SELECT timestamp, step, value FROM metrics WHERE key = {v} AND run_uuid = {v} ORDER BY timestamp, step"

Row = tuple[str, float, int, str, int, Any]


def batches(data: Data, no: Any) -> Iterator[list[Row]]:
    """In order of time, as a run logs."""
    rows: list[Row] = []
    for step, time_ms in enumerate((data.times // 1_000_000).tolist()):
        rows += [(n, v, time_ms, RUN, step, no) for n, v in zip(data.names, data.values[:, step].tolist(), strict=True)]
        while len(rows) >= BATCH:
            yield rows[:BATCH]
            rows = rows[BATCH:]
    if rows:
        yield rows


def newest(rows: list[Row]) -> list[Row]:
    return list({row[0]: row for row in rows}.values())


def own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def sqlite(data: Data) -> None:
    work = list(batches(data, 0))
    with tempfile.TemporaryDirectory() as directory:
        database = sqlite3.connect(Path(directory) / "mlflow.db", isolation_level=None)
        database.executescript(SCHEMA.format(f="FLOAT", no=0))
        report = Report("MLflow's schema in SQLite", data.points, {"version": sqlite3.sqlite_version})
        began, cpu = time.perf_counter(), own_cpu()
        for rows in work:
            database.execute("BEGIN")
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.executemany(LATEST.format(v="?, ?, ?, ?, ?, ?"), newest(rows))
            database.execute("COMMIT")
        report.wrote(time.perf_counter() - began, own_cpu() - cpu)
        query = HISTORY.format(v="?")
        report.query("series", lambda i: database.execute(query, (data.names[i % len(data.names)], RUN)).fetchall())
        report.facts["series_points"] = len(data.times)
        database.close()
        report.size(Path(directory))
        report.print()


def postgres(data: Data, copy: bool) -> None:
    import psycopg

    work = list(batches(data, False))
    with Postgres() as server, psycopg.connect(server.address) as database, database.cursor() as cursor:
        cursor.execute(SCHEMA.format(f="DOUBLE PRECISION", no="FALSE"))
        database.commit()
        way = "COPY" if copy else "multi-row INSERT"
        version = database.info.parameter_status("server_version")
        report = Report(f"MLflow's schema in PostgreSQL, {way}", data.points, {"version": version})
        began, cpu = time.perf_counter(), tree_cpu(server.pid)
        for rows in work:
            if copy:
                with cursor.copy("COPY metrics (key, value, timestamp, run_uuid, step, is_nan) FROM STDIN") as stream:
                    for row in rows:
                        stream.write_row(row)
            else:
                values = ", ".join(["(%s, %s, %s, %s, %s, %s)"] * len(rows))
                cursor.execute(
                    f"INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES {values}",
                    [field for row in rows for field in row],
                )
            latest = [field for row in newest(rows) for field in row]
            many = "), (".join(["%s, %s, %s, %s, %s, %s"] * (len(latest) // 6))
            cursor.execute(LATEST.format(v=many), latest)
            database.commit()
        report.wrote(time.perf_counter() - began, tree_cpu(server.pid) - cpu)
        database.autocommit = True
        cursor.execute("CHECKPOINT")
        report.facts["bytes_per_point"] = (
            cursor.execute(
                "SELECT pg_total_relation_size('metrics') + pg_total_relation_size('latest_metrics')"
            ).fetchone()[0]
            / data.points
        )
        query = HISTORY.format(v="%s")
        report.query("series", lambda i: cursor.execute(query, (data.names[i % len(data.names)], RUN)).fetchall())
        report.facts["series_points"] = len(data.times)
        report.print()


def measure(data: Data) -> None:
    data = data.first(POINTS)
    sqlite(data)
    for copy in (False, True):
        try:
            postgres(data, copy)
        except (ImportError, FileNotFoundError, subprocess.CalledProcessError) as error:
            skip("MLflow's schema in PostgreSQL", error)


if __name__ == "__main__":
    main("MLflow's schema", measure)

"""`corral store`: looking after a store, from the command line."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres import Postgres, programs
from support import Corral, until

LOGS = """
    import corral
    for step in range(20_000):
        corral.log({"loss": 1 / (step + 1)}, step=step)
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    bin_ = programs()
    if bin_ is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(bin_)
    server.sql("CREATE ROLE keeper LOGIN")
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def stored(corral: Corral) -> Corral:
    """A home whose store holds one run and is not served."""
    corral("run", "--interval", "200ms", corral.script("train.py", LOGS))
    corral.wait_ended()
    corral("serve", "--stop")
    return corral


def tables(path: Path) -> dict[str, int]:
    with sqlite3.connect(path) as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {n: db.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for n in names if not n.startswith("sqlite")}


def checked(corral: Corral, *arguments: str | Path, status: int = 0) -> Any:
    return json.loads(corral("store", "check", "--format", "json", *arguments, status=status).stdout)


def test_check_and_stats_beside_a_server(stored: Corral) -> None:
    stored.serve()
    report = checked(stored)
    assert (report["ok"], report["findings"], report["read"]["runs"]) == (True, [], 1), report
    stats = json.loads(stored("store", "stats", "--format", "json").stdout)
    assert stats["points"] > 20_000
    assert stats["runs"] == 1
    assert [r["id"] for r in stats["biggest_runs"]] == [stored.runs()[0]["id"]]
    assert {t["bytes"] is None for t in stats["tables"] if t["table"] in ("runs", "meta")} == {True}
    assert b"all is well" in stored("store", "check").stdout
    for verb in (["rebuild"], ["gc"], ["prune", "--older-than", "1d"]):
        refused = stored("store", *verb, status=1).stderr.decode()
        assert f"pid {stored.server_pid()}" in refused, refused
        assert "corral serve --stop" in refused, refused


def test_damage_is_named_with_the_run_that_it_touches(stored: Corral) -> None:
    path = stored.store / "corral.db"

    def batch() -> tuple[str, int, bytes] | None:
        """A row of a run that has just ended: on a slow machine its points are sealed already."""
        stored("run", "--quiet", "--no-listeners", "true")
        run = stored.wait_ended()["id"]
        stored("serve", "--stop")
        with sqlite3.connect(path) as db:
            found = db.execute("SELECT id, frame FROM batches ORDER BY id DESC LIMIT 1").fetchone()
        return (run, *found) if found else None

    run, row, frame = until(batch, "a batch is not sealed yet")
    with sqlite3.connect(path) as db:
        damaged = bytearray(frame)
        damaged[len(frame) // 2] ^= 1
        db.execute("UPDATE batches SET frame = ? WHERE id = ?", (bytes(damaged), row))
    report = checked(stored, status=1)
    assert [f["table"] for f in report["findings"]] == ["batches"]
    assert report["findings"][0]["runs"] == [run]
    assert f"touches run {run}".encode() in stored("store", "check", status=1).stdout
    with sqlite3.connect(path) as db:
        db.execute("UPDATE batches SET frame = ? WHERE id = ?", (frame, row))
    stored("store", "rebuild")
    assert checked(stored)["ok"]


def test_a_backup_is_whole_overwrites_nothing_and_comes_back(stored: Corral) -> None:
    backup = stored.home / "monday.corral"
    points = stored.points(metric="loss")
    stored("store", "backup", backup)  # the server of points() writes
    assert checked(stored, "--store", backup)["ok"]
    refused = stored("store", "backup", backup, status=1).stderr.decode()
    assert "never overwrites" in refused, refused
    assert [p.name for p in stored.home.glob("monday*")] == ["monday.corral"]
    other = stored.home / "other"
    stored("store", "load", backup, "--store", other)
    copy = tables(other / "corral.db")
    assert copy == tables(backup)
    assert copy["runs"] == 1
    assert "holds data already" in stored("store", "load", backup, "--store", other, status=1).stderr.decode()
    stored("serve", "--stop")
    stored.environment["CORRAL_STORE"] = str(other)
    assert stored.points(metric="loss") == points
    stored("serve", "--stop")


def test_an_interrupted_migration_is_no_store_and_goes_on(stored: Corral, database: Postgres) -> None:
    name = f"s_{os.urandom(4).hex()}"
    database.sql(f"CREATE DATABASE {name} OWNER keeper")
    url = database.url("keeper", name)
    killed = stored.start("store", "migrate", stored.store, url)
    until(lambda: "t" in database.sql("SELECT to_regclass('logs') IS NOT NULL", name), "tables are there")
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    def goes_on() -> bool:
        # It refuses a copy that was finished before the kill, and files that the database still holds.
        stored("store", "migrate", stored.store, url, status=None)
        return stored("store", "check", "--format", "json", "--store", url, status=None).returncode == 0

    until(goes_on, "the migration goes on")
    assert checked(stored, "--store", url)["ok"]
    assert int(database.sql("SELECT count(*) FROM runs", name)) == 1
    back = stored.home / "back"
    stored("store", "migrate", url, back)
    assert tables(back / "corral.db") == tables(stored.store / "corral.db")
    backup = stored.home / "of-database.corral"
    stored("store", "backup", "--store", url, backup)
    assert tables(backup) == tables(back / "corral.db")


def test_errors_say_what_to_do(stored: Corral) -> None:
    for verb in (["check"], ["stats"], ["rebuild"], ["gc"], ["backup", str(stored.home / "x")]):
        missing = stored("store", *verb, "--store", stored.home / "nothing", status=1).stderr.decode()
        assert "there is no store at" in missing, missing
    assert not (stored.home / "nothing").exists()
    backup = stored.home / "away" / "x"
    assert "there is no directory" in stored("store", "backup", backup, status=1).stderr.decode()
    assert not backup.parent.exists()
    assert "is a directory" in stored("store", "load", stored.store, status=2).stderr.decode()
    text = stored.home / "notes.txt"
    text.write_text("no database" * 1000)
    assert "is not a store" in stored("store", "check", "--store", text, status=1).stderr.decode()
    with sqlite3.connect(stored.store / "corral.db") as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
    assert "newer Corral" in stored("store", "check", status=1).stderr.decode()
    assert "did you mean 'check'" in stored("store", "chekc", status=2).stderr.decode()
    assert "--older-than" in stored("store", "prune", status=2).stderr.decode()
    assert "greater than 0" in stored("store", "prune", "--older-than", "0", status=2).stderr.decode()
    assert "greater than 0" in stored("run", "--max-time", "0", "true", status=2).stderr.decode()


def test_prune_takes_old_runs_and_gc_gives_the_space_back(stored: Corral) -> None:
    run = stored.runs()[0]["id"]
    stored("serve", "--stop")
    assert run in stored("store", "prune", "--keep-bytes", "0", "--dry-run").stdout.decode()
    assert len(stored.runs()) == 1
    stored("serve", "--stop")
    said = stored("store", "prune", "--keep-bytes", "0").stdout.decode()
    assert run in said
    assert "removed 1 run with " in said
    stored("store", "gc")
    assert checked(stored)["read"]["runs"] == 0
    assert tables(stored.store / "corral.db")["logs"] == 0

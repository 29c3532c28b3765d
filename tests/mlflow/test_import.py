"""`corral import` of databases that real MLflow releases wrote: their clients find the same in both."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import BINARY, ROOT, Corral, until

PROGRAMS = Path(__file__).parent / "importing"
VERSIONS = {"2.22.5": ROOT / ".venv-mlflow2", "3.17.2": ROOT / ".venv-mlflow3"}
LIMIT_S = 120


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[Corral]:
    runtime = Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(tmp_path / "corral", runtime)
    yield corral
    corral.close()
    shutil.rmtree(runtime, ignore_errors=True)


def client(program: str, version: str, uri: str, home: Path) -> str:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GIT_PYTHON_REFRESH": "quiet",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": uri,
    }
    command = [str(VERSIONS[version] / "bin" / "python"), "-P", str(PROGRAMS / f"{program}.py")]
    done = subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def take_in(corral: Corral, *arguments: str) -> str:
    done = subprocess.run(
        [BINARY, "import", *arguments], env=corral.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told_by(corral: Corral, version: str, home: Path) -> Any:
    corral.serve("--listen", "127.0.0.1:0")
    return json.loads(client("tell", version, corral.url(), home))


@pytest.fixture(scope="module", params=list(VERSIONS))
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A release, and the folder of the database that it made."""
    home = tmp_path_factory.mktemp(f"mlflow-{request.param}")
    client("make", request.param, f"sqlite:///{home}/mlflow.db", home)
    return request.param, home


def test_the_client_finds_the_same(corral: Corral, source: tuple[str, Path]) -> None:
    version, home = source
    said = take_in(corral, str(home / "mlflow.db"))
    assert "verified by count" in said
    wanted = json.loads(client("tell", version, f"sqlite:///{home}/mlflow.db", home))
    found = told_by(corral, version, home)
    assert found.keys() == wanted.keys()
    # That experiment is the store's own.
    assert found["experiments"]["0"][3] == "mlflow-artifacts:/0"
    wanted["experiments"]["0"][3] = found["experiments"]["0"][3]
    for kind in wanted:
        assert found[kind] == wanted[kind], kind


def test_a_second_import_adds_nothing(corral: Corral, source: tuple[str, Path]) -> None:
    _, home = source
    take_in(corral, str(home / "mlflow.db"))
    said = take_in(corral, f"sqlite:///{home}/mlflow.db")
    assert "0 points imported, verified by count" in said
    assert {line.split()[-2] for line in said.splitlines() if line.endswith(" new")} == {"0"}


def test_what_is_missing_is_named(corral: Corral, source: tuple[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    shutil.copy(source[1] / "mlflow.db", path)
    with sqlite3.connect(path) as database:
        database.execute(
            "INSERT INTO latest_metrics (key, value, timestamp, step, is_nan, run_uuid)"
            " SELECT 'pruned', 1, 5, 5, 0, run_uuid FROM runs WHERE name = 'failed'"
        )
    done = subprocess.run([BINARY, "import", path], env=corral.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    different = [line for line in done.stdout.splitlines() if line.endswith("DIFFERENT")]
    assert [line.split("  ")[1] for line in different] == ["latest values"]
    assert "missing: pruned of run " in done.stdout
    assert "and NOT all is there" in done.stdout


def test_spans_become_phases_of_their_run(corral: Corral, source: tuple[str, Path]) -> None:
    version, home = source
    if version.startswith("2."):
        pytest.skip("its spans are files")
    said = take_in(corral, str(home / "mlflow.db"))
    assert re.search(r"^  spans +2 in the source, +2 here, +2 new$", said, re.MULTILINE)
    with sqlite3.connect(home / "mlflow.db") as database:
        (run,) = database.execute("SELECT run_uuid FROM runs WHERE name = 'parent'").fetchone()
    corral.serve("--listen", "127.0.0.1:0")
    with urllib.request.urlopen(f"{corral.url()}/api/corral/v1/runs/{run}/phases") as answer:
        phases = json.load(answer)["phases"]
    assert sorted((p["name"], p["type"], p["lane"]) for p in phases) == [
        ("inner", "trace/tool", "traces"),
        ("traced", "trace", "traces"),
    ]


def test_artifacts_are_copied(corral: Corral, source: tuple[str, Path]) -> None:
    version, home = source
    said = take_in(corral, str(home / "mlflow.db"), "--copy-artifacts")
    assert "artifacts copied" in said
    found = told_by(corral, version, home)
    (run,) = (run for run, told in found["runs"].items() if told["info"][0] == "parent")
    assert found["runs"][run]["uri"].startswith("mlflow-artifacts:/")
    with urllib.request.urlopen(f"{corral.url()}/get-artifact?run_uuid={run}&path=notes/hello.txt") as answer:
        assert answer.read() == b"hello"


def test_artifacts_that_are_not_copied_fail_the_command(
    corral: Corral, source: tuple[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "served.db"
    shutil.copy(source[1] / "mlflow.db", path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET artifact_uri = 'mlflow-artifacts:/0/' || run_uuid || '/artifacts'")
    command = [str(BINARY), "import", str(path), "--copy-artifacts"]
    done = subprocess.run(command, env=corral.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    assert done.stdout.count("--artifacts-from") == 1, done.stdout
    assert "verified by count, but artifacts are missing" in done.stdout
    (tmp_path / "old").mkdir()
    take_in(corral, str(path), "--copy-artifacts", "--artifacts-from", str(tmp_path / "old"))


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns the modification time and size of all files in a folder."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        info = path.stat()
        found[str(path)] = (info.st_mtime_ns, 0 if path.is_dir() else info.st_size)
    return found


def test_its_source_is_only_read(corral: Corral, source: tuple[str, Path], tmp_path: Path) -> None:
    """Also where nothing can be written, and in SQLite's WAL mode."""
    _, original = source
    home = tmp_path / "source"
    shutil.copytree(original, home)
    with sqlite3.connect(home / "mlflow.db") as database:
        database.execute("PRAGMA journal_mode = WAL")
        for table, column in (("runs", "artifact_uri"), ("experiments", "artifact_location")):
            database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (str(original), str(home)))
    database.close()
    before = contents(home)
    command = [str(BINARY), "import", str(home / "mlflow.db"), "--copy-artifacts"]
    if os.geteuid() == 0:  # permissions do not stop root
        read_only = 'mount --bind -o ro "$0" "$0" && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", read_only, str(home), *command]
    else:
        for path in [home, *home.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)
    done = subprocess.run(command, env=corral.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[1-9]\d* artifacts copied", done.stdout), done.stdout
    assert contents(home) == before


def test_killed_it_goes_on(corral: Corral, source: tuple[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "big.db"
    shutil.copy(source[1] / "mlflow.db", path)
    points = 2_000_000
    with sqlite3.connect(path) as database:
        (run,) = database.execute("SELECT run_uuid FROM runs WHERE name = 'failed'").fetchone()
        database.execute(
            "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) WITH RECURSIVE n(i) AS (SELECT 0 UNION"
            " ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
            " SELECT 'm' || (i % 10), random() / 7.0, 1700000000000 + i, ?, i, 0 FROM n",
            (points, run),
        )
    store = Path(corral.environment["CORRAL_STORE"])
    process = subprocess.Popen([BINARY, "import", path], env=corral.environment, stdout=subprocess.DEVNULL)
    until(lambda: database_bytes(store) > 3_000_000 or process.poll() is not None, "points are stored")
    process.kill()
    assert process.wait() < 0, "it was too fast to be killed"
    said = take_in(corral, str(path))
    imported = int(said.splitlines()[-1].split(": ")[1].split()[0])
    assert 0 < imported < points
    assert f"{points + 1007} in the source" in said


def database_bytes(store: Path) -> int:
    """Size of the database with its journal and log, which SQLite removes at any moment."""
    total = 0
    for file in store.glob("corral.db*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total

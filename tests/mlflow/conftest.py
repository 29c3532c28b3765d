from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from peer import Peer
from postgres import Postgres, programs
from s3 import BUCKET, CheckedServer
from support import BINARY, Corral

FILES, CLOUD = "files", "cloud"  # SQLite and a directory; PostgreSQL and S3


@dataclass(frozen=True)
class Server:
    url: str
    home: Path  # programs that use it may write here
    storage: str
    pid: int = 0  # 0: MLflow's own


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--peer", action="store_true", help="the tests of clients run against MLflow's own server")


def pytest_report_header() -> str:
    return f"corral: {BINARY}"


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """MLflow's own server; one for all tests of a worker, because it takes long to start."""
    peer = Peer(tmp_path_factory.mktemp("peer"))
    yield peer
    peer.close()


@pytest.fixture(scope="session")
def database() -> Iterator[Postgres]:
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(found)
    yield server
    server.close()


@pytest.fixture(scope="session")
def objects() -> Iterator[CheckedServer]:
    server = CheckedServer()
    yield server
    server.close()


@contextmanager
def serving(storage: str, home: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A Corral with a fresh store of that kind, which serves."""
    runtime = Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(home, runtime)
    arguments = ["--listen", "127.0.0.1:0"]
    if storage == CLOUD:
        arguments += to_cloud(corral, request.getfixturevalue("database"), request.getfixturevalue("objects"))
    try:
        process = corral.serve(*arguments)
        yield Server(corral.url(), home, storage, process.pid)
    finally:
        corral.close()
        shutil.rmtree(runtime, ignore_errors=True)


def to_cloud(corral: Corral, database: Postgres, objects: CheckedServer) -> list[str]:
    """A new database and a new prefix in the bucket; the arguments of `serve` that name the latter."""
    name = f"t_{os.urandom(4).hex()}"
    database.sql(f"CREATE DATABASE {name}")
    url = database.url("postgres", name)
    corral.store = corral.home / "state/corral/databases" / hashlib.sha256(url.encode()).hexdigest()[:16]
    corral.environment |= {"CORRAL_STORE": url} | objects.environment
    return ["--artifacts", f"s3://{BUCKET}/{name}"]


@pytest.fixture(scope="session", params=[FILES, CLOUD])
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for tests that only read what all of them sent."""
    with serving(request.param, tmp_path_factory.mktemp(request.param), request) as server:
        yield server


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own on the storage that the test names, or with --peer MLflow's."""
    if request.config.getoption("--peer"):
        yield Server(request.getfixturevalue("peer").url, tmp_path, "peer")
        return
    with serving(request.param, tmp_path, request) as server:
        yield server

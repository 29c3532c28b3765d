"""Servers of one database that were told different places for artifacts say so."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Postgres
from support import Corral


@pytest.fixture
def url(database: Postgres) -> str:
    name = f"t_{os.urandom(4).hex()}"
    database.sql(f"CREATE DATABASE {name}")
    return database.url("postgres", name)


@pytest.fixture
def hosts(tmp_path: Path, url: str) -> Iterator[list[Corral]]:
    """Two hosts of one database."""
    runtimes = [Path(tempfile.mkdtemp(prefix="corral-")) for _ in range(2)]
    hosts = [Corral(tmp_path / f"host{number}", runtime) for number, runtime in enumerate(runtimes)]
    for host in hosts:
        host.home.mkdir()
        host.store = host.home / "state/corral/databases" / hashlib.sha256(url.encode()).hexdigest()[:16]
        host.environment |= {"CORRAL_STORE": url}
    yield hosts
    for host, runtime in zip(hosts, runtimes, strict=True):
        host.close()
        shutil.rmtree(runtime, ignore_errors=True)


def said_by(host: Corral, artifacts: Path) -> str:
    """Returns the standard error of a server from its start to its end."""
    process = host.serve("--listen", "127.0.0.1:0", "--artifacts", artifacts, stderr=subprocess.PIPE)
    process.terminate()
    return process.communicate()[1].decode()


def test_a_server_with_another_place_says_where_the_files_are(hosts: list[Corral], tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    assert "artifacts" not in said_by(hosts[0], shared)
    assert "artifacts" not in said_by(hosts[1], shared)
    said = said_by(hosts[1], own)
    assert f":{own}, but those of its database lie at " in said
    assert f":{shared}: files that were" in said
    # A copy of the files includes the mark.
    shutil.copytree(shared, own, dirs_exist_ok=True)
    assert "artifacts" not in said_by(hosts[1], own)

"""A store on PostgreSQL: runs, several servers on one database, a database that goes away, passwords."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from postgres import Postgres, programs
from support import PATIENCE, Corral, alive, check_steps, until

PASSWORD = "s%rp/ise"
ENCODED = "s%25rp%2Fise"


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    bin_ = programs()
    if bin_ is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(bin_)
    server.sql(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
    try:
        yield server
    finally:
        server.close()


class Nodes:
    """Homes whose store is the same new database, each with a server of its own."""

    def __init__(self, server: Postgres, root: Path) -> None:
        self.name = f"t_{os.urandom(4).hex()}"
        server.sql(f"CREATE DATABASE {self.name} OWNER guarded")
        self.url = server.url("guarded", self.name)
        self._root = root
        self._nodes: list[Corral] = []
        self._runtimes: list[Path] = []

    def new(self) -> Corral:
        home = self._root / f"node{len(self._nodes)}"
        home.mkdir()
        self._runtimes.append(Path(tempfile.mkdtemp(prefix="corral-")))
        corral = Corral(home, self._runtimes[-1])
        corral.use_database(self.url)
        corral.environment["PGPASSWORD"] = PASSWORD
        self._nodes.append(corral)
        return corral

    def close(self) -> None:
        for node in self._nodes:
            node.close()
        for runtime in self._runtimes:
            shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def nodes(database: Postgres, tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(database, tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_ready_says_whether_the_database_takes_changes(database: Postgres, nodes: Nodes) -> None:
    node = nodes.new()
    node.serve()

    def answers(path: str, status: int) -> bool:
        with closing(node.connection()) as connection:
            connection.request("GET", path)
            return connection.getresponse().status == status

    assert answers("/ready", 200)
    database.stop_at_once()
    until(lambda: answers("/ready", 503), "the server is not ready")
    assert answers("/health", 200)
    database.start()
    until(lambda: answers("/ready", 200), "the server is ready again")


def test_every_node_answers_for_every_run(nodes: Nodes) -> None:
    one, two = nodes.new(), nodes.new()
    counter = one.counter()
    run = one.start("run", "--no-listeners", "--name", "first", *counter.program(10_000_000, burst=20))
    until(lambda: counter.returned > 200, "it logs")

    def live() -> bool:
        done = two("export", "first", "--metric", "x", status=None)
        return done.returncode == 0 and len(done.stdout.splitlines()) > 100

    until(live, "the other node shows the run while it goes on")
    two("run", "--no-listeners", "--name", "second", "true")
    assert one.server_pid() != two.server_pid()
    # A run that one node began, the other continues.
    one.kill_server()
    os.kill(counter.pid, signal.SIGKILL)
    run.communicate(timeout=120)
    for node in (one, two):
        until(lambda node=node: node("ls", "runs", status=None).returncode == 0, "its server answers")  # type: ignore[misc]
        node.wait_spool_empty()
    for node in (one, two):
        check_steps(node.points("first", "x"), counter.returned, in_flight=1)
        assert {r["name"]: r["status"] for r in node.runs()} == {"first": "failed", "second": "finished"}


def test_a_database_that_fails_loses_nothing(nodes: Nodes, database: Postgres) -> None:
    corral = nodes.new()
    counter = corral.counter()
    run = corral.start("run", "--no-listeners", "--name", "run", *counter.program(10_000_000, burst=20))
    until(lambda: counter.returned > 0, "it logs")
    until(corral.record, "its server is there")

    def stored() -> int:
        return int(database.sql("SELECT coalesce(sum(durable_seq), 0) FROM sessions", nodes.name))

    for _ in range(4):
        before = stored()
        until(lambda before=before: stored() > before, "data arrives")  # type: ignore[misc]
        database.stop_at_once()
        logged = counter.returned
        until(lambda logged=logged: counter.returned > logged + 100, "the training goes on")  # type: ignore[misc]
        database.start()
    os.kill(counter.pid, signal.SIGKILL)
    run.communicate(timeout=120)
    corral.wait_spool_empty()
    check_steps(corral.points("run", "x"), counter.returned, in_flight=1)


def test_what_needs_the_store_alone_is_refused_beside_another_nodes_server(nodes: Nodes, database: Postgres) -> None:
    one, two = nodes.new(), nodes.new()
    one("run", "--no-listeners", "true")
    until(one.server_pid, "its server is there")
    for verb in ("gc", "rebuild"):
        refused = two("store", verb, status=1).stderr.decode()
        for part in ("in use", "pid ", "corral serve"):
            assert part in refused, refused
    assert b"stopped" in one("serve", "--stop").stdout
    for verb in ("gc", "rebuild"):
        two("store", verb)


def test_a_server_without_its_database_is_heard_at_once(nodes: Nodes, database: Postgres) -> None:
    corral = nodes.new()
    pid = corral.serve().pid
    corral("run", "--no-listeners", "true")
    database.stop_at_once()
    try:
        began = time.monotonic()
        said = [corral(*verb, status=1).stderr.decode() for verb in (["ls", "runs"], ["show", "@1"], ["rm", "@1"])]
        assert time.monotonic() - began < PATIENCE, said
        for text in said:
            assert "not as a Corral server" not in text, said
            assert "connect" in text, said
        assert corral.server_pid() == pid
    finally:
        database.start()


def test_few_connections_are_shared(nodes: Nodes, database: Postgres) -> None:
    corral = nodes.new()
    corral("run", "--no-listeners", "true")
    assert b"stopped" in corral("serve", "--stop").stdout

    def ask(_: int) -> int:
        with urllib.request.urlopen(f"{url}/api/corral/v1/runs") as answer:
            return int(answer.status)

    database.sql("ALTER ROLE guarded CONNECTION LIMIT 3")
    try:
        corral.serve()
        url = corral.url()
        with ThreadPoolExecutor(16) as pool:
            assert set(pool.map(ask, range(400))) == {200}
    finally:
        database.sql("ALTER ROLE guarded CONNECTION LIMIT -1")


def test_no_password_where_others_could_read_it(nodes: Nodes) -> None:
    corral = nodes.new()
    del corral.environment["PGPASSWORD"]
    del corral.environment["CORRAL_STORE"]
    url = nodes.url.replace("guarded@", f"guarded:{ENCODED}@")
    counter = corral.counter()
    run = corral.start("run", "--no-listeners", "--store", url, *counter.program(10_000_000, burst=20))
    until(lambda: counter.returned > 0, "it logs")
    server = until(corral.server_pid, "its server is there")
    for pid in (run.pid, server):
        shown = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"corral" in shown
        assert ENCODED.encode() not in shown
    os.kill(counter.pid, signal.SIGKILL)
    _, said = run.communicate(timeout=120)
    assert ENCODED.encode() not in said
    for path in corral.home.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # the spool of a finished run goes
            text = path.read_bytes() if path.is_file() else b""
            assert ENCODED.encode() not in text, path
            assert PASSWORD.encode() not in text, path
    assert b"stopped" in corral("serve", "--stop", "--store", url).stdout
    until(lambda: not alive(server), "its process has ended")


def test_what_is_wrong_is_said(nodes: Nodes, database: Postgres) -> None:
    corral = nodes.new()
    wrong = corral("serve", env={"PGPASSWORD": "no"}, status=1).stderr.decode()
    assert "password authentication failed" in wrong, wrong
    assert "PGPASSWORD" in wrong, wrong
    missing = corral("serve", "--store", database.url("postgres", "nowhere"), status=1).stderr.decode()
    assert "createdb" in missing, missing
    other = corral("serve", "--store", "mysql://u:secret@h/db", status=None)
    assert other.returncode != 0
    assert b"secret" not in other.stderr
    # A run is recorded all the same and waits in the spool.
    corral("run", "--no-listeners", "true", env={"PGPASSWORD": "no"}, seconds=120)
    assert len(corral.spooled()) == 1
    corral("run", "--no-listeners", "true")
    corral.wait_spool_empty()
    assert len(corral.runs()) == 2


def test_charts_from_a_replica(nodes: Nodes) -> None:
    """Any PostgreSQL that has the tables will do for the test: the same one."""
    corral = nodes.new()
    corral("run", "--no-listeners", "true")
    assert b"stopped" in corral("serve", "--stop").stdout
    corral.serve("--read-store", nodes.url)
    assert len(corral.runs()) == 1
    assert b"--read-store" in corral("serve", "--read-store", nodes.url, "--store", corral.home / "d", status=2).stderr


def test_a_database_that_was_put_back_refuses_nothing_and_has_one_gap(nodes: Nodes, database: Postgres) -> None:
    """It is as it was when the run began: series were declared in frames that are stored and deleted by then."""
    node = nodes.new()
    code = """
        import os, time
        os.mkdir("ready")
        while not os.path.exists("end"):
            if os.path.exists("print"):
                os.remove("print")
                for _ in range(8):
                    print(os.urandom(512 << 10).hex(), flush=True)
            time.sleep(0.01)
    """
    options = ("--quiet", "--interval", "50ms", "--listeners", "proc,tree", "--name", "r")
    run = node.start("run", *options, node.script("prints.py", code), stdout=subprocess.DEVNULL)
    until(lambda: (node.home / "ready").exists() and node.runs(), "the run is known")
    dump = database.dump(nodes.name)
    until(
        lambda: node("export", "r", "--metric", "host.memory.used", status=None).stdout.count(b"\n") > 5,
        "it is sampled",
    )
    (node.home / "print").touch()
    (directory,) = node.spooled()
    until(lambda: not (directory / f"{1:012}.frames").exists(), "the first frames are stored and deleted")
    # Its supervisor starts no server while the tables are made.
    os.kill(run.pid, signal.SIGSTOP)
    node.kill_server()
    database.put_back(nodes.name, dump, "guarded")
    os.kill(run.pid, signal.SIGCONT)
    put_back = time.time_ns()

    def newest(metric: str) -> int:
        done = node("export", "r", "--metric", metric, status=None)
        lines = done.stdout.splitlines()[1:]
        return int(lines[-1].split(b",")[2]) if done.returncode == 0 and lines else 0

    for metric in ("host.memory.used", "run.memory.rss"):
        until(lambda metric=metric: newest(metric) > put_back, f"{metric} goes on")  # type: ignore[misc]
    (node.home / "end").touch()
    assert run.wait(60) == 0
    node.wait_spool_empty()
    assert node.wait_ended("r")["status"] == "finished"
    assert not list(node.spool.glob("refused-*"))
    told = [e["name"] for e in node.events("r") if e["origin"] == "corral"]
    assert sum("lost what it had acknowledged" in name for name in told) == 1, told
    assert not any("refused" in name for name in told), told

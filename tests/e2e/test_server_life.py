"""The store's server: found or started by a run, one per store, gone when idle, replaced when killed; or none."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support import Corral, alive, check_steps, until

QUICK = ("run", "--no-listeners")


def stop(corral: Corral) -> None:
    assert corral("serve", "--stop").stdout == b"stopped\n"
    assert corral.server_pid() is None


def test_started_by_a_run_found_by_the_next(corral: Corral) -> None:
    corral(*QUICK, "true")
    pid = corral.server_pid()
    assert pid is not None
    assert os.getsid(pid) == pid
    assert os.sched_getscheduler(pid) == os.SCHED_IDLE
    corral(*QUICK, "true")
    assert corral.server_pid() == pid
    assert len(corral.runs()) == 2
    stop(corral)
    assert corral("serve", "--stop", status=1).stderr == f"corral serve: no server runs for {corral.store}\n".encode()


@contextmanager
def busy_port() -> Iterator[int]:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield int(listening.getsockname()[1])


def test_the_port_is_remembered(corral: Corral) -> None:
    corral(*QUICK, "true")
    port = corral.url().rpartition(":")[2]
    assert 5000 <= int(port) <= 5099
    assert (corral.store / "port").read_text() == f"{port}\n"
    stop(corral)
    with busy_port() as free:
        pass
    (corral.store / "port").write_text(f"{free}\n")
    assert len(corral.runs()) == 1
    assert corral.url() == f"http://127.0.0.1:{free}"
    stop(corral)
    assert len(corral.runs()) == 1
    assert corral.url() == f"http://127.0.0.1:{free}"


def test_a_remembered_port_that_is_busy_is_given_up(corral: Corral) -> None:
    corral(*QUICK, "true")
    stop(corral)
    with busy_port() as port:
        (corral.store / "port").write_text(f"{port}\n")
        assert len(corral.runs()) == 1
        assert not corral.url().endswith(f":{port}")


def test_an_explicit_port_that_is_busy_is_an_error(corral: Corral) -> None:
    with busy_port() as port:
        error = corral("serve", "--listen", f"127.0.0.1:{port}", status=1).stderr.decode()
    assert f"127.0.0.1:{port}" in error
    assert "--listen" in error
    assert corral.server_pid() is None


def test_it_leaves_when_idle(corral: Corral) -> None:
    server = corral.serve("--idle-after", "5s")
    assert server.wait(60) == 0
    assert corral.record() is None
    corral(*QUICK, "true")
    assert len(corral.runs()) == 1


def test_it_does_not_leave_while_a_run_is_silent(corral: Corral) -> None:
    server = corral.serve("--idle-after", "5s")
    run = corral.start(*QUICK, "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    # Each request restarts the idle timeout.
    until(lambda: corral.get("/api/corral/v1/runs")["runs"], "the run has begun")
    time.sleep(8)  # longer than that
    assert server.poll() is None
    (corral.home / "go").touch()
    assert run.wait(60) == 0


def test_a_second_server_names_the_first(corral: Corral) -> None:
    first = corral.serve()
    error = corral("serve", status=1).stderr.decode()
    assert f"pid {first.pid}" in error
    assert corral.url() in error
    assert len(corral.runs()) == 0
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0


def is_stopped(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_server_that_is_stopped_is_named_with_what_helps(corral: Corral) -> None:
    corral(*QUICK, "true")
    pid = corral.server_pid()
    assert pid is not None
    log = (corral.spool / "server.log").read_bytes()
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(is_stopped(task) for task in Path(f"/proc/{pid}/task").iterdir()), "every thread stands")
    try:
        for words in (("ls", "runs"), ("show", "@1")):
            said = corral(*words, status=1).stderr.decode()
            assert said == (
                f"corral {words[0]}: the store's server (pid {pid}) does not answer: it is suspended; "
                f"continue it with `kill -CONT {pid}`\n"
            )
        assert (corral.spool / "server.log").read_bytes() == log, "nobody tried to start another"
    finally:
        os.kill(pid, signal.SIGCONT)
    assert len(corral.runs()) == 1
    assert corral.server_pid() == pid


def test_ctrl_c_ends_a_server_in_the_foreground(corral: Corral) -> None:
    with busy_port() as port:
        pass
    server = corral.start("serve", "--listen", f"127.0.0.1:{port}")
    assert server.stdout is not None
    assert server.stdout.readline().decode() == f"Corral serves {corral.store} at http://127.0.0.1:{port}\n"
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0


def test_killed_during_a_run_it_is_started_again_and_nothing_is_lost(corral: Corral) -> None:
    counter = corral.counter()
    run = corral.start(*QUICK, "--", *counter.program(10**9, 50, 0.01), stdout=subprocess.DEVNULL)
    until(lambda: corral("ls", "runs", status=None).stdout, "a server takes the run in")
    killed = corral.kill_server()
    at_kill = counter.returned
    until(lambda: counter.returned > at_kill + 500, "the run goes on")
    started = until(corral.server_pid, "a server was started again")
    assert started != killed
    counter.stop()
    assert run.wait(60) == 0
    check_steps(corral.points(metric="x"), counter.returned)
    assert corral.show()["status"] == "finished"


def test_two_supervisors_share_one_server(corral: Corral) -> None:
    both = [corral.start(*QUICK, "--name", name, "sh", "-c", "sleep 0.2") for name in ("a", "b")]
    for run in both:
        out, error = run.communicate(timeout=60)
        assert run.returncode == 0
        lines = error.decode().splitlines()
        # Begin and end: no word about the server that came too late. A busy machine's may not answer at the end.
        assert len(lines) <= 2 or any("waits in" in line for line in lines), (out, lines)
    corral.wait_spool_empty()
    assert sorted(r["name"] for r in corral.runs()) == ["a", "b"]
    assert {r["status"] for r in corral.runs()} == {"finished"}


def no_store_a_file(corral: Corral) -> None:
    corral.store.write_text("in the way")


def no_store_a_newer_version(corral: Corral) -> None:
    corral(*QUICK, "true")
    stop(corral)
    with closing(sqlite3.connect(corral.store / "corral.db")) as database:
        database.execute("UPDATE meta SET value = value + 900 WHERE key = 'schema_version'")
        database.commit()


def no_store_not_a_database(corral: Corral) -> None:
    corral.store.mkdir()
    (corral.store / "corral.db").write_text("not a database at all" * 1000)


def good_store(corral: Corral) -> None:
    if corral.store.is_file():
        corral.store.unlink()
    elif (corral.store / "corral.db").read_bytes()[:6] != b"SQLite":
        (corral.store / "corral.db").unlink()
    else:
        with closing(sqlite3.connect(corral.store / "corral.db")) as database:
            database.execute("UPDATE meta SET value = value - 900 WHERE key = 'schema_version'")
            database.commit()


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (no_store_a_file, "store"),
        (no_store_a_newer_version, "newer"),
        (no_store_not_a_database, "corral.db"),
    ],
)
def test_without_a_server_training_runs_and_its_data_waits(corral: Corral, breaks: object, message: str) -> None:
    assert callable(breaks)
    breaks(corral)
    counter = corral.counter()
    done = corral(
        "run", "--name", "alone", "--", "sh", "-c", '"$@"; echo out; exit 3', "sh", *counter.program(5_000), status=3
    )
    assert counter.done
    assert done.stdout.endswith(b"\n4999\nout\n")
    error = done.stderr.decode()
    assert message in error
    assert str(corral.store) in error
    assert "waits in " + str(corral.spool) in error
    assert len(corral.spooled()) == 1
    assert message in corral("serve", status=2 if breaks is no_store_a_file else 1).stderr.decode()
    assert corral("ls", "runs", status=2 if breaks is no_store_a_file else 1).stderr

    good_store(corral)
    corral.serve()
    corral.wait_spool_empty()
    check_steps(corral.points("alone", "x"), 5_000)
    facts = corral.show("alone")
    assert (facts["status"], facts["exit_code"]) == ("failed", 3)
    assert corral.logs("alone").text("stdout").endswith("\n4999\nout\n")
    assert facts["drops"] == {"points": 0, "frames": 0, "ticks": 0}


def test_data_that_waits_for_a_store_is_named(corral: Corral) -> None:
    assert b"create it with `corral run`" in corral("ls", "runs", status=1).stderr
    no_store_a_file(corral)
    corral(*QUICK, "true")
    corral.store.unlink()
    said = corral("ls", "runs", status=1).stderr.decode()
    assert f"data of 1 run waits in {corral.spool}: start `corral serve` to store it" in said, said
    other = corral("ls", "runs", "--store", corral.home / "other", status=1).stderr
    assert b"data of" not in other, "that data is not for this store"
    corral.serve()
    corral.wait_spool_empty()
    assert len(corral.runs()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_read_only_store_is_named(corral: Corral) -> None:
    corral(*QUICK, "true")
    stop(corral)
    store = str(corral.store)
    mounted = subprocess.run(["mount", "--bind", store, store], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this environment allows no mounts")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", store], check=True)
        done = corral(*QUICK, "--name", "later", "sh", "-c", "exit 4", status=4)
        assert "read-only" in done.stderr.decode().lower()
    finally:
        subprocess.run(["umount", store], check=True)
    corral.serve()
    corral.wait_spool_empty()
    assert corral.show("later")["exit_code"] == 4


def test_without_any_place_for_a_spool_the_command_still_runs(corral: Corral) -> None:
    (corral.home / "file").touch()
    done = corral(*QUICK, "--spool", corral.home / "file", "sh", "-c", "echo out; exit 5", status=5)
    assert done.stdout == b"out\n"
    assert b"corral run: not recorded: " in done.stderr


def test_a_left_over_spool_is_taken_in_by_the_next_run(corral: Corral) -> None:
    counter = corral.counter()
    run = corral.start(*QUICK, "--name", "orphan", "--", *counter.program(20_000, 50, 0.01))
    until(lambda: counter.returned > 100, "it logs")
    stop_server_and(corral, lambda: run.kill())
    assert run.wait(60) == -signal.SIGKILL
    until(lambda: counter.done, "the training goes on to its end")
    until(lambda: not alive(counter.pid), "and leaves")
    corral(*QUICK, "--name", "next", "true")
    corral.wait_spool_empty()
    check_steps(corral.points("orphan", "x"), 20_000)
    facts = corral.show("orphan")
    assert (facts["status"], facts["end_reason"], facts["exit_code"]) == ("unknown", "unknown", None)
    assert corral.show("next")["status"] == "finished"


def stop_server_and(corral: Corral, action: object) -> None:
    assert callable(action)
    action()
    if corral.server_pid() is not None:
        corral.kill_server()


def test_a_remote_server_takes_runs_of_other_homes(corral: Corral) -> None:
    corral.serve()
    elsewhere = {"CORRAL_STORE": "", "CORRAL_SERVER": corral.url(), "CORRAL_SPOOL": str(corral.home / "other-spool")}
    done = corral("run", "--name", "remote", "sh", "-c", "echo hello", env=elsewhere)
    assert done.stdout == b"hello\n"
    assert corral.show("remote")["status"] == "finished"
    assert list((corral.home / "other-spool").glob("????????????????????????????????")) == []


def test_a_remote_server_that_is_gone_is_named(corral: Corral) -> None:
    with busy_port() as port:
        pass
    elsewhere = {"CORRAL_STORE": "", "CORRAL_SERVER": f"http://127.0.0.1:{port}"}
    done = corral(*QUICK, "sh", "-c", "exit 6", env=elsewhere, status=6)
    assert f"127.0.0.1:{port}" in done.stderr.decode()
    assert len(corral.spooled()) == 1


def test_a_token_closes_the_port_but_not_the_socket(corral: Corral) -> None:
    token = corral.script("token", "0123456789abcdef0123456789abcdef\n")
    corral.serve("--token-file", token)
    corral(*QUICK, "true")  # by the Unix socket
    connection = corral.connection()
    connection.request("GET", "/api/corral/v1/runs")
    answer = connection.getresponse()
    assert answer.status == 401
    answer.read()
    connection.request("GET", "/api/corral/v1/runs", headers={"Authorization": f"Bearer {token.read_text().strip()}"})
    assert connection.getresponse().status == 200
    elsewhere = {"CORRAL_STORE": "", "CORRAL_SERVER": corral.url()}
    assert "--token-file" in corral("ls", "runs", env=elsewhere, status=1).stderr.decode()
    assert b"finished" in corral("ls", "runs", "--token-file", token, env=elsewhere).stdout
    wrong = corral.script("wrong", "fedcba9876543210fedcba9876543210\n")
    refused = corral("ls", "runs", "--token-file", wrong, env=elsewhere, status=1).stderr.decode()
    assert f"refused the token of --token-file {wrong}" in refused


def test_a_long_path_has_its_socket_elsewhere(corral: Corral) -> None:
    store = corral.home / ("d" * 100) / "store"
    corral(*QUICK, "--store", store, "true")
    assert not (store / "corral.sock").exists()
    sockets = list(corral.runtime.glob("*.sock"))
    assert len(sockets) == 1
    assert sockets[0].stat().st_mode & 0o777 == 0o600
    corral("serve", "--stop", "--store", store)
    assert list(corral.runtime.glob("*.sock")) == []


@pytest.mark.parametrize("abstract", [False, True])
def test_a_service_says_when_it_is_ready_alive_and_stopping(corral: Corral, abstract: bool) -> None:
    """To systemd; and SIGHUP, by which systemd reloads, ends no server that has no terminal."""
    name = f"{'@' if abstract else ''}{corral.runtime}/notify"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(60)
        environment = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "300000"}
        server = corral.start("serve", "--listen", "127.0.0.1:0", env=environment)
        first = next(told for told in iter(lambda: manager.recv(4096), b"") if told != b"WATCHDOG=1")
        assert first.decode() == f"READY=1\nSTATUS=Serves {corral.url()}"
        assert manager.recv(4096) == b"WATCHDOG=1"
        server.send_signal(signal.SIGHUP)
        assert [manager.recv(4096) for _ in range(10)] == [b"WATCHDOG=1"] * 10
        server.terminate()
        assert next(told for told in iter(lambda: manager.recv(4096), b"") if told != b"WATCHDOG=1") == b"STOPPING=1"
        assert server.wait(60) == 0


def test_a_runs_own_server_is_no_service(corral: Corral) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.bind(f"{corral.runtime}/notify")
        manager.setblocking(False)
        corral(*QUICK, "true", env={"NOTIFY_SOCKET": f"{corral.runtime}/notify", "WATCHDOG_USEC": "3000"})
        stop(corral)
        with pytest.raises(BlockingIOError):
            manager.recv(4096)

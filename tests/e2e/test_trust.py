"""The rights of a corral.toml that came with a directory: nothing that executes, sends or receives, until the user
trusts it.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from person import Person
from support import PYTHON, Corral, until

SCRIPT = 'print("done")\n'
QUICK = ("run", "--listeners", "proc", "--quiet", "--", PYTHON, "-S", "train.py")


@pytest.fixture
def clone(corral: Corral) -> Path:
    """A directory that somebody else made; nothing else says where data goes."""
    for name in ("CORRAL_STORE", "CORRAL_SPOOL"):
        del corral.environment[name]
    corral.store = corral.home / "data" / "corral"
    corral.spool = corral.home / "state" / "corral" / "spool"
    clone = corral.home / "clone"
    clone.mkdir()
    (clone / "train.py").write_text(SCRIPT)
    return clone


class Recorder(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_error(404)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that writes down what it is sent: its URL, and the headers of each request."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    seen: list[dict[str, str]] = []
    server.seen = seen  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def token_of(corral: Corral) -> dict[str, str]:
    path = corral.home / "token"
    path.write_text("secret\n")
    return {"CORRAL_TOKEN_FILE": str(path)}


def manifests(corral: Corral) -> list[dict[str, str]]:
    return [json.loads((path / "manifest.json").read_text()) for path in corral.spooled()]


def test_a_command_of_the_directory_waits_for_trust(corral: Corral, clone: Path) -> None:
    toml = clone / "corral.toml"
    toml.write_text(
        'experiment = "theirs"\n[exec.power]\n'
        f'command = "touch {clone}/executed; while true; do echo watts 1; touch {clone}/said; sleep 0.05; done"\n'
        'format = "plain"\n'
    )
    heard = ("run", "--listeners", "proc", "--quiet", "--", "/bin/sh", "-c", "until [ -e said ]; do sleep 0.05; done")
    wait = ("run", "--listeners", "proc", "--quiet", "--", "/bin/sh", "-c", "sleep 0.7")
    done = corral(*wait, cwd=clone)
    assert done.stderr.decode().splitlines() == [
        "corral: corral.toml is not trusted: ignored [exec.power]; corral trust shows and trusts it"
    ]
    assert not (clone / "executed").exists()
    assert corral.wait_ended()["experiment"] == "theirs"

    shown = corral("trust", cwd=clone).stdout.decode()
    assert "touch" in shown
    assert str(toml) in corral("trust", "--list").stdout.decode()
    assert corral(*heard, cwd=clone).stderr == b""
    assert (clone / "executed").exists()
    assert corral.points(metric="watts")

    (clone / "executed").unlink()
    toml.write_text(toml.read_text().replace("watts 1", "watts 2"))
    assert b"corral trust" in corral(*wait, cwd=clone).stderr
    assert not (clone / "executed").exists()
    assert b"changed" in corral("trust", "--list").stdout

    corral("trust", cwd=clone)
    corral("trust", "--revoke", cwd=clone)
    assert b"corral trust" in corral(*wait, cwd=clone).stderr
    assert not (clone / "executed").exists()


def test_an_interpreter_of_the_directory_waits_for_trust(corral: Corral, clone: Path) -> None:
    evil = clone / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {clone}/executed\n")
    evil.chmod(0o755)
    (clone / "corral.toml").write_text('environment = "python=./evil"\n')
    done = corral("run", "--no-listeners", "--quiet", "train.py", cwd=clone, env={"CORRAL_PYTHON": PYTHON})
    assert done.stdout == b"done\n"
    assert b"ignored environment; corral trust" in done.stderr
    assert not (clone / "executed").exists()


def test_data_for_a_store_of_the_directory_waits_for_trust(corral: Corral, clone: Path) -> None:
    (clone / "corral.toml").write_text('store = "results"\n')
    done = corral(*QUICK, cwd=clone)
    assert done.stdout == b"done\n"
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert b"ignored store" in done.stderr
    assert [m["store"] for m in manifests(corral)] == [str(clone / "results")]
    assert not (clone / "results").exists()
    assert not corral.store.exists()
    for verb in (("ls", "runs"), ("show", "@1"), ("store", "check")):
        refused = corral(*verb, cwd=clone, status=1)
        assert b"not trusted: corral trust" in refused.stderr, refused.stderr

    assert b"the data of 1 waiting run goes to " in corral("trust", cwd=clone).stdout
    corral.store = clone / "results"
    corral.wait_spool_empty()
    assert [r["status"] for r in json.loads(corral("ls", "runs", "--format", "json", cwd=clone).stdout)] == ["finished"]


def test_a_server_of_the_directory_is_not_spoken_to(
    corral: Corral, clone: Path, stranger: tuple[str, list[dict[str, str]]]
) -> None:
    url, seen = stranger
    (clone / "corral.toml").write_text(f'server = "{url}"\n')
    env = token_of(corral)
    assert len(corral(*QUICK, cwd=clone, env=env).stderr.splitlines()) == 1
    (run,) = corral.spooled()
    assert manifests(corral)[0]["server"] == url
    for verb in (("ls", "runs"), ("doctor",)):
        corral(*verb, cwd=clone, env=env, status=None)
    corral("run", "--adopt", run.name, "--quiet", env=env, status=None)
    assert seen == []

    # Trusted, it is a server like others, but the token was given for none of its name.
    corral("trust", cwd=clone, env=env, status=1)
    corral("ls", "runs", cwd=clone, env=env, status=1)
    assert seen
    assert not [headers for headers in seen if "Authorization" in headers]
    corral("ls", "runs", "--server", url, cwd=clone, env=env, status=1)
    assert seen[-1]["Authorization"] == "Bearer secret"


def test_data_for_a_server_of_the_directory_is_sent_by_trust(corral: Corral, clone: Path) -> None:
    server = corral.start("serve", "--listen", "127.0.0.1:0", "--store", corral.store)
    until(lambda: corral.server_pid() == server.pid, "the server answers")
    (clone / "corral.toml").write_text(f'server = "{corral.url()}"\n')
    corral(*QUICK, cwd=clone)
    assert len(corral.spooled()) == 1
    assert b"the data of 1 waiting run goes to http" in corral("trust", cwd=clone).stdout
    assert not corral.spooled()
    assert corral.show()["status"] == "finished"


def test_a_plan_tells_its_supervisors(corral: Corral, clone: Path, stranger: tuple[str, list[dict[str, str]]]) -> None:
    url, seen = stranger
    (clone / "corral.toml").write_text(f'server = "{url}"\n[exec.x]\ncommand = "touch {clone}/executed"\n')
    (clone / "plans").mkdir()
    (clone / "plans" / "plan.csv").write_text(
        "Experiment,Workload,Status,Run,Devices,Collocation,Listeners,File,Params\n1,1,,,,,proc,/bin/true,\n"
    )
    done = corral("run", "plans/plan.csv", cwd=clone, env=token_of(corral), status=None)
    assert done.stderr.count(b"corral trust") == 1, done.stderr
    assert [m["server"] for m in manifests(corral)] == [url], done.stderr
    assert seen == []
    assert not (clone / "executed").exists()


@pytest.mark.parametrize(("keys", "trusts"), [(b"y\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)])
def test_at_a_terminal_the_user_is_asked(corral: Corral, clone: Path, keys: bytes, trusts: bool) -> None:
    (clone / "corral.toml").write_text('experiment = "\x1b[2J"\nenvironment = "local"\n')
    person = Person(corral)
    process = corral.start(*QUICK, **person.seat(), cwd=clone)
    person.until_seen(b"[y/N]")
    assert b"\x1b[2J" not in person.seen
    person.type(keys)
    person.until_seen(b"done")
    assert person.wait(process) == 0
    assert (b"ignored environment" not in person.look()) == trusts
    assert (str(clone) in corral("trust", "--list").stdout.decode()) == trusts


def test_what_a_foreign_file_holds_does_not_reach_the_terminal(corral: Corral, clone: Path) -> None:
    (clone / "corral.toml").write_text("exp\x1b]0;x\x07eriment \u202e = 1\n")
    done = corral("ls", "runs", cwd=clone, status=2)
    assert rb"corral.toml:1: 'exp\x1b]0;x\x07eriment \u202e = 1'" in done.stderr
    assert b"\x1b" not in done.stderr
    (clone / "corral.toml").unlink()
    done = corral("run", "--listeners", "proc", "--name", "a\x1b[2J\u202eb", "--", "true", cwd=clone)
    assert rb"a\x1b[2J\u202eb" in done.stderr
    assert b"\x1b" not in done.stderr


def test_trusting_says_what_counts_from_now_on(corral: Corral, clone: Path) -> None:
    (clone / "corral.toml").write_text(
        'experiment = "a"\n[exec.power]\ncommand = "true"\n[run]\nenvironment = "local"\n'
    )
    assert b"from now on these count, too: environment, [exec.power]\n" in corral("trust", cwd=clone).stdout
    (clone / "corral.toml").write_text('experiment = "b"\n')
    assert b"all of it counted before" in corral("trust", cwd=clone).stdout
    (clone / "corral.toml").write_text("experiment\n")
    assert b"corral.toml:1: 'experiment'" in corral("trust", cwd=clone, status=2).stderr


def test_files_that_are_trusted_at_once_are_all_remembered(corral: Corral, clone: Path) -> None:
    folders = [clone / str(number) for number in range(8)]
    for folder in folders:
        folder.mkdir()
        (folder / "corral.toml").write_text('experiment = "a"\n')
    for process in [corral.start("trust", cwd=folder) for folder in folders]:
        assert process.wait() == 0
    remembered = corral("trust", "--list").stdout.decode()
    assert all(f"{folder}/corral.toml  trusted" in remembered for folder in folders), remembered


def test_a_path_that_cannot_be_written_down_is_not_trusted(corral: Corral, clone: Path) -> None:
    folder = clone / "line\nfeed"
    folder.mkdir()
    (folder / "corral.toml").write_text('experiment = "a"\nenvironment = "local"\n')
    done = corral("run", "--listeners", "proc", "--", "true", cwd=folder)
    assert b"ignored environment; a path with a line feed cannot be trusted; name the file with --config" in done.stderr
    assert b"line feed" in corral("trust", cwd=folder, status=2).stderr


def test_ctrl_c_at_the_question_runs_nothing(corral: Corral, clone: Path) -> None:
    (clone / "corral.toml").write_text('environment = "local"\n')
    person = Person(corral)
    process = corral.start(*QUICK, **person.seat(), cwd=clone)
    person.until_seen(b"[y/N]")
    person.type(b"\x03")
    assert person.wait(process) == -signal.SIGINT
    assert b"done" not in person.look()
    assert not corral.spooled()


def test_a_pipe_of_that_name_holds_nobody_up(corral: Corral, clone: Path) -> None:
    os.mkfifo(clone / "corral.toml")
    assert b"not a regular file" in corral(*QUICK, cwd=clone, status=2).stderr
    until(lambda: not corral.spooled(), "nothing was begun")

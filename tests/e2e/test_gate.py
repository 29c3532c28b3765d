"""Requests of a scheduler to its supervisors: one release for all, reports, placement, distinct ends."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plan_support import command_line
from support import PYTHON, Corral, Json, alive

QUICK = ("run", "--no-listeners", "--quiet")


class Scheduler:
    """One shared release pipe, one socket for each supervisor."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.release_end, self.write_end = os.pipe()
        self.sockets: list[socket.socket] = []
        self.texts: list[bytes] = []

    def start(self, *arguments: str | Path, run_id: str = "", **options: Any) -> subprocess.Popen[bytes]:
        own, theirs = socket.socketpair()
        self.sockets.append(own)
        self.texts.append(b"")
        own.settimeout(60)
        gate = f"{self.release_end},{theirs.fileno()}"
        ids = ("--run-id", run_id) if run_id else ()
        process = self.corral.start(
            *QUICK, "--gate", gate, *ids, *arguments, pass_fds=(self.release_end, theirs.fileno()), **options
        )
        theirs.close()
        return process

    def line(self, number: int = 0) -> Json:
        """The supervisor's next report; None once it has said everything."""
        while b"\n" not in self.texts[number]:
            more = self.sockets[number].recv(4096)
            if not more:
                assert self.texts[number] == b""
                return None
            self.texts[number] += more
        line, _, self.texts[number] = self.texts[number].partition(b"\n")
        return json.loads(line)

    def release(self, count: int = 1) -> None:
        os.write(self.write_end, b"g" * count)
        self.close_release()

    def close_release(self) -> None:
        for end in (self.release_end, self.write_end):
            if end >= 0:
                os.close(end)
        self.release_end = self.write_end = -1

    def close(self) -> None:
        self.close_release()
        for own in self.sockets:
            own.close()


@pytest.fixture
def scheduler(corral: Corral) -> Iterator[Scheduler]:
    scheduler = Scheduler(corral)
    yield scheduler
    scheduler.close()


def tags(corral: Corral, run: str = "@1") -> dict[str, str]:
    corral.wait_spool_empty()
    return dict(corral.show(run)["tags"])


def test_runs_are_released_together_and_report(corral: Corral, scheduler: Scheduler) -> None:
    script = corral.script("train.py", "import sys; open('ran' + sys.argv[1], 'w').close(); sys.exit(int(sys.argv[1]))")
    ids = [f"{i:032x}" for i in (1, 2, 3)]
    runs = [scheduler.start(script, str(i), run_id=ids[i]) for i in range(3)]
    for i in range(3):
        assert scheduler.line(i) == {"ready": True}
    assert not list(corral.home.glob("ran*"))  # nobody has begun
    scheduler.release(3)
    starts = [scheduler.line(i) for i in range(3)]
    assert all(sorted(start) == ["pid", "started_ns"] for start in starts), starts
    ends = [scheduler.line(i) for i in range(3)]
    assert [(e["outcome"], e["exit_code"]) for e in ends] == [("finished", 0), ("failed", 1), ("failed", 2)]
    assert [run.wait(60) for run in runs] == [0, 1, 2]
    assert [scheduler.line(i) for i in range(3)] == [None] * 3
    corral.wait_spool_empty()
    assert [tags(corral, run)["corral.outcome"] for run in ids] == ["finished", "failed", "failed"]
    assert tags(corral, ids[1])["corral.outcome.reason"] == "exit status 1"


def test_a_closed_pipe_alone_releases_too(corral: Corral, scheduler: Scheduler) -> None:
    run = scheduler.start("true")
    assert scheduler.line() == {"ready": True}
    scheduler.close_release()
    assert "started_ns" in scheduler.line()
    assert run.wait(60) == 0


def test_without_its_scheduler_nothing_starts(corral: Corral, scheduler: Scheduler) -> None:
    run = scheduler.start("touch", corral.home / "ran")
    assert scheduler.line() == {"ready": True}
    for own in scheduler.sockets:  # so that the release is never alone
        own.close()
    scheduler.close()
    assert run.wait(60) == 125
    assert not (corral.home / "ran").exists()
    assert not corral.spooled()


def test_once_released_it_goes_on_alone(corral: Corral, scheduler: Scheduler) -> None:
    word = corral.home / "word.json"
    command = f"while [ ! -e {corral.home}/go ]; do sleep 0.01; done; echo one; echo; echo two >&2; exit 3"
    run = scheduler.start("--last-word", word, "sh", "-c", command)
    scheduler.line()
    scheduler.release()
    assert "started_ns" in scheduler.line()
    scheduler.close()
    (corral.home / "go").touch()
    assert run.wait(60) == 3
    last = json.loads(word.read_text())
    assert last.pop("ended_ns") > 0
    assert last == {
        "outcome": "failed",
        "reason": "exit status 3: two",
        "exit_code": 3,
        "tail": ["one", "two"],
    }
    corral.wait_spool_empty()
    assert tags(corral)["corral.outcome"] == "failed"


def test_interrupted_before_its_start(corral: Corral, scheduler: Scheduler) -> None:
    run = scheduler.start("touch", corral.home / "ran")
    scheduler.line()
    run.send_signal(signal.SIGTERM)
    assert scheduler.line()["outcome"] == "interrupted"
    assert run.wait(60) == 128 + signal.SIGTERM
    assert not (corral.home / "ran").exists()
    assert not corral.spooled()


@pytest.mark.parametrize("command", ["/no/such/command", "train.py"])
def test_what_cannot_start_is_reported(corral: Corral, scheduler: Scheduler, command: str) -> None:
    run = scheduler.start(command)
    end = scheduler.line()
    assert (end["outcome"], end["exit_code"]) == ("not-started", 127)
    assert command in end["reason"]
    assert run.wait(60) == 127


def test_the_end_rule_and_an_interrupt_are_told_apart(corral: Corral, scheduler: Scheduler) -> None:
    ids = ["a" * 32, "b" * 32]
    runs = [scheduler.start("sleep", "600", run_id=run) for run in ids]
    assert [scheduler.line(i) for i in range(2)] == [{"ready": True}] * 2
    scheduler.release(2)
    assert all("started_ns" in scheduler.line(i) for i in range(2))
    scheduler.sockets[0].send(b'{"tags": {"corral.start_skew_ms": "0.25"}}\n{"stop": "another')
    scheduler.sockets[0].send(b' run ended"}\n')
    runs[1].send_signal(signal.SIGINT)
    ends = [scheduler.line(i) for i in range(2)]
    assert [e["outcome"] for e in ends] == ["stopped", "interrupted"]
    assert ends[0]["reason"] == "another run ended"
    assert [e["exit_signal"] for e in ends] == [signal.SIGINT] * 2
    for run in runs:
        run.wait(60)
    corral.wait_spool_empty()
    assert [tags(corral, run)["corral.outcome"] for run in ids] == ["stopped", "interrupted"]
    assert tags(corral, ids[0])["corral.start_skew_ms"] == "0.25"


def test_the_command_gets_its_cpus_and_no_descriptor_of_the_gate(corral: Corral, scheduler: Scheduler) -> None:
    cpu = max(os.sched_getaffinity(0))
    code = (
        "import os, glob; print(sorted(os.sched_getaffinity(0)), *map(os.path.realpath, glob.glob('/proc/self/fd/*')))"
    )
    run = scheduler.start("--affinity", f"{cpu}", PYTHON, "-S", "-c", code)
    scheduler.line()
    scheduler.release()
    out, _ = run.communicate(timeout=60)
    affinity, _, open_files = out.decode().partition("] ")
    assert affinity == f"[{cpu}"
    assert open_files.count("/dev/null") == 1  # its input
    assert "socket" not in open_files
    assert "pipe" not in open_files


def test_a_group_that_cannot_be_entered_is_an_end(corral: Corral, scheduler: Scheduler) -> None:
    run = scheduler.start("--cgroup", corral.home / "none", "touch", corral.home / "ran")
    end = scheduler.line()
    assert end["outcome"] == "not-started"
    assert "none/cgroup.procs" in end["reason"]
    assert run.wait(60) == 126
    assert not (corral.home / "ran").exists()


def test_the_command_is_in_its_group_before_it_runs(corral: Corral, scheduler: Scheduler) -> None:
    group = corral.home / "group"  # stands for a cgroup: what is written there is what the kernel would get
    group.mkdir()
    (group / "cgroup.procs").touch()
    run = scheduler.start("--cgroup", group, "sh", "-c", "echo $$")
    scheduler.line()
    entered = (group / "cgroup.procs").read_text()
    scheduler.release()
    out, _ = run.communicate(timeout=60)
    assert out.decode().strip() == entered


@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed", "SIGSEGV"),
        ("raise ValueError('no such data set')", "failed", "ValueError: no such data set"),
        ("raise MemoryError", "out-of-memory", "MemoryError"),
        ("raise RuntimeError('CUDA out of memory. Tried to allocate 2 GiB')", "out-of-memory", "Tried to allocate"),
        ("raise RuntimeError('CUDA error: the MPS client has been terminated by the server')", "neighbour", "MPS"),
    ],
)
def test_ends_are_told_apart(corral: Corral, code: str, outcome: str, reason: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    corral(*QUICK, corral.script("train.py", code), status=None)
    assert tags(corral)["corral.outcome"] == outcome
    assert reason in tags(corral)["corral.outcome.reason"]


def test_a_time_limit_is_an_end_of_its_own(corral: Corral) -> None:
    corral(*QUICK, "--max-time", "200ms", "sleep", "600", status=128 + signal.SIGINT)
    assert tags(corral)["corral.outcome"] == "limit"
    assert not [pid for pid in corral.processes() if b"sleep" in command_line(pid) and alive(pid)]


def order_file(document: Json) -> int:
    """A descriptor as a scheduler passes it."""
    file = os.memfd_create("order")
    os.write(file, json.dumps(document).encode())
    os.lseek(file, 0, os.SEEK_SET)
    return file


def test_an_order_counts_as_options_do(corral: Corral) -> None:
    own, theirs = socket.socketpair()
    own.settimeout(60)
    run_id = "0123456789abcdef0123456789abcdef"
    folder = corral.home / "folder"
    folder.mkdir()
    order = order_file(
        {
            "version": 1,
            "run": run_id,
            "experiment": "E",
            "workload": "7",
            "name": "(7 0_A) shell",
            "directory": str(folder),
            "params": [["lr", "a=b"]],
            "tags": [["corral.plan", "p"]],
            "gate": {"release": -1, "reports": theirs.fileno(), "last_word": str(corral.home / "word.json")},
            "settings": {"no_listeners": True, "grace_ns": 1000000000, "max_steps": "9"},
            "command": ["sh", "-c", "pwd; echo $CORRAL_MAX_STEPS; exit 3"],
        }
    )
    # The options on the command line are for ps(1) alone.
    done = corral.start(
        "run", "--order-fd", str(order), "--name", "shown", "--", "false", pass_fds=(order, theirs.fileno())
    )
    theirs.close()
    os.close(order)
    out, _ = done.communicate(timeout=60)
    assert (done.returncode, out.split()[:2]) == (3, [str(folder).encode(), b"9"])
    assert json.loads((corral.home / "word.json").read_text())["reason"] == "exit status 3: 9"
    corral.wait_spool_empty()
    run = corral.show(run_id)
    assert (run["name"], run["experiment"], run["workload"]) == ("(7 0_A) shell", "E", "7")
    assert run["params"]["lr"] == "a=b"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({}, "missing 'version'"),
        ({"version": 2}, "unsupported version 2"),
        ({"version": 1, "run": "0" * 32}, "missing 'command'"),
        ({"version": 1, "run": "0" * 32, "command": "true"}, "invalid value of 'command'"),
        ({"version": 1, "run": "0" * 32, "command": ["true"], "settings": {"profile": "none"}}, "--profile"),
    ],
)
def test_a_bad_order_is_misuse(corral: Corral, document: Json, reason: str) -> None:
    order = order_file(document)
    done = corral("run", "--order-fd", str(order), pass_fds=(order,), status=2)
    os.close(order)
    assert reason in done.stderr.decode()
    assert not corral.spooled()


def test_an_order_is_not_read_from_a_standard_stream(corral: Corral) -> None:
    done = corral("run", "--order-fd", "1", status=2)
    assert b"expected a descriptor above 2" in done.stderr


def test_a_row_cannot_run_a_plan(corral: Corral) -> None:
    header = "Experiment,Workload,Status,Run,Devices,Collocation,File,Params\n"
    corral.script("train.py", "open('ran', 'w')\n")
    inner = corral.home / "inner.csv"
    inner.write_text(f"{header}e,1,,,-,-,train.py,\n")
    inner.chmod(0o755)
    outer = corral.home / "outer.csv"
    outer.write_text(f"{header}e,1,,,-,-,inner.csv,--dry-run\n")
    corral("run", outer, status=1)
    assert "not-started" in outer.read_text()
    assert not (corral.home / "ran").exists()

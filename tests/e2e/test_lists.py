"""`corral ls runs` with columns that were asked for, live; `corral open`."""

from __future__ import annotations

import csv
import os
import pty
import re
import signal
from pathlib import Path

import pytest
from support import Corral, until

QUICK = ("run", "--quiet", "--no-listeners")


@pytest.fixture
def three_runs(corral: Corral) -> Corral:
    script = corral.script("train.py", "import corral, sys\ncorral.log({'loss': 1, 'val_acc': float(sys.argv[1])})")
    for lr, accuracy in (("0.1", "0.5"), ("0.01", "0.75")):
        corral(*QUICK, "--param", f"lr={lr}", "--param", "seed=7", "--name", f"lr {lr}", script, accuracy)
    corral(*QUICK, "--param", "seed=7", "--name", "without", "true")
    return corral


def test_runs_have_columns_of_the_params_that_differ(three_runs: Corral) -> None:
    head, *rows = three_runs("ls", "runs", "--metric", "val_acc").stdout.decode().splitlines()
    assert "lr" in head.split()
    assert "seed" not in head.split()
    assert head.split()[-3:] == ["HOST", "lr", "val_acc"]
    assert re.search(r" 0\.01 +0\.75$", rows[1]), rows
    newest, *others = three_runs.json("ls", "runs", "--metric", "val_acc")
    assert (newest["params.lr"], newest["metrics.val_acc"]) == (None, None)
    assert [(run["params.lr"], run["metrics.val_acc"]) for run in others] == [("0.01", 0.75), ("0.1", 0.5)]
    assert "params.seed" not in newest


def test_odd_names_and_losses_are_shown_as_they_are(corral: Corral) -> None:
    code = "import corral, sys\ncorral.param('a,b\\x1b[31m', sys.argv[1]); corral.log('loss', float('nan'))"
    script = corral.script("odd.py", code)
    for value in ("1", "2"):
        corral(*QUICK, script, value)
    shown = corral("ls", "runs", "--metric", "loss").stdout.decode()
    assert "\x1b" not in shown
    assert "a,b\\x1b[31m" in shown.splitlines()[0]
    assert re.search(r" NaN +\S+ +2 +NaN$", shown.splitlines()[1]), shown
    rows = list(csv.DictReader(corral("ls", "runs", "--format", "csv").stdout.decode().splitlines()))
    assert [row["params.a,b\x1b[31m"] for row in rows] == ["2", "1"]


def test_params_that_the_listed_runs_share_have_no_column(corral: Corral) -> None:
    for experiment in ("one", "two"):
        for lr in ("1", "2"):
            corral(*QUICK, "--experiment", experiment, "--param", f"of_{experiment}=x", "--param", f"lr={lr}", "true")
    assert "params.of_one" in corral.json("ls", "runs")[0]
    columns = corral.json("ls", "runs", "--experiment", "one")[0]
    assert [name for name in columns if name.startswith("params.")] == ["params.lr"]


def test_columns_are_of_runs(three_runs: Corral) -> None:
    for option in (["--metric", "loss"], ["--watch"]):
        said = three_runs("ls", "workloads", *option, status=2).stderr
        assert said == b"corral ls: --watch and --metric are of runs: corral ls runs\n"
    assert b"--limit must be from 1 to 1000" in three_runs("ls", "runs", "--limit", "0", status=2).stderr


def test_watched_runs_are_shown_anew_until_ctrl_c(three_runs: Corral) -> None:
    assert b"--watch needs a terminal" in three_runs("ls", "runs", "--watch", status=2).stderr
    leader, follower = pty.openpty()
    watching = three_runs.start("ls", "runs", "--watch", stdout=follower)
    os.close(follower)
    shown = b""

    def pictures(name: bytes) -> bool:
        nonlocal shown
        shown += os.read(leader, 65536)
        return name in shown

    until(lambda: pictures(b"without"), "the runs are shown")
    three_runs(*QUICK, "--name", "late", "true")
    until(lambda: pictures(b"late"), "the new run is shown")
    watching.send_signal(signal.SIGINT)
    assert watching.wait(30) == -signal.SIGINT
    os.close(leader)


def test_open_prints_the_address_and_gives_it_to_the_desktop(three_runs: Corral) -> None:
    folder = three_runs.home / "bin"
    folder.mkdir()
    opened = three_runs.home / "opened"
    desktop = {"PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":99"}
    xdg_open(folder, f'echo "$@" >{opened}')
    page = f"{three_runs.url()}/runs/{three_runs.show()['id']}\n"
    assert three_runs("open", "@1", env=desktop).stdout.decode() == page
    until(lambda: opened.exists() and opened.read_text() == page, "the desktop has it")
    opened.unlink()
    assert three_runs("open", "--print", env=desktop).stdout.decode() == three_runs.url() + "\n"
    assert not opened.exists()
    xdg_open(folder, "exit 3")
    assert b"xdg-open could not open it" in three_runs("open", env=desktop, status=1).stderr


def test_open_without_a_desktop_only_prints(three_runs: Corral) -> None:
    nothing = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "SSH_CONNECTION": ""}
    done = three_runs("open", env=nothing)
    named = three_runs("open", "--server", three_runs.url().replace("//", "//user:secret@"), env=nothing)
    assert named.stdout.decode() == three_runs.url().replace("//", "//user@") + "\n", "without the password"
    assert (done.stdout.decode(), done.stderr) == (three_runs.url() + "\n", b"")
    said = three_runs("open", env=nothing | {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"}).stderr.decode()
    port = three_runs.url().rpartition(":")[2]
    assert said.startswith(f"from your own machine first: ssh -N -L {port}:127.0.0.1:{port} ")
    assert b"no run" in three_runs("open", "nobody", env=nothing, status=1).stderr


def xdg_open(folder: Path, code: str) -> None:
    path = folder / "xdg-open"
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


LINES = """
    import os, sys
    for i in range(3000):
        os.write(1 + i % 2, f"line {i}\\n".encode())
    os.write(1, b"40 %\\r100 %\\r\\n\\033[31mred\\nthe end")
"""


def test_logs_print_what_a_run_wrote(corral: Corral) -> None:
    done = corral("run", "--quiet", "--no-listeners", corral.script("lines.py", LINES))
    every = corral("logs", "@1")
    assert (every.stdout, every.stderr) == (done.stdout, done.stderr)
    assert every.stdout.count(b"\n") == 1502
    assert corral("logs", "@1", "--tail", "2", "--stream", "stdout").stdout == b"\x1b[31mred\nthe end"
    both = corral("logs", "@1", "--tail", "2")
    assert len((both.stdout + both.stderr).splitlines()) == 2
    assert corral("logs", "@1", "--tail", "2", "--stream", "stderr").stdout == b""
    assert corral("logs", "@1", "--tail", "2", "--stream", "stderr").stderr == b"line 2997\nline 2999\n"
    most = corral("logs", "@1", "--stream", "stdout", "--tail", "1400").stdout
    assert most == b"\n".join(done.stdout.split(b"\n")[-1400:])
    assert corral("logs", "@1", "--tail", "1000000").stdout == done.stdout
    for wrong in ("0", "-1", "all"):
        assert b"--tail must be from 1 to 1000000" in corral("logs", "@1", "--tail", wrong, status=2).stderr
    assert b"no run has the id or name nobody" in corral("logs", "nobody", status=1).stderr


def test_logs_on_a_terminal_control_nothing(corral: Corral) -> None:
    corral("run", "--quiet", "--no-listeners", corral.script("lines.py", LINES))
    terminal, theirs = pty.openpty()
    corral("logs", "@1", "--tail", "4", "--stream", "stdout", stdout=theirs)
    os.close(theirs)
    shown = ""
    while not shown.endswith("the end"):
        shown += os.read(terminal, 4096).decode()
    os.close(terminal)
    assert shown.startswith("line 2998\r\n40 %\r\n100 %\r\n"), shown
    assert "\x1b" not in shown
    assert shown.endswith("[31mred\r\nthe end")

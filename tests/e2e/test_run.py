"""`corral run` of one command: what goes in and out of it, how it ends, and what is recorded about it."""

from __future__ import annotations

import os
import platform
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import PYTHON, Corral, until

QUICK = ("run", "--quiet", "--no-listeners")


@pytest.mark.parametrize(
    ("command", "status", "recorded"),
    [
        ("exit 0", 0, {"status": "finished", "exit_code": 0, "exit_signal": None, "end_reason": "exit"}),
        ("exit 3", 3, {"status": "failed", "exit_code": 3, "exit_signal": None, "end_reason": "exit"}),
        ("kill -KILL $$", 137, {"status": "failed", "exit_code": None, "exit_signal": 9, "end_reason": "signal"}),
    ],
)
def test_exit_status(corral: Corral, command: str, status: int, recorded: dict[str, object]) -> None:
    done = corral(*QUICK, "sh", "-c", command, status=status)
    assert (done.stdout, done.stderr) == (b"", b"")
    run = corral.show()
    assert {key: run[key] for key in recorded} == recorded
    assert corral.spooled() == []


def test_output_is_passed_on_byte_for_byte(corral: Corral, rng: random.Random) -> None:
    out, error = rng.randbytes(5_000_000), rng.randbytes(100_000) + b"\n"
    (corral.home / "out").write_bytes(out)
    (corral.home / "err").write_bytes(error)
    done = corral(*QUICK, "sh", "-c", "cat err >&2; cat out")
    assert done.stdout == out
    assert done.stderr == error
    assert corral.logs().end == {"stdout": str(len(out)), "stderr": str(len(error))}


def test_output_is_stored_with_its_stream_and_time(corral: Corral) -> None:
    corral(*QUICK, "sh", "-c", "echo to out; echo to err >&2; printf 'no newline'")
    run = corral.show()
    logs = corral.logs()
    for chunk in logs.chunks:
        # When it was read, which may be a little after the end, on a busy machine more.
        assert int(run["start_ns"]) <= int(chunk["time_ns"]) <= int(run["end_ns"]) + 20_000_000_000
    assert logs.text("stdout") == "to out\nno newline"
    assert logs.text("stderr") == "to err\n"
    assert logs.gaps == []


def test_output_is_stored_bounded_and_the_gap_is_stated(corral: Corral) -> None:
    size = 40 << 20
    done = corral(
        *QUICK, PYTHON, "-c", f"import sys; [sys.stdout.buffer.write(b'%015d\\n' % i) for i in range({size >> 4})]"
    )
    assert len(done.stdout) == size
    logs = corral.logs()
    assert logs.end["stdout"] == str(size)
    (gap,) = logs.gaps
    head, tail = int(gap["from"]), size - int(gap["to"])
    assert 1 << 20 <= head <= 10 << 20
    assert 1 << 20 <= tail <= 10 << 20
    assert logs.text("stdout") == "".join(
        f"{i:015d}\n" for i in [*range(head >> 4), *range(int(gap["to"]) >> 4, size >> 4)]
    )


def test_input_reaches_the_command(corral: Corral) -> None:
    assert corral(*QUICK, "cat", stdin=b"line 1\nline 2").stdout == b"line 1\nline 2"


def test_python_is_unbuffered_unless_the_user_chose(corral: Corral) -> None:
    script = corral.script("print_it.py", "import os; print(repr(os.environ.get('PYTHONUNBUFFERED')))")
    assert corral(*QUICK, script).stdout == b"'1'\n"
    assert corral(*QUICK, script, env={"PYTHONUNBUFFERED": ""}).stdout == b"''\n"


def test_a_closed_reader_does_not_hurt_the_run(corral: Corral) -> None:
    mark = corral.home / "mark"
    code = f"for i in range(200_000): print('line', i)\nopen({str(mark)!r}, 'w').close()"
    script = corral.script("chatty.py", code)
    run = corral.start(*QUICK, script)
    assert run.stdout is not None
    assert run.stdout.readline() == b"line 0\n"
    run.stdout.close()
    assert run.wait(60) == 0
    assert mark.exists()
    assert corral.show()["status"] == "finished"


def test_a_reader_that_does_not_read_does_not_slow_the_command(corral: Corral) -> None:
    mark = corral.home / "mark"
    script = corral.script("chatty.py", f"print('x' * 1_000_000)\nopen({str(mark)!r}, 'w').close()")
    run = corral.start(*QUICK, script)
    until(mark.exists, "the command has printed more than a pipe holds, and gone on")
    assert run.poll() is None  # the output has not been read yet
    out, _ = run.communicate(timeout=60)
    assert out == b"x" * 1_000_000 + b"\n"
    assert run.returncode == 0


def test_missing_command(corral: Corral) -> None:
    assert b"no-such-command: command not found" in corral("run", "no-such-command", status=127).stderr
    assert b"./nothing" in corral("run", "./nothing", status=127).stderr


def test_a_script_without_its_ending_is_named(corral: Corral) -> None:
    corral.script("fine.py", "print(1)")
    assert b"fine: command not found; did you mean fine.py?" in corral("run", "fine", status=127).stderr


def test_secrets_of_the_command_line_are_masked(corral: Corral) -> None:
    command = ["true", "--api-key=abc", "--password", "hunter2", "--tokenizer", "bpe"]
    params = ["--param", "password=hunter2", "--param", "lr=0.1"]
    corral("run", *params, *command)
    shown = corral.wait_ended()
    assert shown["params"] == {"password": "***", "lr": "0.1"}
    facts = shown["info"]
    assert facts["command"] == ["true", "--api-key=***", "--password", "***", "--tokenizer", "bpe"]
    assert facts["masked.command"] == 2
    corral("run", "--no-mask", *params, *command)
    shown = corral.wait_ended()
    assert shown["params"] == {"password": "hunter2", "lr": "0.1"}
    facts = shown["info"]
    assert facts["command"] == command
    assert "masked.command" not in facts


def test_not_executable(corral: Corral) -> None:
    plain = corral.script("plain", "echo no")
    assert b"not executable" in corral("run", plain, status=126).stderr
    assert b"is a directory" in corral("run", corral.home, status=126).stderr
    broken = corral.script("broken", "#!/nowhere/interpreter\n")
    broken.chmod(0o755)
    assert str(broken).encode() in corral("run", broken, status=127).stderr
    assert corral.spooled() == []


def test_missing_script_names_the_nearest(corral: Corral) -> None:
    corral.script("train.py", "print(1)")
    error = corral("run", "trian.py", status=127).stderr
    assert b"trian.py: no such script; did you mean train.py?" in error
    assert str(corral.home).encode() in corral("run", "zzz.py", status=127).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "missing script or command; try: corral run train.py"),
        (["run", "--nme", "x", "true"], "unknown option --nme; did you mean --name?"),
        (["run", "--listeners", "proc+tre", "true"], "tre"),
        (["run", "--interval", "1ms", "true"], "--interval 0.001s: must be 10ms to 1h"),
        (["run", "--max-time", "5x", "true"], "--max-time: '5x': expected a duration"),
        (["run", "--param", "lr", "true"], "--param lr: expected KEY=VALUE, e.g. lr=0.1"),
        (["run", "--experiment", "", "true"], "--experiment: an empty name (an unset variable?)"),
        (["ls"], "corral ls: expected experiments, workloads, plans, runs, trash, archive, metrics RUN or phases RUN"),
        (["ls", "runs", "--store", "/etc/passwd"], "--store /etc/passwd: is a file"),
        (["diff", "slow"], "corral diff RUN RUN: expected two runs, got 1"),
        (["run", "--leftovers", "kill", "true"], "leave"),
        (["rnu", "true"], "did you mean 'run'?"),
        (["run", "--server", "http://localhost:1", "--store", "x", "true"], "choose one"),
    ],
)
def test_misuse(corral: Corral, arguments: list[str], message: str) -> None:
    done = corral(*arguments, status=2)
    assert done.stdout == b""
    assert message in done.stderr.decode()
    assert not corral.store.exists()


def test_every_verb_helps(corral: Corral) -> None:
    for verb in ("run", "serve", "ls", "show", "export", "doctor"):
        text = corral(verb, "--help").stdout.decode()
        assert "Examples:" in text
        assert f"corral {verb}" in text
    assert not corral.store.exists()


def test_what_the_user_says_is_recorded(corral: Corral) -> None:
    names = ("--experiment", "digits größer", "--workload", "3", "--name", "baseline")
    values = ("--param", "lr=0.1", "--param", "note=a=b, c", "--tag", "team=x", "--tag", "empty=")
    corral("run", "--quiet", *names, *values, "--", "true")
    run = corral.show()
    assert (run["experiment"], run["workload"], run["name"]) == ("digits größer", "3", "baseline")
    assert run["params"] == {"lr": "0.1", "note": "a=b, c"}
    assert run["tags"] == {"team": "x", "empty": "", "corral.outcome": "finished"}
    assert [e["name"] for e in corral.json("ls", "experiments")] == ["digits größer"]
    assert [w["name"] for w in corral.json("ls", "workloads")] == ["3"]


def git(directory: Path, *arguments: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"} | who
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=environment, capture_output=True, check=True, text=True
    )
    return done.stdout.strip()


def test_machine_code_and_command_are_recorded(corral: Corral) -> None:
    code = corral.home / "code"
    code.mkdir()
    script = code / "train.py"
    script.write_text("import sys; print(sys.argv[1:])\n")
    git(code, "init", "-q")
    git(code, "add", ".")
    git(code, "commit", "-qm", "first")
    assert corral(*QUICK, "train.py", "--lr", "a b", cwd=code).stdout == b"['--lr', 'a b']\n"
    script.write_text("print('changed')\n")
    corral(*QUICK, "train.py", cwd=code)

    clean, dirty = corral.show("@2"), corral.show("@1")
    assert clean["command"] == ["train.py", "--lr", "a b"]
    assert clean["host"] == platform.node()
    info = clean["info"]
    assert info["directory"] == str(code)
    assert info["user"] == "root" if os.geteuid() == 0 else info["user"]
    assert info["kernel"].startswith(f"Linux {platform.release()}")
    assert info["cpus"] == os.cpu_count()
    assert info["cpu"]
    assert info["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert info["interpreter"] == PYTHON
    assert info["interpreter_version"] == "Python " + ".".join(map(str, sys.version_info[:3]))
    assert (info["git_commit"], info["git_dirty"]) == (git(code, "rev-parse", "HEAD"), False)
    assert dirty["info"]["git_dirty"] is True


def test_outside_a_repository_the_reason_is_recorded(corral: Corral) -> None:
    corral(*QUICK, "true")
    run = corral.show()
    assert {"source": "git", "reason": "not in a git repository"} in run["unavailable"]
    assert "git_commit" not in run["info"]


def test_python_of_the_user_is_taken(corral: Corral) -> None:
    wrapper = corral.script("mypython", f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    wrapper.chmod(0o755)
    script = corral.script("a.py", "print('by the chosen one')")
    assert corral(*QUICK, script, env={"CORRAL_PYTHON": str(wrapper)}).stdout == b"by the chosen one\n"
    assert corral.show()["info"]["interpreter"] == str(wrapper)
    assert b"CORRAL_PYTHON" in corral("run", script, env={"CORRAL_PYTHON": "nothing"}, status=127).stderr


def test_progress_is_said_unless_quiet(corral: Corral) -> None:
    corral.serve()
    script = corral.script("two.py", "import corral\nfor loss in (2, 0.25): corral.log('loss', loss)")
    first, last = corral("run", "--no-listeners", "--name", "spoken", script).stderr.decode().splitlines()
    page = f"{corral.url()}/runs/{corral.show()['id']}"
    assert first == f"corral: run spoken · {page}"
    assert re.fullmatch(rf"corral: run spoken · finished after [\d.]+ m?s · loss 0.25 · {page}", last), last
    failed = corral("run", "--no-listeners", "--name", "failing", "false", status=1).stderr.decode().splitlines()[-1]
    assert re.fullmatch(r"corral: run failing · failed after [\d.]+ m?s · http://\S+", failed), failed
    assert corral("run", "--no-listeners", "--quiet", "true").stderr == b""


def test_signals_and_groups_of_the_command_are_its_own(corral: Corral) -> None:
    code = """
        import os, signal
        print(os.getsid(0) == os.getpid(), signal.pthread_sigmask(signal.SIG_BLOCK, []) == set())
        os.kill(os.getpid(), signal.SIGTERM)
    """
    script = corral.script("signals.py", code)
    assert corral(*QUICK, script, status=128 + signal.SIGTERM).stdout == b"True True\n"


def test_corral_alone_says_what_to_do_next(corral: Corral) -> None:
    said = corral().stdout.decode()
    assert "Nothing is recorded yet" in said
    assert "corral demo" in said
    assert "corral --help" in said
    assert not corral.store.exists()
    corral("run", "--no-listeners", "--name", "first", "true")
    wait = corral.start("run", "--no-listeners", "--name", "second", "sleep", "1000")
    until(lambda: b"second" in corral().stdout, "the running run is named")
    assert re.search(r"running   second  http://127.0.0.1:\d+/runs/[0-9a-f]{32}\n", corral().stdout.decode())
    wait.send_signal(signal.SIGINT)
    wait.communicate(timeout=100)
    corral.wait_ended()
    said = corral().stdout.decode()
    assert "last run  second, interrupted after " in said
    assert "running" not in said
    assert "corral explain @1" in said
    refused = corral("--server", "x", status=2)
    assert b"unknown command" in refused.stderr
    assert corral("runs", "list", status=2).stderr == b"corral: unknown command 'runs'; did you mean 'ls runs'?\n"


def test_an_option_of_corral_behind_the_script_is_told(corral: Corral) -> None:
    plain = corral.script("plain.py", "import sys; sys.exit(len(sys.argv) - 1)")
    told = corral("run", "--no-listeners", plain, "--name", "mine", status=2).stderr
    assert b"corral run: --name is passed to " in told
    assert b"come before the script" in told
    takes = corral.script("takes.py", "import argparse; p = argparse.ArgumentParser(); p.add_argument('--name')")
    assert b"is passed to" not in corral("run", "--no-listeners", takes, "--name=mine").stderr
    assert b"is passed to" not in corral("run", "--quiet", "--no-listeners", plain, "--name", status=1).stderr
    assert b"is passed to" not in corral("run", "--no-listeners", plain, "--lr", status=1).stderr

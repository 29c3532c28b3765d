"""Stops of a run before its own end: Ctrl-C, --max-time, and processes that outlive the command."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from support import PATIENCE, Corral, alive, until, until_said

QUICK = ("run", "--no-listeners")

# Tells that it is ready, and by which signals it was asked to end; heeds those that are named.
STUBBORN = """
    import os, signal, sys, time
    seen = open("seen", "a", buffering=1)
    def take(number, frame):
        seen.write(signal.Signals(number).name + "\\n")
        if signal.Signals(number).name in sys.argv[1:]:
            open("checkpoint", "w").write("saved")
            sys.exit(7)
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, take)
    open("ready", "w").write(str(os.getpid()))
    while True:
        time.sleep(0.01)
"""


def start_stubborn(corral: Corral, *options: str, heeds: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    script = corral.script("stubborn.py", STUBBORN)
    run = corral.start(*QUICK, *options, script, *heeds)
    until(lambda: read(corral, "ready"), "the script is ready")
    return run


def read(corral: Corral, name: str) -> str:
    path = corral.home / name
    return path.read_text() if path.exists() else ""


def test_ctrl_c_lets_the_script_write_its_checkpoint(corral: Corral) -> None:
    run = start_stubborn(corral, heeds=("SIGINT",))
    run.send_signal(signal.SIGINT)
    _, error = run.communicate(timeout=60)
    assert run.returncode == 7
    assert read(corral, "seen") == "SIGINT\n"
    assert read(corral, "checkpoint") == "saved"
    assert b"Ctrl-C again to hurry" in error
    corral.wait_spool_empty()
    facts = corral.show()
    assert (facts["status"], facts["end_reason"], facts["exit_code"]) == ("stopped", "interrupt", 7)


def test_after_the_grace_comes_sigterm(corral: Corral) -> None:
    run = start_stubborn(corral, "--grace", "200ms", heeds=("SIGTERM",))
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 7
    assert read(corral, "seen") == "SIGINT\nSIGTERM\n"


def test_at_last_comes_sigkill(corral: Corral) -> None:
    run = start_stubborn(corral, "--grace", "100ms")
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 128 + signal.SIGKILL
    assert read(corral, "seen") == "SIGINT\nSIGTERM\n"
    corral.wait_spool_empty()
    facts = corral.show()
    assert (facts["status"], facts["end_reason"], facts["exit_signal"]) == ("stopped", "interrupt", 9)


def test_more_ctrl_c_hurries(corral: Corral) -> None:
    run = start_stubborn(corral, "--grace", "1h")
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    until(lambda: read(corral, "seen") == "SIGINT\n", "the first arrived")
    run.send_signal(signal.SIGINT)
    until(lambda: read(corral, "seen") == "SIGINT\nSIGTERM\n", "the second arrived as SIGTERM")
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 128 + signal.SIGKILL
    assert time.monotonic() - began < 60


def test_sigterm_to_the_supervisor_is_passed_on(corral: Corral) -> None:
    run = start_stubborn(corral, heeds=("SIGTERM",))
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 7
    assert read(corral, "seen") == "SIGTERM\n"
    corral.wait_spool_empty()
    assert corral.show()["status"] == "stopped"


def test_a_closed_terminal_does_not_end_the_run(corral: Corral) -> None:
    run = start_stubborn(corral, heeds=("SIGINT",))
    run.send_signal(signal.SIGHUP)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 7
    assert read(corral, "seen") == "SIGINT\n"


def test_max_time_ends_what_ignores_signals_and_left_the_group(corral: Corral) -> None:
    script = corral.script(
        "family.py",
        """
        import os, signal, time
        def live(name):
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(s, signal.SIG_IGN)
            open(name, "w").write(str(os.getpid()))
            while True:
                time.sleep(1)
        if os.fork() == 0:  # another process group
            os.setpgid(0, 0)
            live("group")
        if os.fork() == 0:  # another session, and an orphan
            os.setsid()
            if os.fork() == 0:
                live("daemon")
            os._exit(0)
        live("leader")
        """,
    )
    # Enough for all to be there on a busy machine.
    run = corral.start(*QUICK, "--max-time", "30s", "--grace", "100ms", script)
    names = ("group", "daemon", "leader")
    until(lambda: all(read(corral, name) for name in names), "all three live")
    pids = [read(corral, name) for name in names]
    _, error = run.communicate(timeout=PATIENCE)
    assert run.returncode == 128 + signal.SIGKILL
    assert b"--max-time" in error
    assert [pid for pid in pids if alive(int(pid))] == []
    corral.wait_spool_empty()
    facts = corral.show()
    assert (facts["status"], facts["end_reason"]) == ("stopped", "max_time")
    assert facts["duration_s"] >= 30


def test_max_time_leaves_a_quick_run_alone(corral: Corral) -> None:
    corral(*QUICK, "--max-time", "1h", "true")
    assert corral.show()["status"] == "finished"


DAEMON = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open("daemon", "w").write(str(os.getpid()))
            while not os.path.exists("go"):
                time.sleep(0.01)
            print("the last word", flush=True)
        os._exit(0)
    os.wait()
    while not os.path.exists("daemon"):
        time.sleep(0.01)
"""


def test_leftovers_are_left_running_and_counted(corral: Corral) -> None:
    done = corral(*QUICK, corral.script("daemon.py", DAEMON), stdout=subprocess.DEVNULL)
    assert b"1 process outlived the command and is left running" in done.stderr
    assert alive(int(until(lambda: read(corral, "daemon"), "the daemon lives")))
    (event,) = [e for e in corral.events() if e["origin"] == "corral"]
    assert event["name"] == "processes outlived the command"
    assert str(event["attributes"]["count"]) == "1"
    assert corral.show()["status"] == "finished"


def test_leftovers_are_waited_for(corral: Corral) -> None:
    run = corral.start(*QUICK, "--leftovers", "wait", corral.script("daemon.py", DAEMON))
    daemon = int(until(lambda: read(corral, "daemon"), "the daemon lives"))
    said = until_said(run, b"process")
    assert b"waiting for 1 process that outlived" in said, said
    assert alive(daemon)
    assert run.poll() is None
    Path(corral.home / "go").touch()
    out, _ = run.communicate(timeout=60)
    assert out == b"the last word\n"
    assert run.returncode == 0
    assert not alive(daemon)
    corral.wait_spool_empty()
    assert corral.logs().text("stdout") == "the last word\n"


def test_ctrl_c_while_waiting_for_leftovers_ends_them(corral: Corral) -> None:
    run = corral.start(*QUICK, "--leftovers", "wait", corral.script("daemon.py", DAEMON))
    daemon = int(until(lambda: read(corral, "daemon"), "the daemon lives"))
    said = until_said(run, b"process")
    assert b"waiting for 1 process that outlived" in said, said
    os.kill(run.pid, signal.SIGINT)
    until(lambda: not alive(daemon), "the daemon was ended")
    run.communicate(timeout=60)
    assert run.returncode == 0  # the command's own

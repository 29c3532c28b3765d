"""A run whose supervisor was killed is supervised again: sampled, followed, stopped, ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from support import PYTHON, Corral, Counter, alive, check_steps, until

TICKS = """
    import os, sys, time
    open("pid", "w").write(str(os.getpid()))
    i = 0
    while not os.path.exists("stop"):
        i += 1
        print("tick", i, flush=True)
        time.sleep(0.01)
    print("the end")
"""


def start_and_kill(corral: Corral, *options: str) -> tuple[str, int]:
    """A run whose supervisor is gone, and its command's process."""
    run = corral.start("run", *options, corral.script("train.py", TICKS))
    pid = corral.home / "pid"
    until(lambda: pid.exists() and pid.read_text(), "it runs")
    (spooled,) = corral.spooled()
    until(lambda: b"tick 5" in (spooled / "out.log").read_bytes(), "it prints")
    run.kill()
    run.wait()
    return spooled.name, int(pid.read_text())


def adopt(corral: Corral, run: str, *options: str) -> subprocess.Popen[bytes]:
    adopted = corral.start("run", "--adopt", run, *options)
    until(lambda: (corral.spool / run / "manifest.json").read_text().count('"adoptions":1'), "it is taken over")
    return adopted


def check_output(corral: Corral, run: str) -> None:
    text = corral.logs(run).text("stdout")
    ticks = text.count("tick")
    assert text == "".join(f"tick {i + 1}\n" for i in range(ticks)) + "the end\n"


def test_a_run_without_supervisor_is_sampled_and_followed_again(corral: Corral) -> None:
    run, pid = start_and_kill(corral, "--listeners", "tree", "--interval", "50ms")
    killed_at = time.time_ns()
    adopted = adopt(corral, run, "--listeners", "tree", "--interval", "50ms")
    (corral.home / "pid").unlink()

    def sampled_again() -> bool:
        done = corral("export", run, "--metric", "*cpu*", status=None)
        return any(int(line.split(b",")[2]) > killed_at for line in done.stdout.splitlines()[1:])

    until(sampled_again, "it is sampled")
    assert alive(pid)
    (corral.home / "stop").touch()
    out, _ = adopted.communicate(timeout=60)
    assert adopted.returncode == 125  # nobody knows its exit status
    assert out.endswith(b"the end\n")
    corral.wait_spool_empty()
    facts = corral.show(run)
    assert (facts["status"], facts["exit_code"]) == ("unknown", None)
    assert facts["tags"]["corral.outcome"] == "unknown"
    assert [e["name"] for e in corral.events(run) if e["origin"] == "corral"] == ["another supervisor took over"]
    check_output(corral, run)
    assert not facts["drops"]["frames"]


def test_a_server_that_finishes_the_run_hands_it_over(corral: Corral) -> None:
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run, _ = start_and_kill(corral, "--no-listeners")
    lock = os.stat(corral.spool / run / "lock").st_ino

    def server_has_it() -> bool:
        pid = corral.server_pid()
        return f":{lock} " in Path("/proc/locks").read_text() and pid is not None and held_by(pid, lock)

    until(server_has_it, "the server has taken it over")
    adopted = adopt(corral, run, "--no-listeners")
    assert not (corral.spool / run / "handover").exists()
    (corral.home / "stop").touch()
    adopted.communicate(timeout=60)
    corral.wait_spool_empty()
    assert corral.show(run)["status"] == "unknown"
    check_output(corral, run)


def held_by(pid: int, inode: int) -> bool:
    for entry in Path("/proc/locks").read_text().splitlines():
        fields = entry.split()
        if fields[1] == "FLOCK" and int(fields[4]) == pid and fields[5].endswith(f":{inode}"):
            return True
    return False


def test_an_adopted_run_can_be_stopped(corral: Corral) -> None:
    run, pid = start_and_kill(corral, "--no-listeners")
    adopted = adopt(corral, run, "--no-listeners")
    adopted.send_signal(signal.SIGINT)
    adopted.communicate(timeout=60)
    assert not alive(pid)
    corral.wait_spool_empty()
    facts = corral.show(run)
    assert (facts["status"], facts["tags"]["corral.outcome"]) == ("stopped", "interrupted")


def test_one_that_has_ended_meanwhile_is_ended(corral: Corral) -> None:
    corral.store.write_text("no store yet")  # a server would end it first
    run, pid = start_and_kill(corral, "--no-listeners")
    (corral.home / "stop").touch()
    until(lambda: not alive(pid), "the command has ended")
    corral.make_way()
    corral("run", "--adopt", run[:8], "--no-listeners", status=125)
    corral.wait_spool_empty()
    assert corral.show(run)["tags"]["corral.outcome"] == "unknown"
    check_output(corral, run)


def test_what_cannot_be_adopted_says_why(corral: Corral) -> None:
    run = corral.start("run", "--no-listeners", corral.script("train.py", TICKS))
    (spooled,) = until(corral.spooled, "it is spooled")
    manifest = spooled / "manifest.json"
    until(manifest.exists, "its manifest is there")
    until(lambda: '"child"' in (spooled / "manifest.json").read_text(), "it runs")
    done = corral("run", "--adopt", spooled.name, status=1)
    assert f"supervisor that lives: process {run.pid}".encode() in done.stderr
    done = corral("run", "--adopt", "f" * 32, status=1)
    assert b"waits in the spool" in done.stderr
    done = corral("run", "--adopt", spooled.name, "true", status=2)
    assert b"--adopt" in done.stderr
    (corral.home / "stop").touch()
    run.communicate(timeout=60)
    assert run.returncode == 0


def test_a_scheduler_hears_of_an_adopted_run(corral: Corral) -> None:
    run, _ = start_and_kill(corral, "--no-listeners")
    own, theirs = socket.socketpair()
    word = corral.home / "word.json"
    adopted = corral.start(
        *("run", "--adopt", run, "--no-listeners", "--gate", f"-1,{theirs.fileno()}", "--last-word", word),
        pass_fds=(theirs.fileno(),),
    )
    theirs.close()
    reports = own.makefile("r")
    assert reports.readline() == '{"ready":true}\n'
    assert reports.readline().startswith('{"started_ns":')
    own.send(b'{"stop": "B has ended"}\n')
    last = reports.readline()
    assert '"outcome":"stopped","reason":"B has ended"' in last
    adopted.communicate(timeout=60)
    assert word.read_text() == last
    own.close()


def test_logged_points_survive_one_supervisor_after_the_other(corral: Corral) -> None:
    counter: Counter = corral.counter()
    supervisor = corral.start("run", "--no-listeners", *counter.program(10**9, pause=0.01), stdout=subprocess.DEVNULL)
    until(lambda: counter.returned > 0, "it logs")
    (spooled,) = corral.spooled()
    manifest = spooled / "manifest.json"
    for i in range(3):
        supervisor.kill()
        supervisor.wait()
        before = counter.returned
        supervisor = corral.start("run", "--no-listeners", "--adopt", spooled.name)
        until(lambda i=i: f'"adoptions":{i + 1}' in manifest.read_text(), "taken over")  # type: ignore[misc]
        until(lambda before=before: counter.returned > before + 500, "it logs on")  # type: ignore[misc]
    os.kill(counter.pid, signal.SIGKILL)
    supervisor.communicate(timeout=60)
    corral.wait_spool_empty()
    check_steps(corral.points(spooled.name, "x"), counter.returned, in_flight=1)


def test_a_run_at_a_terminal_is_followed_in_its_file(corral: Corral) -> None:
    master, slave = os.openpty()
    run = corral.start(
        *("run", "--no-listeners", "--quiet", corral.script("train.py", TICKS)),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    until(lambda: (corral.home / "pid").exists(), "it runs")
    (spooled,) = corral.spooled()
    until(lambda: b"tick 5" in (spooled / "tty.log").read_bytes(), "it prints")
    run.kill()
    run.wait()
    os.close(master)
    adopted = adopt(corral, spooled.name, "--no-listeners")
    (corral.home / "stop").touch()
    out, _ = adopted.communicate(timeout=60)
    assert out.endswith(b"the end\r\n")
    corral.wait_spool_empty()
    assert corral.logs(spooled.name).text("tty").endswith("the end\r\n")


def test_an_environment_is_what_the_command_runs_in(corral: Corral) -> None:
    venv = corral.home / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    script = corral.script("train.py", "import os, sys; print(sys.prefix, os.environ['PATH'].split(':')[0])")
    out = corral("run", "--no-listeners", "--quiet", "--environment", f"venv={venv}", script).stdout.decode()
    assert out == f"{venv} {venv}/bin\n"
    facts = corral.show()
    assert "environment.kind" in str(facts)
    done = corral("run", "--environment", "venv=/no/such/venv", script, status=None)
    assert done.returncode in (126, 127)
    assert b"/no/such/venv" in done.stderr

"""A run at a terminal: the command has one of its own, the person's is as it was before, and if any process is killed,
the training goes on. Through real ptys."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from person import Person
from support import BINARY, Corral, alive, until

QUICK = ("run", "--no-listeners", "--quiet")


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def number(path: Path) -> int:
    until(lambda: path.exists() and path.read_text(), f"{path.name} is written")
    return int(path.read_text())


def stands_still(file: Path) -> bool:
    before = file.stat().st_size
    time.sleep(0.3)
    return file.stat().st_size == before


def holder_of(corral: Corral) -> int:
    def found() -> int | None:
        for pid in corral.processes():
            with contextlib.suppress(OSError):  # others come and go
                if Path(f"/proc/{pid}/comm").read_text() == "pty-holder\n":
                    return pid
        return None

    return int(until(found, "a holder is there"))


def test_the_command_has_a_terminal_of_the_same_size_and_sees_it_change(corral: Corral, person: Person) -> None:
    script = corral.script(
        "train.py",
        """
        import os, signal, sys
        signal.signal(signal.SIGWINCH, lambda *_: print("now", *os.get_terminal_size()))
        print(all(map(os.isatty, range(3))), os.ttyname(0) != sys.argv[1], *os.get_terminal_size())
        open("/dev/tty").close()
        while os.get_terminal_size().lines != 50:
            signal.sigtimedwait([], 0.01)
        """,
    )
    person.resize(30, 100)
    run = person.start(*QUICK, script, os.ttyname(person.slave))
    person.until_seen(b"True True 100 30")
    person.resize(50, 132)
    os.kill(run.pid, signal.SIGWINCH)  # the kernel's own goes to the foreground group, which this is too
    assert person.wait(run) == 0
    assert b"now 132 50" in person.seen


def test_output_passes_byte_for_byte(corral: Corral, person: Person) -> None:
    bar = "".join(f"\r\x1b[1m{i:3d} %\x1b[0m |{'█' * (i // 10)}" for i in range(0, 101, 5)) + "\r\x1b[2Kdone\a\n"
    script = corral.script("train.py", f"import sys; sys.stdout.write({bar!r}); sys.stderr.write('warned\\n')")
    assert person.wait(person.start(*QUICK, script)) == 0
    expected = bar.replace("\n", "\r\n") + "warned\r\n"
    assert person.seen.decode() == expected
    corral.wait_spool_empty()
    assert corral.logs().text("tty") == expected
    assert corral.logs().text("stdout") == ""
    assert person.as_before()


def test_the_last_of_much_output_arrives(corral: Corral, person: Person) -> None:
    script = corral.script("train.py", "print('x' * 79 + '\\n', end='')\nfor i in range(20000): print(i)")
    assert person.wait(person.start(*QUICK, script)) == 0
    lines = person.seen.decode().split("\r\n")
    assert lines == ["x" * 79, *map(str, range(20000)), ""]
    corral.wait_spool_empty()
    assert corral.logs().text("tty") == person.seen.decode()


def test_what_is_typed_reaches_the_command(corral: Corral, person: Person) -> None:
    script = corral.script("train.py", "name = input('who? ')\nprint('hello', name)\nprint(repr(input('and? ')))")
    run = person.start(*QUICK, script)
    person.until_seen(b"who? ")
    person.type(b"adx\x7fa\r")
    person.until_seen(b"hello ada\r\n")
    person.until_seen(b"and? ")
    person.type(b"\x04")  # the end of input
    assert person.wait(run) == 1
    assert b"EOFError" in person.seen
    assert person.as_before()


STUBBORN = """
    import os, signal, sys, time
    seen = open("seen", "a", buffering=1)
    def take(number, frame):
        seen.write(signal.Signals(number).name + "\\n")
        if signal.Signals(number).name in sys.argv[1:]:
            print("saved")
            sys.exit(7)
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, take)
    print("ready")
    while True:
        time.sleep(0.01)
"""


def test_ctrl_c_lets_it_write_its_checkpoint(corral: Corral, person: Person) -> None:
    run = person.start(*QUICK, corral.script("train.py", STUBBORN), "SIGINT")
    person.until_seen(b"ready\r\n")
    until(person.raw, "the terminal is raw")
    person.type(b"\x03")
    assert person.wait(run) == 7
    assert b"saved\r\n" in person.seen
    assert (corral.home / "seen").read_text() == "SIGINT\n"
    assert person.as_before()
    assert corral.wait_ended()["tags"]["corral.outcome"] == "interrupted"


def test_more_ctrl_c_hurries(corral: Corral, person: Person) -> None:
    run = person.start(*QUICK, "--grace", "1h", corral.script("train.py", STUBBORN))
    person.until_seen(b"ready\r\n")
    until(person.raw, "the terminal is raw")
    person.type(b"\x03")
    seen = corral.home / "seen"
    until(lambda: seen.read_text() == "SIGINT\n", "the first arrived")
    person.type(b"\x03\x03")
    assert person.wait(run) == 128 + signal.SIGKILL
    assert person.as_before()


TICKS = """
    import os, sys, time
    open("pid", "w").write(str(os.getpid()))
    i = 0
    while not os.path.exists("stop"):
        i += 1
        print("tick", i)
        time.sleep(0.01)
    print("the end")
    open("ended", "w").write(str(i))
"""


def test_ctrl_z_stops_both_and_fg_goes_on(corral: Corral, person: Person) -> None:
    script = corral.script("train.py", TICKS)
    shell = person.shell()
    person.type(f"{BINARY} {' '.join(QUICK)} {script}; echo status $?\n".encode())
    person.until_seen(b"tick 5\r\n")
    command = number(corral.home / "pid")
    supervisor = int(Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[1])
    person.type(b"\x1a")
    until(lambda: state(supervisor) == state(command) == "T", "both are stopped")
    person.until_seen(b"Stopped")
    assert not shell.poll()
    person.type(b"fg\n")
    until(lambda: state(supervisor) != "T" and state(command) != "T", "both go on")
    until(person.raw, "the terminal is raw again")
    before = person.look().count(b"tick")
    until(lambda: person.look().count(b"tick") > before + 5, "it prints")
    # Once more, and on in the background, where the terminal is the shell's.
    person.type(b"\x1a")
    until(lambda: state(supervisor) == state(command) == "T", "both are stopped")
    person.type(b"bg\n")
    until(lambda: state(command) != "T", "it goes on")
    (corral.home / "stop").touch()
    until(lambda: not alive(supervisor), "it ends in the background")
    person.until_seen(b"the end")
    person.type(b"echo over\n")
    person.until_seen(b"over\r\n")
    person.type(b"exit\n")
    person.wait(shell)
    ticks = int((corral.home / "ended").read_text())
    corral.wait_spool_empty()
    assert corral.logs().text("tty") == "".join(f"tick {i + 1}\r\n" for i in range(ticks)) + "the end\r\n"


def check_ticks(corral: Corral) -> None:
    """Everything that was printed is stored, once."""
    ticks = number(corral.home / "ended")
    corral.wait_spool_empty()
    assert corral.logs().text("tty") == "".join(f"tick {i + 1}\r\n" for i in range(ticks)) + "the end\r\n"


def test_kill_9_of_the_supervisor_leaves_the_training_and_the_terminal(corral: Corral, person: Person) -> None:
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = person.start(*QUICK, corral.script("train.py", TICKS))
    person.until_seen(b"tick 5\r\n")
    until(person.raw, "the terminal is raw")
    run.kill()
    person.wait(run)
    until(person.as_before, "the holder has given the terminal back")
    command = number(corral.home / "pid")
    output = corral.spooled()[0] / "tty.log"
    size = output.stat().st_size
    until(lambda: output.stat().st_size > size + 4096, "it goes on printing")
    assert alive(command)
    (corral.home / "stop").touch()
    check_ticks(corral)
    assert corral.show()["status"] == "unknown"
    until(lambda: not [p for p in corral.processes() if p != corral.server_pid()], "nobody is left")


def test_kill_9_of_the_holder_is_not_noticed(corral: Corral, person: Person) -> None:
    run = person.start(*QUICK, corral.script("train.py", TICKS))
    person.until_seen(b"tick 5\r\n")
    command = number(corral.home / "pid")
    output = corral.spooled()[0] / "tty.log"
    for _ in range(3):
        holder = holder_of(corral)
        # Not while it has something in its hands: what it has read and not yet written goes with it.
        os.kill(command, signal.SIGSTOP)
        until(
            lambda holder=holder: stands_still(output) and state(holder) == "S",  # type: ignore[misc]
            "all that was printed is stored",
        )
        os.kill(holder, signal.SIGKILL)
        until(lambda holder=holder: not alive(holder), "it is gone")  # type: ignore[misc]
        until(lambda holder=holder: holder_of(corral) != holder, "another has taken its place")  # type: ignore[misc]
        os.kill(command, signal.SIGCONT)
        before = person.look().count(b"tick")
        until(lambda before=before: person.look().count(b"tick") > before + 5, "it prints")  # type: ignore[misc]
    (corral.home / "stop").touch()
    assert person.wait(run) == 0
    check_ticks(corral)
    assert person.as_before()


def test_kill_9_of_both_leaves_the_training(corral: Corral, person: Person) -> None:
    script = corral.script(
        "train.py",
        """
        import os, time
        open("pid", "w").write(str(os.getpid()))
        while not os.path.exists("stop"):
            time.sleep(0.01)
        open("ended", "w").write("1")
        """,
    )
    run = person.start(*QUICK, script)
    command = number(corral.home / "pid")
    holder = holder_of(corral)
    run.kill()
    person.wait(run)
    os.kill(holder, signal.SIGKILL)
    until(lambda: not alive(holder), "the holder is gone")
    (corral.home / "stop").touch()
    assert number(corral.home / "ended") == 1
    until(lambda: not alive(command), "it ends by itself")


def test_a_closed_terminal_does_not_end_the_run(corral: Corral, person: Person) -> None:
    run = person.start(*QUICK, corral.script("train.py", TICKS))
    person.until_seen(b"tick 5\r\n")
    person.close()
    command = number(corral.home / "pid")
    output = corral.spooled()[0] / "tty.log"
    size = output.stat().st_size
    until(lambda: output.stat().st_size > size + 1024, "it goes on printing")
    assert alive(command)
    (corral.home / "stop").touch()
    assert run.wait(60) == 0
    check_ticks(corral)


def test_leftovers_keep_their_terminal(corral: Corral, person: Person) -> None:
    code = "(while [ ! -e stop ]; do sleep 0.01; done; echo late; touch ended) & echo early"
    run = person.start(*QUICK, "sh", "-c", code)
    assert person.wait(run) == 0
    assert b"early\r\n" in person.seen
    (corral.home / "stop").touch()
    until((corral.home / "ended").exists, "what was left behind ends by itself")
    until(lambda: not [p for p in corral.processes() if p != corral.server_pid()], "the holder left, too")


def test_without_a_pty_when_asked(corral: Corral, person: Person) -> None:
    run = person.start(
        *QUICK, "--no-pty", "python3", "-c", "import os; print(os.isatty(0), os.isatty(1), os.isatty(2))"
    )
    assert person.wait(run) == 0
    assert person.seen == b"True False False\r\n"
    corral.wait_spool_empty()
    assert corral.logs().text("stdout") == "True False False\n"

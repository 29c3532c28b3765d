"""`corral watch`: what a terminal shows, and in which state it is left. Through real ptys."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import unicodedata

import pytest
from person import Person
from plan_support import Plan
from support import BINARY, Corral, until

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
# Logs a loss for each step, until a file is there.
TRAIN = """
    import corral, os, sys, time
    print("ready")
    step = 0
    while not os.path.exists("stop"):
        with corral.phase("step"):
            time.sleep(0.01)
        corral.log("loss", 1 / (1 + step), step=step)
        step += 1
        if step % 10 == 0:
            print("line", step)
    print("the end")
"""


class Display:
    """A terminal that shows bytes. Every sequence that `corral watch` may not send is an error."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.clear()

    def clear(self) -> None:
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0

    def take(self, text: str) -> Display:
        for token in re.finditer(r"\x1b\[(\??[\d;]*)([A-Za-z])|(.)", text, re.DOTALL):
            numbers, command, character = token.groups()
            if character is not None:
                self.write(character)
            elif command == "H":
                self.row, self.column = (int(n) - 1 for n in numbers.split(";"))
                assert self.row < self.rows, token[0]
                assert self.column < self.columns, token[0]
            elif command == "K":
                self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
            elif command == "J":
                self.clear()
            else:
                assert command in "mhl", token[0]
        return self

    def write(self, character: str) -> None:
        assert unicodedata.category(character) not in ("Cc", "Zl", "Zp"), repr(character)
        if unicodedata.combining(character):
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        assert self.column + width <= self.columns, "a line is longer than the screen"
        self.cells[self.row][self.column] = character
        self.column += width

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Watcher:
    """`corral watch` before somebody."""

    def __init__(self, person: Person, *arguments: str, size: tuple[int, int] = (24, 80)) -> None:
        person.corral.environment["TERM"] = "xterm-256color"
        person.resize(*size)
        self.person, self.size = person, size
        self.process = person.start("watch", *arguments)

    def shown(self) -> str:
        """The screen, from the newest time that all of it was drawn."""
        seen = self.person.look().decode(errors="ignore")
        seen = re.sub(r"\x1b(\[[?\d;]*)?$", "", seen)  # the rest is not there yet
        return Display(*self.size).take(seen.rpartition("\x1b[2J")[2]).text()

    def until_shown(self, *parts: str) -> str:
        try:
            until(lambda: all(part in self.shown() for part in parts), "it is on the screen")
        except AssertionError:
            raise AssertionError(f"{parts} are not all in\n{self.shown()}") from None
        return self.shown()

    def until_matches(self, pattern: str) -> str:
        until(lambda: re.search(pattern, self.shown()), f"{pattern} is on the screen")
        return self.shown()

    def leave(self, keys: bytes = b"q", status: int = 0) -> None:
        self.person.type(keys)
        self.check_left(status)

    def check_left(self, status: int) -> None:
        assert self.person.wait(self.process) == status
        assert self.person.as_before()
        seen = self.person.seen.decode(errors="ignore")
        assert seen.startswith(ENTER)
        assert seen.endswith(LEAVE)


def start_run(corral: Corral, *options: str, script: str = TRAIN) -> subprocess.Popen[bytes]:
    """A run that the server knows."""
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = corral.start("run", "--quiet", *options, corral.script("train.py", script), stdout=subprocess.DEVNULL)
    until(corral.runs, "the run is stored")
    return run


def end_run(corral: Corral, run: subprocess.Popen[bytes]) -> None:
    (corral.home / "stop").touch()
    assert run.wait(60) == 0


def test_a_run_is_shown_until_its_end_and_until_q(corral: Corral, person: Person) -> None:
    run = start_run(corral, "--name", "otter", "--experiment", "digits", "--param", "steps=1000000")
    watch = Watcher(person)
    live = watch.until_shown("otter", "running", "digits", "loss", "a step", "left (param steps)", "CPUs", "line ")
    assert re.search(r"memory +█*.?░* \d", live), live
    assert re.search(r"^GPU +n/a: \S", live, re.MULTILINE) or "gpu0" in live, live
    assert re.search(r"^loss +\S+ +[\u2801-\u28ff]", live, re.MULTILINE), live
    end_run(corral, run)
    ended = watch.until_shown("finished, exit status 0", "the end", "Where the time goes", "ended · q quits")
    assert "left (" not in ended
    watch.until_shown(corral.json("explain", "otter")["summary"][:60])
    assert watch.process.poll() is None
    watch.leave()


def test_a_loss_that_is_not_a_number_any_more_is_shown(corral: Corral, person: Person) -> None:
    diverging = TRAIN.replace("1 / (1 + step)", "0.5 if step < 3 else float('nan')")
    run = start_run(corral, "--name", "otter", script=diverging)
    watch = Watcher(person)
    watch.until_matches(r"(?m)^loss +NaN \(\d+ NaN\)")
    end_run(corral, run)
    watch.until_shown("ended · q quits")
    watch.leave()
    assert re.search(rb"\x1b\[0;31m[^\x1b]*NaN \(\d+ NaN", person.seen), person.seen


def test_runs_that_are_removed_meanwhile_are_no_success(corral: Corral) -> None:
    run = start_run(corral, "--name", "otter", "--experiment", "digits")
    lines = corral.start("watch", "digits", "--interval", "500ms")
    assert lines.stdout
    assert b"experiment digits: " in lines.stdout.readline()
    corral("rm", "--now", "--yes", "--force", "otter")
    assert b"experiment digits has no runs" in lines.communicate(timeout=60)[0]
    assert lines.returncode == 1
    end_run(corral, run)


@pytest.mark.parametrize(
    ("keys", "signal_number", "status"),
    [(b"\x03", 0, 0), (b"\x1b", 0, 0), (b"", signal.SIGTERM, 143), (b"", signal.SIGHUP, 129)],
)
def test_the_terminal_is_restored(corral: Corral, person: Person, keys: bytes, signal_number: int, status: int) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "true")
    watch = Watcher(person)
    watch.until_shown("otter")
    assert person.raw()
    if signal_number:
        os.kill(watch.process.pid, signal_number)
    watch.leave(keys, status)


def test_sequences_in_names_and_output_do_not_reach_the_terminal(corral: Corral, person: Person) -> None:
    name = "a\x1b[2J\x1b]0;title\x07\u202e日本e\u0301"
    code = r"print('\x1b]0;taken\x07\x1b[5;5Hout\u202eput\x9b31m \x1b[31mred')"
    corral("run", "--quiet", "--no-listeners", "--name", name, corral.script("train.py", code))
    watch = Watcher(person, "@1")
    watch.until_shown(r"a\x1b[2J\x1b]0;title", "日", "red")
    watch.leave()
    seen = person.seen.decode()
    assert "e\u0301" in seen, "a mark stays on its character"
    assert "\x07" not in seen
    assert not re.search(r"\x1b(?!\[)|\u202e|\x9b|\x1b\[5;5H", seen)


def test_a_new_size_is_drawn(corral: Corral, person: Person) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "true")
    watch = Watcher(person)
    watch.until_shown("otter", "ended · q quits")
    for size in ((10, 40), (50, 132)):
        before = len(person.look())
        person.resize(*size)
        until(lambda before=before: b"\x1b[2J" in person.look()[before:], "it is cleared")  # type: ignore[misc]
        watch.size = size
        assert watch.until_shown("otter", "ended · q quits").splitlines()[-1] == "ended · q quits"
    watch.leave()


def test_ctrl_l_draws_all_again(corral: Corral, person: Person) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "true")
    watch = Watcher(person)
    watch.until_shown("otter", "ended · q quits")
    before = len(person.look())
    person.type(b"\x0c")
    until(lambda: b"\x1b[2J" in person.look()[before:], "it is cleared")
    watch.until_shown("otter", "ended · q quits")
    watch.leave()


def test_without_colours_nothing_is_coloured(corral: Corral, person: Person) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "--", "sh", "-c", "exit 3", status=3)
    watch = Watcher(person, "--no-color")
    watch.until_shown("otter", "failed, exit status 3", "ended · q quits")
    watch.leave()
    assert not re.search(rb"\x1b\[[\d;]*3\d[\d;]*m", person.seen)


def test_a_long_interval_holds_up_no_picture_that_was_asked_for(corral: Corral, person: Person) -> None:
    for i in range(2):
        corral("run", "--quiet", "--no-listeners", "--workload", "w", "--name", f"run-{i}", "true")
        corral.wait_ended(f"run-{i}")
    watch = Watcher(person, "w", "--interval", "1h")
    watch.until_shown("run-0", "run-1", "2 of 2 runs ended")
    person.type(b"\r")
    watch.until_shown("finished, exit status 0", "Esc goes back")
    person.type(b"\x1b")
    watch.until_shown("2 of 2 runs ended", "Enter opens")
    watch.leave()


def test_few_bytes_are_sent(corral: Corral, person: Person) -> None:
    """At most 4 KiB/s for a run that changes all the time, and none for one that has ended."""
    run = start_run(corral, "--name", "otter")
    watch = Watcher(person, size=(60, 200))
    watch.until_shown("otter")
    begun, before = time.monotonic(), len(person.look())
    until(lambda: (person.look(), time.monotonic() - begun >= 10)[1], "10 s of it")
    sent = len(person.look()) - before
    assert 0 < sent <= 4096 * (time.monotonic() - begun)
    end_run(corral, run)
    watch.until_shown("ended · q quits", "the end", "Where the time goes")
    begun = time.monotonic()
    quiet = len(person.look())

    def still() -> bool:
        nonlocal begun, quiet
        if len(person.look()) != quiet:
            begun, quiet = time.monotonic(), len(person.seen)
        return time.monotonic() - begun >= 2  # four times the time between two pictures

    until(still, "nothing more is sent")
    watch.leave()


def test_a_plan_has_a_row_for_each_run_and_opens_them(corral: Corral, person: Person) -> None:
    rows = [
        "E,1,first,,,-,-,work.sh,first",
        "E,2,second,,,-,-,work.sh,second '' 3",
        "E,3,third,,,-,-,work.sh,third ./go",
        "E,4,fourth,,,-,-,work.sh,fourth",
    ]
    plan = Plan(corral, rows)
    scheduler = plan.start()
    plan.until_started("third")
    until(lambda: corral.json("ls", "plans"), "the plan is listed")
    watch = Watcher(person, "plan.csv")
    watch.until_matches(r"> .*third +running")
    shown = watch.until_shown("2 of 4 runs ended, 1 failed", "waiting, place 1 in the queue")
    lines = [line for line in shown.splitlines() if "work" in line or re.search(r"first|second|third|fourth", line)]
    assert [re.findall(r"first|second|third|fourth", line)[0] for line in lines[-4:]] == [
        "first",
        "second",
        "third",
        "fourth",
    ]
    assert re.search(r"second.* failed: .*last words of second", shown), shown
    person.type(b"\x1b[A\x1b[Aj\r")
    watch.until_shown("failed, exit status 3", "Esc goes back", "last words of second")
    person.type(b"\x1b")
    watch.until_shown("2 of 4 runs ended", "Enter opens")
    plan.allow()
    watch.until_shown("4 of 4 runs ended, 1 failed")
    plan.end(scheduler, status=1)
    watch.leave()


def test_a_list_that_is_taller_than_the_screen_scrolls(corral: Corral, person: Person) -> None:
    for i in range(6):
        corral("run", "--quiet", "--no-listeners", "--workload", "many", "--name", f"run-{i}", "true")
    watch = Watcher(person, "many", size=(7, 80))
    watch.until_shown("run-0", "run-2", "6 of 6 runs ended")
    assert "run-3" not in watch.shown()
    person.type(b"\x1b[6~")
    assert "run-0" not in watch.until_shown("> run-3")
    person.type(b"G")
    watch.until_shown("> run-5")
    person.type(b"kkkkk")
    watch.until_shown("> run-0")
    watch.leave()


def test_a_server_that_goes_away_is_waited_for(corral: Corral, person: Person) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "true")
    corral.wait_ended()
    watch = Watcher(person)
    watch.until_shown("otter", "ended · q quits")
    corral.kill_server()
    watch.until_shown("otter", "trying again")
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    watch.until_shown("otter", "ended · q quits")
    watch.leave()


def test_a_server_that_does_not_answer_is_said(corral: Corral, person: Person) -> None:
    run = start_run(corral, "--name", "otter")
    watch = Watcher(person)
    watch.until_shown("otter", "running", "a step")
    server = corral.server_pid()
    assert server is not None
    os.kill(server, signal.SIGSTOP)
    watch.until_matches(r"last answer \d+ s ago · q quits$")
    os.kill(server, signal.SIGCONT)
    end_run(corral, run)
    watch.until_shown("finished, exit status 0", "ended · q quits")
    watch.leave()


def test_ctrl_z_gives_the_terminal_back_until_fg(corral: Corral, person: Person) -> None:
    corral("run", "--quiet", "--no-listeners", "--name", "otter", "true")
    corral.environment["TERM"] = "xterm"
    shell = person.shell()
    person.type(f"{BINARY} watch\n".encode())
    person.until_seen(b"otter")
    person.type(b"\x1a")
    person.until_seen(b"Stopped")
    left, _, after = person.seen.partition(b"Stopped")
    assert LEAVE.encode() in left, "the terminal is restored before the shell writes"
    assert b"\x1b[2J" not in after
    until(lambda: not person.raw() or person.as_before(), "the shell has the terminal")
    before = len(person.look())
    person.type(b"fg\n")
    until(lambda: b"otter" in person.look()[before:], "it is drawn again")
    person.type(b"q")
    until(lambda: LEAVE.encode() in person.look()[before:], "it has left")
    person.type(b"exit\n")
    person.wait(shell)


def test_without_a_terminal_each_change_is_a_line(corral: Corral, person: Person) -> None:
    run = start_run(corral, "--name", "otter\x1b[2J")
    lines = corral.start("watch", "--interval", "500ms")
    person.corral.environment["TERM"] = "dumb"
    dumb = person.start("watch", "--interval", "500ms")
    until(lambda: re.search(rb"otter.*running, step \d+, loss \d", person.look()), "it is said how far the run is")
    end_run(corral, run)
    said = lines.communicate(timeout=60)[0].decode().splitlines()
    assert person.wait(dumb) == lines.returncode == 0
    assert b"\x1b" not in person.seen
    time_of = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d "
    assert all(re.match(time_of + re.escape(r"otter\x1b[2J: "), line) for line in said), said
    assert re.search(r": finished, step \d+", said[-1]), said
    assert len({re.sub(time_of, "", line) for line in said}) == len(said), "each line says something new"


def test_once_prints_one_picture(corral: Corral) -> None:
    for i in range(2):
        corral("run", "--quiet", "--no-listeners", "--workload", "w", "--name", f"run-{i}", "true")
        corral.wait_ended(f"run-{i}")
    one = corral("watch", "run-1", "--once").stdout.decode()
    assert one.startswith("run-1  finished, exit status 0"), one
    assert corral("watch", "--once").stdout.decode() == one, "the newest run"
    failing = ("--", "sh", "-c", "echo out of disk >&2; exit 3")
    corral("run", "--quiet", "--no-listeners", "--workload", "w", "--name", "run-2", *failing, status=3)
    corral.wait_ended("run-2")
    every = corral("watch", "w", "--once", "--no-color").stdout.decode()
    assert "3 of 3 runs ended, 1 failed" in every
    assert every.index("run-0") < every.index("run-1") < every.index("run-2")
    assert re.search(r"run-2 +failed: .*out of disk", every), every
    assert all(len(line) <= 80 for line in every.splitlines())


def test_wrong_input_is_refused(corral: Corral) -> None:
    corral("run", "--quiet", "--no-listeners", "true")
    assert b"must be 500ms to 1h" in corral("watch", "--interval", "10ms", status=2).stderr
    assert b"nothing-here" in corral("watch", "nothing-here", "--once", status=1).stderr

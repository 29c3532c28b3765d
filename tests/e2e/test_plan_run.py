"""`corral run plan.csv`: workloads in turn, their runs together; what interrupts it, and going on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import time

import pytest
from plan_support import HEADER, Plan, groups, interrupt, own_name
from support import BINARY, Corral, alive, until, until_said


def test_runs_of_a_workload_start_together(corral: Corral) -> None:
    own = own_name()
    plan = Plan(
        corral,
        [
            f"E,{own}7,left,,,0,-,work.sh,left 2",
            f"E,{own}7,right,,,0,-,work.sh,right 2",
            f"E,{own}8,,,,,-,work.sh,alone",
        ],
    )
    said = plan.run()
    assert "3 of 3 runs finished" in said
    rows = plan.rows()
    assert rows["left"]["Status"] == "FINISHED left (0_A)"
    runs = {run["name"]: run for run in corral.runs()}
    assert set(runs) == {"left", "right", f"({own}8 cpu) work"}
    left, right = corral.show("left"), corral.show("right")
    assert (left["id"], right["id"]) == (rows["left"]["Run"], rows["right"]["Run"])
    assert left["workload"] == right["workload"]
    tags = left["tags"]
    assert tags["corral.outcome"] == "finished"
    assert tags["corral.plan.file"] == "plan.csv"
    assert tags["corral.plan.row"] != right["tags"]["corral.plan.row"]
    assert tags["corral.letter"] == "0_A"
    assert json.loads(tags["corral.devices"]) == [{"device": "0"}]
    assert right["tags"]["mlflow.parentRunId"] == rows["left"]["Run"]
    assert float(tags["corral.start_skew_ms"]) == float(right["tags"]["corral.start_skew_ms"])
    document = plan.document()
    assert document["state"] == "finished"
    assert [run["state"] for run in document["runs"]] == ["finished"] * 3
    assert groups(own) == set()


def test_failures_are_told_and_the_plan_goes_on(corral: Corral) -> None:
    notices = corral.home / "notices"
    plan = Plan(
        corral,
        ["E,1,bad,,,,-,work.sh,bad 0 3", "E,2,none,,,,-,/nowhere/work,", "E,3,good,,,,-,work.sh,good"],
    )
    notify = f"cat >> {notices}; echo >> {notices}"
    # A program that is not there is the plan's error: nothing runs.
    assert "/nowhere/work" in plan.run(status=2)
    plan.write(["E,1,bad,,,,-,work.sh,bad 0 3", "E,2,killed,,,,-,kill.sh,", "E,3,good,,,,-,work.sh,good"])
    kill = plan.folder / "kill.sh"
    # Not -9: that may be the kernel's, for want of memory anywhere on the machine.
    kill.write_text("#!/bin/sh\nulimit -c 0\nkill -SEGV $$\n")
    kill.chmod(0o755)
    said = plan.run("--notify", notify, status=1)
    assert "last words of bad" in said
    assert plan.rows()["bad"]["Status"].startswith("FAILED failed bad")
    assert plan.rows()["killed"]["Status"].startswith("FAILED killed killed")
    assert plan.status("good") == "FINISHED"
    document = plan.document()
    assert document["state"] == "failed"
    assert document["runs"][0]["tail"] == ["last words of bad"]
    told = [json.loads(line) for line in notices.read_text().splitlines()]
    assert [t["event"] for t in told] == ["failed", "failed", "end"]
    assert told[0]["runs"][0]["name"] == "bad"
    # A failed run stays as it is until a retry is requested.
    plan.run(status=1)
    assert plan.starts() == ["bad", "good"]
    plan.run("--rerun", "--only", "1", status=1)
    assert plan.starts() == ["bad", "good", "bad"]


def test_a_choice_of_workloads(corral: Corral) -> None:
    plan = Plan(corral, [f"E,{n},w{n},,,,-,work.sh,w{n}" for n in (1, 2, 11)])
    before = plan.path.read_bytes()
    assert "$ " in plan.run("--dry-run")
    assert plan.path.read_bytes() == before
    assert not plan.starts()
    plan.run("--only", "1*", "--skip", "E/11")
    assert plan.starts() == ["w1"]
    plan.run("--shuffle", "5")
    order = plan.starts()
    plan.write([f"E,{n},w{n},,,,-,work.sh,w{n}" for n in (1, 2, 11)])
    plan.run("--shuffle", "5")
    again = plan.starts()[len(order) :]
    assert [w for w in again if w != "w1"] == order[1:]
    assert "--until" in plan.run("--until", "yesterday", status=2)


# Precise to a tenth of a millisecond no plan of short commands is; a factor of 100 it is after the ten blocks.
def test_a_plan_repeats_until_its_intervals_are_narrow(corral: Corral) -> None:
    plan = Plan(corral, ["E,a,a,,,,-,work.sh,a 0.3", "E,b,b,,,,-,work.sh,b 0.6"])
    blocks = ("--interval-of", "duration", "--shuffle", "5")
    said = plan.run("--until-interval", "99%", *blocks)
    assert "stopped by precision after 10 blocks: the widest interval is ±" in said
    starts = plan.starts()
    assert [sorted(starts[i : i + 2]) for i in range(0, len(starts), 2)] == [["a", "b"]] * 10
    assert plan.status("a") == "FINISHED"
    (one,) = corral.json("compare", "a", "b", "--metric", "duration")["differences"]
    assert one["pairs"] == 10
    said = plan.run("--until-interval", "0.0001%", "--most-blocks", "11", *blocks)
    assert "10 blocks: the widest interval is ±" in said
    assert "stopped by --most-blocks after 11 blocks" in said
    assert len(plan.starts()) == 22
    said = plan.run("--until-interval", "99%", status=1)
    assert "has no value: neither steps nor epochs were recorded" in said
    assert "needs --until-interval" in plan.run("--most-blocks", "20", status=2)
    assert "--until-interval much" in plan.run("--until-interval", "much", status=2)


def test_ctrl_c_stops_the_runs_and_the_next_scheduler_goes_on(corral: Corral) -> None:
    own = own_name()
    plan = Plan(
        corral,
        [
            f"E,{own}1,a,,,,-,work.sh,a",
            f"E,{own}2,b,,,,-,work.sh,b ./go",
            f"E,{own}2,c,,,,-,work.sh,c ./go",
            f"E,{own}3,d,,,,-,work.sh,d",
        ],
    )
    scheduler = plan.start()
    plan.until_started("b", "c")
    interrupt(scheduler)
    plan.end(scheduler, 130)
    assert (plan.status("a"), plan.status("b"), plan.status("d")) == ("FINISHED", "INTERRUPTED", "")
    assert not plan.processes()
    assert not plan.supervisors()
    assert groups(own) == set()
    document = plan.document()
    assert document["state"] == "interrupted"
    assert document["message"] == "1 of 4 runs finished, 2 interrupted; the same command goes on"
    plan.allow()
    plan.run()
    assert sorted(plan.starts()) == ["a", "b", "b", "c", "c", "d"]
    assert {row["Status"].split(" ")[0] for row in plan.rows().values()} == {"FINISHED"}


def test_sigterm_before_the_start_and_sighup_at_any_time(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go", "E,2,b,,,,-,work.sh,b"])
    scheduler = plan.start()
    plan.until_started("a")
    os.kill(scheduler.pid, signal.SIGHUP)
    plan.allow()
    plan.until_started("b")
    plan.end(scheduler)
    assert plan.status("b") == "FINISHED"


@pytest.mark.parametrize("also", ["scheduler alone", "supervisor, too"])
def test_a_killed_schedulers_runs_are_waited_for(corral: Corral, also: str) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go", "E,1,b,,,,-,work.sh,b", "E,2,c,,,,-,work.sh,c"])
    scheduler = plan.start()
    plan.until_started("a", "b")
    until(lambda: plan.status("b") == "FINISHED", "b is written back")
    plan.kill(scheduler)
    if also == "supervisor, too":
        for pid in plan.supervisors():
            with contextlib.suppress(ProcessLookupError):  # b's may be about to leave
                os.kill(pid, signal.SIGKILL)
    run = plan.rows()["a"]["Run"]
    assert alive(plan.pid_of("a"))
    scheduler = plan.start()
    until_said(scheduler, b"waiting for them")
    plan.allow()
    said = plan.end(scheduler, None)
    assert plan.starts() == ["a", "b", "c"] or plan.starts() == ["b", "a", "c"], said
    assert plan.rows()["a"]["Run"] == run
    assert plan.status("a") == ("FINISHED" if also == "scheduler alone" else "FAILED")
    assert plan.status("c") == "FINISHED"


def test_the_end_of_a_run_that_nobody_waited_for_is_known(corral: Corral) -> None:
    """One end is known from its supervisor's last report, the other, whose report is lost, from the server."""
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go 3", "E,1,b,,,,-,work.sh,b ./go 4", "E,2,c,,,,-,work.sh,c"])
    corral.serve()
    scheduler = plan.start()
    plan.until_started("a", "b")
    plan.kill(scheduler)
    plan.allow()
    until(lambda: not plan.supervisors(), "the runs have ended alone")
    words = (corral.home / "state/corral/plans").glob("*/ends/*.json")
    (lost,) = (word for word in words if "exit status 4" in word.read_text())
    lost.unlink()
    corral.wait_spool_empty()
    plan.run(status=1)
    corral.wait_spool_empty()
    assert sorted(plan.starts()) == ["a", "b", "c"]
    assert plan.rows()["a"]["Status"].startswith("FAILED failed a")
    assert plan.rows()["b"]["Status"].startswith("FAILED failed b")
    assert "exit status 4" in plan.rows()["b"]["Status"]
    assert corral.show(plan.rows()["a"]["Run"])["tags"]["corral.outcome"] == "failed"


LOADS = """
import os, sys, time
import corral
name, seconds = sys.argv[1], float(sys.argv[2])
corral.param("from", os.getcwd() + " " + sys.argv[0])
time.sleep(seconds)
corral.param("loaded", time.time())
if name != "short":
    corral.ready(60)
corral.param("began", time.time())
if name == "slow":
    corral.log("loss", 0.25, step=7)
    while not os.path.exists("../go"):
        time.sleep(0.02)
"""


def drawn_until(terminal: int, text: str) -> str:
    """Reads a scheduler's terminal until `text` appears."""
    drawn = ""

    def more() -> bool:
        nonlocal drawn
        if select.select([terminal], [], [], 0)[0]:
            drawn += os.read(terminal, 65536).decode(errors="replace")
        return text in drawn

    until(more, f"{text!r} is drawn")
    return drawn


def test_runs_that_say_when_they_are_ready_begin_together(corral: Corral) -> None:
    """They start in their script's folder, as radT's do, and a terminal shows how far they are."""
    plan = Plan(corral, [f"E,1,{n},,,,-,nets/load.py,{n} {s}" for n, s in (("quick", 0), ("slow", 1), ("short", 0))])
    nets = plan.folder / "nets"
    nets.mkdir()
    (nets / "load.py").write_text(LOADS)
    terminal, other = os.openpty()
    scheduler = plan.start(stderr=other, env={"TERM": "xterm"})
    os.close(other)
    drawn = drawn_until(terminal, "step 7  loss 0.25")
    assert "of 3 runs done" in drawn
    plan.allow()

    def has_ended() -> bool:
        if select.select([terminal], [], [], 0)[0]:
            with contextlib.suppress(OSError):  # the scheduler's end of it is closed
                os.read(terminal, 65536)
        return scheduler.poll() is not None

    until(has_ended, "the plan has ended")
    assert scheduler.returncode == 0
    os.close(terminal)
    corral.wait_spool_empty()
    params = {name: corral.show(row["Run"])["params"] for name, row in plan.rows().items()}
    assert {p["from"] for p in params.values()} == {f"{nets} load.py"}
    for name in ("quick", "slow"):
        assert float(params[name]["began"]) >= float(params["slow"]["loaded"])
        (event,) = [e for e in corral.events(plan.rows()[name]["Run"]) if e["name"] == "ready"]
        assert event["attributes"]["waited_seconds"] >= 0
    assert not list((corral.home / "state/corral/plans").glob("*/ready/*"))


def test_one_scheduler_for_a_plan(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go"])
    scheduler = plan.start()
    plan.until_started("a")
    said = plan.run(status=1)
    assert f"process {scheduler.pid} " in said
    plan.allow()
    plan.end(scheduler)
    assert plan.starts() == ["a"]


def test_rows_that_have_not_started_may_be_edited(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go", "E,2,b,,,,-,work.sh,b", "# kept", "E,3,c,,,,-,work.sh,c"], HEADER)
    scheduler = plan.start()
    plan.until_started("a")
    until(lambda: plan.status("a") == "RUNNING", "RUNNING is written")
    lines = plan.path.read_text().splitlines()
    lines = [line.replace("work.sh,b", "work.sh,B") for line in lines if ",c," not in line]
    plan.write([*lines[1:], "E,4,d,,,,-,work.sh,d"])
    plan.allow()
    plan.end(scheduler)
    assert plan.starts() == ["a", "B", "d"]
    assert "# kept" in plan.path.read_text()
    assert {row["Status"].split(" ")[0] for row in plan.rows().values() if row["Name"]} == {"FINISHED"}


def test_a_run_that_cannot_start_keeps_its_workload_from_starting(corral: Corral) -> None:
    plan = Plan(
        corral,
        ["E,1,rm,,,,-,rm.sh,", "E,2,a,,,,-,work.sh,a", "E,2,b,,,,-,rm.sh,", "E,3,c,,,,-,work.sh,c"],
    )
    removes = plan.folder / "rm.sh"
    removes.write_text("#!/bin/sh\nrm rm.sh\n")
    removes.chmod(0o755)
    plan.run(status=1)
    assert plan.starts() == ["c"]
    assert plan.rows()["b"]["Status"].startswith("FAILED not-started b (cpu_B): rm.sh: command not found")
    assert "a run beside it could not start" in plan.rows()["a"]["Status"]


RUNS = int(os.environ.get("CORRAL_SOAK", "32"))
KILLS = RUNS // 8


@pytest.mark.timeout(900)
def test_a_plan_that_is_killed_and_edited_ends_right(corral: Corral, rng: random.Random) -> None:
    """Kills and edits a plan; CORRAL_SOAK=200 gives it 200 runs."""
    own = own_name()
    fails = {f"r{n}": rng.random() < 0.25 for n in range(RUNS)}

    def row(n: int) -> str:
        seconds = 0.05 if RUNS < 100 else 1
        return f"E,{own}{n * 2 // 3},r{n},,,,-,work.sh,r{n} {seconds * rng.random():.3f} {3 if fails[f'r{n}'] else 0}"

    first = RUNS * 3 // 4
    plan = Plan(corral, [row(n) for n in range(first)])
    for kill in range(KILLS):
        scheduler = plan.start()
        wanted = len(plan.starts()) + rng.randrange(4)
        until(lambda: scheduler.poll() is not None or len(plan.starts()) > wanted, "it goes on")  # noqa: B023
        time.sleep(0.2 * rng.random())  # anywhere in a workload's life
        plan.kill(scheduler)
        if kill == KILLS // 2:
            lines = plan.path.read_text().splitlines()
            plan.write([*lines[1:], *(row(n) for n in range(first, RUNS))])
    plan.run(status=None, seconds=600)
    corral.wait_spool_empty()
    statuses = {name: row["Status"].split(" ")[0] for name, row in plan.rows().items()}
    assert statuses == {name: "FAILED" if fail else "FINISHED" for name, fail in fails.items()}
    starts = plan.starts()
    assert sorted(starts) == sorted(set(starts)), "a run was started twice"
    assert set(starts) == set(fails)
    stored = {run["id"]: run["outcome"] for run in corral.runs()}
    assert {stored[row["Run"]] for row in plan.rows().values()} <= {"finished", "failed"}
    assert not plan.supervisors()
    assert groups(own) == set()


def test_a_plan_is_run_by_one_of_the_hosts_that_share_a_home(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go"])
    scheduler = plan.start()
    plan.until_started("a")
    until(lambda: plan.status("a") == "RUNNING", "RUNNING is written")
    words = ["unshare", "--uts", "sh", "-c", 'hostname other-host; exec "$@"', "sh", str(BINARY)]
    elsewhere = [*words, "run", str(plan.path), "--no-listeners"]

    def other(*more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*elsewhere, *more], env=corral.environment, cwd=corral.home, capture_output=True, check=False, timeout=60
        )

    tried = other()
    if b"unshare failed" in tried.stderr:
        pytest.skip("no namespace of host names can be made here")
    assert tried.returncode == 1
    assert f"process {scheduler.pid} ".encode() in tried.stderr
    # A host with a state of its own sees the file alone.
    corral.environment["XDG_STATE_HOME"] = str(corral.home / "other-state")
    tried = other()
    assert tried.returncode == 1
    assert b"Status is RUNNING" in tried.stderr
    assert b"--take-over" in tried.stderr
    plan.allow()
    plan.end(scheduler)
    assert plan.starts() == ["a"]


def test_a_killed_supervisors_run_keeps_its_exit_status(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,good,,,,-,work.sh,good ./go", "E,1,bad,,,,-,work.sh,bad ./go 3"])
    scheduler = plan.start()
    plan.until_started("good", "bad")
    (journal,) = (corral.home / "state/corral/plans").glob("*/journal")
    until(lambda: journal.read_text().count('{"started"') == 2, "both have told of their start")
    manifests = [spooled / "manifest.json" for spooled in corral.spooled()]
    for manifest in manifests:
        os.kill(json.loads(manifest.read_text())["supervisor"]["pid"], signal.SIGKILL)
    until(lambda: all('"adoptions":1' in m.read_text() for m in manifests), "others have taken over")
    plan.allow()
    plan.end(scheduler, 1)
    assert plan.status("good") == "FINISHED"
    assert plan.rows()["bad"]["Status"].startswith("FAILED failed bad")
    corral.wait_spool_empty()
    assert {name: corral.show(row["Run"])["exit_code"] for name, row in plan.rows().items()} == {"good": 0, "bad": 3}


def test_a_supervisor_that_is_killed_before_it_tells_the_end_loses_no_status(corral: Corral) -> None:
    names = ("a", "b", "c")
    plan = Plan(corral, [f"E,1,{name},,,,-,work.sh,{name} ./{name} 3" for name in names])
    # No server that could take the runs over first.
    scheduler = plan.start("--server", "http://127.0.0.1:9")
    plan.until_started(*names)
    (journal,) = (corral.home / "state/corral/plans").glob("*/journal")
    until(lambda: journal.read_text().count('{"started"') == len(names), "all have told of their start")
    spooled = {folder.name: folder / "manifest.json" for folder in corral.spooled()}
    for name, row in plan.rows().items():
        manifest = json.loads(spooled[row["Run"]].read_text())
        plan.allow(name)
        # As soon as the command is a zombie, or reaped.
        while alive(manifest["child"]["pid"]):
            pass
        with contextlib.suppress(ProcessLookupError):
            os.kill(manifest["supervisor"]["pid"], signal.SIGKILL)
    plan.end(scheduler, 1)
    ends = {name: row["Status"] for name, row in plan.rows().items()}
    assert all(status.startswith("FAILED failed") for status in ends.values()), ends


def kill_at_once(corral: Corral) -> None:
    """Kills every process of Corral and of its commands, none of which sees another one's end."""
    stopped: set[int] = set()
    while more := set(corral.processes()) - stopped:
        for pid in more:
            with contextlib.suppress(ProcessLookupError):  # a short one of a command
                os.kill(pid, signal.SIGSTOP)
        stopped |= more
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(alive, stopped)), "nothing runs")


def test_where_everything_was_killed_the_plan_goes_on(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go", "E,2,b,,,,-,work.sh,b"])
    scheduler = plan.start()
    plan.until_started("a")
    until(lambda: plan.status("a") == "RUNNING", "RUNNING is written")
    kill_at_once(corral)
    scheduler.wait()
    assert not plan.processes()
    plan.allow()
    plan.run()
    assert plan.starts() == ["a", "a", "b"]
    assert (plan.status("a"), plan.status("b")) == ("FINISHED", "FINISHED")


def test_rows_that_until_left_have_a_status_of_their_own(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a"])
    assert "--until is reached" in plan.run("--until", "2020-01-01 00:00", status=3)
    plan.run()


def test_a_plan_beside_another_is_told_that_it_shares_the_machine(corral: Corral) -> None:
    plan = Plan(corral, ["E,1,a,,,,-,work.sh,a ./go"])
    scheduler = plan.start()
    plan.until_started("a")
    beside = plan.folder / "beside.csv"
    beside.write_text(HEADER + "\nE,1,b,,,,-,work.sh,b\n")
    said = corral("run", beside, "--no-listeners").stderr.decode()
    assert f"another plan is running on this host (process {scheduler.pid} " in said
    assert "as line 2, share the machine with it" in said
    bound = plan.folder / "bound.csv"
    bound.write_text(HEADER + ",Cpus\nE,1,c,,,,-,work.sh,c,1\n")
    assert b"another plan" not in corral("run", bound, "--no-listeners").stderr
    plan.allow()
    plan.end(scheduler)

"""Removing runs and experiments from the command line, and retention by age and size."""

from __future__ import annotations

import signal

import pytest
from support import Corral, until


def record(corral: Corral, *options: str, points: int = 200) -> str:
    corral("run", "--quiet", *options, "--", *corral.counter().program(points, 100, 0.001))
    return str(corral.show()["id"])


def said(corral: Corral, *arguments: str) -> str:
    return corral(*arguments).stdout.decode()


def refused(corral: Corral, *arguments: str, status: int) -> str:
    return corral(*arguments, status=status).stderr.decode()


def names(corral: Corral) -> list[str]:
    return [run["id"] for run in corral.json("ls", "runs")]


def test_an_export_of_a_run_that_is_removed_meanwhile_fails(corral: Corral) -> None:
    code = "import corral\nfor i in range(20_000): corral.log({f'x{k}': i / 7 for k in range(8)}, step=i)\n"
    corral("run", "--quiet", "--no-listeners", "--", corral.script("many.py", code))
    run = str(corral.show()["id"])
    # Each metric is longer than the pipe and the sockets' buffers: most of them are not read yet.
    export = corral.start("export", run, "--metric", "x*", "--format", "json")
    assert export.stdout is not None
    begun = export.stdout.read(1000)
    assert begun.startswith(b'{"run":')
    corral("rm", run, "--now", "--yes")
    rest, complaint = export.communicate(timeout=60)
    assert export.returncode == 1, complaint
    assert complaint.startswith(b"corral export: "), complaint
    assert not (begun + rest).endswith(b"}\n")


def test_rm_says_what_goes_and_removes_it(corral: Corral) -> None:
    kept = record(corral)
    gone = record(corral)
    words = said(corral, "rm", gone, "--now", "--dry-run")
    assert gone in words
    assert "1 run" in words
    assert "would go" in words
    assert names(corral) == [gone, kept]
    assert "--yes" in refused(corral, "rm", gone, "--now", status=2)
    assert names(corral) == [gone, kept]
    assert "removed 1 run" in said(corral, "rm", gone, "--now", "--yes")
    assert names(corral) == [kept]
    assert gone in refused(corral, "show", gone, status=1)
    assert "removed 1 run" in said(corral, "rm", "@1", "--now", "--yes")
    assert names(corral) == []
    assert corral.json("ls", "experiments") == []


def test_a_run_that_is_named_twice_counts_once(corral: Corral) -> None:
    run = record(corral, "--name", "twin")
    same = ("rm", "--now", run, "twin", run[:8], "@1")
    assert said(corral, *same, "--dry-run").count(run) == 1
    assert "removed 1 run," in said(corral, *same, "--yes")
    assert names(corral) == []
    assert "CORRAL_EXPERIMENT" not in said(corral, "rm", "--help")


def test_rm_of_an_experiment_takes_all_its_runs(corral: Corral) -> None:
    other = record(corral)
    for _ in range(2):
        record(corral, "--experiment", "digits")
    assert "experiment" in refused(corral, "rm", "--experiment", "digit", "--now", "--yes", status=1)
    assert "removed 2 runs" in said(corral, "rm", "--experiment", "digits", "--now", "--yes")
    assert names(corral) == [other]
    assert [e["name"] for e in corral.json("ls", "experiments")] == ["default"]


def test_rm_wants_to_know_what(corral: Corral) -> None:
    record(corral)
    corral.environment["CORRAL_EXPERIMENT"] = "default"  # names the place to record, not the runs to remove
    assert "missing run or --experiment" in refused(corral, "rm", "--yes", status=2)
    assert "not several" in refused(corral, "rm", "@1", "--experiment", "default", "--yes", status=2)
    assert "no run" in refused(corral, "rm", "nothing-like-it", "--yes", status=1)
    assert len(names(corral)) == 1


def test_a_running_run_goes_only_by_force_and_does_not_come_back(corral: Corral) -> None:
    counter = corral.counter()
    process = corral.start("run", "--", *counter.program(10**9, 100, 0.01))
    until(lambda: corral.server_pid(), "the server answers")
    run = until(lambda: names(corral), "the run is listed")[0]
    words = refused(corral, "rm", run, "--now", "--yes", status=1)
    assert "still running" in words
    assert "--force" in words
    assert names(corral) == [run]
    assert "removed 1 run" in said(corral, "rm", run, "--now", "--yes", "--force")
    seen = counter.returned
    until(lambda: counter.returned > seen + 1000, "the training goes on")
    assert names(corral) == []
    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert names(corral) == []


def test_a_run_in_the_trash_keeps_what_it_still_sends(corral: Corral) -> None:
    counter = corral.counter()
    process = corral.start("run", "--", *counter.program(10**9, 100, 0.01))
    until(lambda: corral.server_pid(), "the server answers")
    run = until(lambda: names(corral), "the run is listed")[0]
    assert "still running" in refused(corral, "rm", run, status=1)
    assert f"undo: corral restore {run[:8]}" in said(corral, "rm", run, "--force")
    assert names(corral) == []
    seen = counter.returned
    until(lambda: counter.returned > seen + 1000, "the training goes on")
    process.send_signal(signal.SIGINT)
    process.wait(60)
    corral.wait_spool_empty()
    assert names(corral) == []
    assert [one["id"] for one in corral.json("ls", "trash")] == [run]
    said(corral, "restore", run[:8])
    assert corral.show()["outcome"] == "interrupted"
    metrics = {one["name"]: one for one in corral.json("ls", "metrics", run)}
    assert max(one["points"] for one in metrics.values()) > seen


@pytest.mark.parametrize("option", [("--keep-bytes", "1"), ("--keep-days", "1")])
def test_serve_keeps_within(corral: Corral, option: tuple[str, str]) -> None:
    run = record(corral)
    corral("serve", "--stop")
    assert "--keep-days" in refused(corral, "serve", "--keep-days", "0", status=2)
    server = corral.start("serve", "--listen", "127.0.0.1:0", *option)
    until(lambda: corral.server_pid() == server.pid, "the server answers")  # else `ls` might start another
    if option[0] == "--keep-bytes":
        until(lambda: names(corral) == [], "the run is removed")
    else:
        assert names(corral) == [run], "it ended today"
    server.send_signal(signal.SIGINT)
    _, log = server.communicate(timeout=60)
    assert (run in log.decode()) == (option[0] == "--keep-bytes")

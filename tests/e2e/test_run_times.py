"""A run begins when its command may execute and ends when that ends; what is around it are phases of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from container_support import Podman, make_podman, remove_podman
from plan_support import HEADER, Plan
from support import Corral, alive, until

# Slow where a run is not: as long as that, in seconds.
SLOW = 1.5
# podman that dawdles before it makes and starts a container and after that, and says when it was at it.
TOOL = """#!/bin/sh
case "$1" in
  create) sleep {slow} ;;
  start)
    sleep {slow}
    cut -d' ' -f1 /proc/uptime > {home}/executed
    {podman} "$@"
    status=$?
    cut -d' ' -f1 /proc/uptime > {home}/returned
    sleep {slow}
    exit $status ;;
esac
exec {podman} "$@"
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    root = Path(tempfile.mkdtemp(prefix="corral-podman-"))
    try:
        made = make_podman(root)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    yield made
    remove_podman(made)


@pytest.fixture
def slow_tool(corral: Corral, podman: Podman) -> Corral:
    tool = corral.home / "bin" / "podman"
    tool.parent.mkdir()
    tool.write_text(TOOL.format(slow=SLOW, home=corral.home, podman=shutil.which("podman")))
    tool.chmod(0o755)
    corral.environment |= podman.environment
    corral.environment["PATH"] = f"{tool.parent}:{corral.environment['PATH']}"
    return corral


@dataclass
class Phase:
    kind: str
    start: int
    end: int


def phases(corral: Corral, run: str) -> dict[str, Phase]:
    listed = corral("ls", "phases", run, "--format", "csv").stdout.decode()
    return {
        row["name"]: Phase(row["kind"], int(row["start_ns"]), int(row["end_ns"]))
        for row in csv.DictReader(io.StringIO(listed))
    }


def said_after(said: str, name: str) -> float:
    """Seconds of `name: finished after 3.3 s`."""
    match = re.search(rf"{re.escape(name)}: finished after ([\d.]+) (ms|s)", said)
    assert match, said
    return float(match[1]) * {"ms": 1e-3, "s": 1.0}[match[2]]


def test_waiting_for_a_neighbour_is_not_the_run(slow_tool: Corral) -> None:
    plan = Plan(
        slow_tool,
        [
            "E,1,inside,,,,-,podman=corral-musl,sh,-c 'sleep 1; : > go; sleep 0.3'",
            "E,1,beside,,,,-,,work.sh,beside ./go",
        ],
        HEADER.replace("File", "Environment,File"),
    )
    said = plan.run()
    rows = plan.rows()
    runs = {name: slow_tool.wait_ended(rows[name]["Run"]) for name in ("inside", "beside")}
    starts = {name: int(run["start_ns"]) for name, run in runs.items()}
    for name, run in runs.items():
        assert run["duration_s"] == pytest.approx(said_after(said, name), abs=0.06, rel=0.06), name
        around = phases(slow_tool, run["id"])
        assert around["preparation"].kind == "control"
        assert around["preparation"].end == around["waiting at the gate"].start
        assert around["waiting at the gate"].kind == "wait"
        assert around["waiting at the gate"].end <= starts[name]
        assert around["delivery"].start == int(run["end_ns"])
    waited = phases(slow_tool, runs["beside"]["id"])["waiting at the gate"]
    assert (waited.end - waited.start) * 1e-9 > SLOW / 2
    assert waited.end == starts["beside"]
    # The container's tool slept before its start and after its end.
    inside = phases(slow_tool, runs["inside"]["id"])
    assert inside["starting the container"].end == starts["inside"]
    assert (starts["inside"] - starts["beside"]) * 1e-9 >= SLOW
    # The supervisor sees the end when it looks.
    assert (inside["delivery"].end - inside["delivery"].start) * 1e-9 >= SLOW / 2
    skew = (starts["inside"] - starts["beside"]) * 1e-6
    for run in runs.values():
        assert float(run["tags"]["corral.start_skew_ms"]) == pytest.approx(skew, abs=0.01)
    # No analysis counts what is outside of the run.
    summary = slow_tool("ls", "phases", runs["beside"]["id"], "--summary", "--format", "csv").stdout.decode()
    assert "preparation" not in summary
    assert "gate" not in summary


def test_a_container_runs_between_its_first_and_its_last_instruction(slow_tool: Corral) -> None:
    slow_tool("run", "--no-listeners", "--environment", "podman=corral-musl", "sleep", "1")
    run = slow_tool.wait_ended()
    around = phases(slow_tool, run["id"])
    # Boot times, as the tool said, against the run's: the tool was executed after the release.
    executed, returned = (float((slow_tool.home / name).read_text()) for name in ("executed", "returned"))
    tool_took = returned - executed
    # The tool sleeps outside of that time. The supervisor sees both ends when it looks, and a busy machine
    # may delay a look, but by less than such a sleep.
    assert 1 - SLOW / 2 <= run["duration_s"] <= tool_took + SLOW / 2
    launch = around["starting the container"]
    assert (launch.end - launch.start) * 1e-9 >= SLOW
    assert launch.end == int(run["start_ns"])


def killed_at_its_gate(corral: Corral) -> Path:
    """The spool of a run whose command will never execute."""
    gate, release = os.pipe()
    run = corral.start("run", "--no-listeners", "--gate", f"{gate},-1", "true", pass_fds=[gate])
    (spooled,) = until(corral.spooled, "it is spooled")
    manifest = spooled / "manifest.json"
    until(manifest.exists, "its manifest is there")
    until(lambda: '"child"' in manifest.read_text(), "it waits at the gate")
    run.send_signal(signal.SIGKILL)
    run.wait()
    os.close(release)
    os.close(gate)
    return spooled


def test_a_run_whose_supervisor_dies_before_the_start_was_not_started(corral: Corral) -> None:
    spooled = killed_at_its_gate(corral)
    corral("run", "--no-listeners", "true")  # its server finds the other's spool
    corral.wait_spool_empty()
    shown = corral.show(spooled.name)
    assert shown["outcome"] == "not-started"
    assert shown["tags"]["corral.outcome.reason"] == "its supervisor was killed before the command started"
    assert shown["duration_s"] is None
    short = corral("show", spooled.name).stdout.decode()
    assert "not-started" in short
    assert "its supervisor was killed before the command started" in short


def test_a_run_that_never_began_is_not_adopted(corral: Corral) -> None:
    spooled = killed_at_its_gate(corral)
    child = json.loads((spooled / "manifest.json").read_text())["child"]["pid"]
    until(lambda: not alive(child), "the command that was never executed is gone")
    assert b"never started" in corral("run", "--adopt", spooled.name, status=1).stderr
    corral("run", "--no-listeners", "true")
    corral.wait_spool_empty()
    assert corral.show(spooled.name)["outcome"] == "not-started"

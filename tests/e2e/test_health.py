"""The health of a run: what its capture, listeners and sources could and could not measure."""

from __future__ import annotations

import os
import signal
from typing import Any

from support import PYTHON, Corral, until


def parts(corral: Corral, run: str = "@1") -> dict[str, dict[str, Any]]:
    return {part["part"]: part for part in corral.show(run)["health"]["parts"]}


def test_listeners_and_sources_report_what_they_see(corral: Corral) -> None:
    corral.configure(
        """
[exec.fine]
command = "while :; do echo fine 1; sleep 0.05; done"

[exec.silent]
command = "sleep 60"

[exec.broken]
command = "echo no such sensor >&2; exit 7"
"""
    )
    run = corral.start(
        "run", "--listeners", "proc,tree,nvidia", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"
    )

    def all_told() -> bool:
        told = parts(corral) if corral.record() is not None and corral.runs() else {}
        return {"source.exec.fine", "source.exec.broken", "listener.nvidia"} <= told.keys() and (
            told["source.exec.fine"]["state"] == "active" and len(told["source.exec.broken"]["changes"]) > 1
        )

    until(all_told, "the health of the sources")
    (corral.home / "go").touch()
    assert run.wait() == 0
    corral.wait_ended()
    told = parts(corral)
    assert told["listener.proc"]["state"] == "active"
    assert told["listener.tree"]["state"] == "active"
    assert told["listener.nvidia"]["state"] == "not captured"
    assert told["listener.nvidia"]["reason"]
    assert not told["listener.nvidia"]["problem"], "a machine without a GPU lacks nothing"
    assert [c["state"] for c in told["source.exec.fine"]["changes"]] == ["partial", "active"]
    assert told["source.exec.silent"]["state"] == "partial"
    assert told["source.exec.silent"]["reason"] == "no value has come yet"
    assert told["source.exec.broken"]["state"] == "partial"
    assert "status 7" in told["source.exec.broken"]["reason"]
    assert all(part["process"] is None for part in told.values())
    assert corral.runs()[0]["health_problems"] == 2
    shown = corral("show", "@1").stdout.decode()
    assert "source.exec.silent: no value has come yet" in shown
    assert "2 problems" in corral("ls", "runs").stdout.decode()


def test_a_capture_that_gave_up_says_so_and_others_go_on(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import os, sys, corral
        impl = sys.modules["corral"]._impl
        impl.event("corral.health", '{"part":"capture.a","state":"active"}')
        impl.event("corral.health", '{"part":"capture.b","state":"given up","reason":"TypeError: no"}')
        with corral.phase("work"):
            pass
        """,
    )
    assert corral("run", "--", PYTHON, script).returncode == 0
    corral.wait_ended()
    # The phase may come a moment after the run's end is known.
    until(lambda: corral.show()["health"]["coverage"], "the phase is stored")
    health = corral.show()["health"]
    told = {part["part"]: part for part in health["parts"]}
    assert told["capture.a"]["state"] == "active"
    assert told["capture.a"]["process"].startswith("pid ")
    assert (told["capture.b"]["state"], told["capture.b"]["reason"]) == ("given up", "TypeError: no")
    assert told["capture.b"]["problem"]
    (lane,) = health["coverage"]
    assert lane["phases"] == 1
    assert 0 < lane["share"] < 1
    assert not [event for event in corral.events() if "health" in event["name"]], "events of the run alone"
    shown = corral("show", "@1").stdout.decode()
    assert "given up             capture.b (pid " in shown
    assert "% of the run" in shown


def test_a_run_whose_supervisor_was_killed_says_what_is_missing(corral: Corral) -> None:
    corral.serve()
    run = corral.start("run", "--listeners", "proc", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    until(lambda: corral.runs() and "listener.proc" in parts(corral), "the listener's health")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    until(lambda: "recording.supervisor" in parts(corral), "the server tells of it")
    (corral.home / "go").touch()
    corral.wait_ended()
    lost = parts(corral)["recording.supervisor"]
    assert (lost["state"], lost["process"], lost["problem"]) == ("given up", None, True)
    assert "no metrics" in lost["reason"]
    assert corral.runs()[0]["health_problems"] == 1

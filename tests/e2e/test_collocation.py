"""CPU sets, memory limits and control groups of a plan's runs on this machine, and what is left of them: nothing."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import Corral, Json, alive, control_groups, until, until_said

GROUPS = Path("/sys/fs/cgroup")
LEGACY = GROUPS / "cpuset"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="making control groups needs root"),
    pytest.mark.skipif(not (LEGACY / "cgroup.procs").exists(), reason="no control groups of v1 are mounted here"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two CPU sets need two CPUs"),
]

# Says where it runs, then works until it is stopped.
TRAINING = """
    import json, os, pathlib, sys, time
    name = sys.argv[1]
    place = {"pid": os.getpid(), "cpus": sorted(os.sched_getaffinity(0)), "groups": open("/proc/self/cgroup").read()}
    pathlib.Path(name + ".tmp").write_text(json.dumps(place))
    os.rename(name + ".tmp", name + ".json")
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
"""


@dataclass
class Plan:
    """Two runs of one workload, whose groups nobody else's tests have the name of."""

    corral: Corral
    workload: str

    @property
    def file(self) -> Path:
        return self.corral.home / "plan.csv"

    def write(self, *rows: tuple[str, str], columns: str = "Cpus") -> None:
        """Rows of parameters and cells of `columns`."""
        lines = [f"Experiment,Workload,Status,Run,Collocation,Model,Params,{columns}"]
        lines += [f"sets,{self.workload},,,-,train.py,{params},{cells}" for params, cells in rows]
        self.file.write_text("\n".join(lines) + "\n")

    def run(self) -> subprocess.Popen[bytes]:
        return self.corral.start("run", "--no-listeners", self.file)

    def finish(self, status: int = 0) -> bytes:
        return self.corral("run", "--no-listeners", self.file, status=status, seconds=180).stderr

    def place(self, name: str) -> Json:
        path = self.corral.home / f"{name}.json"
        until(path.exists, f"run {name} has begun")
        return json.loads(path.read_text())

    def go(self) -> None:
        (self.corral.home / "go").touch()

    def groups(self) -> list[Path]:
        return control_groups(f"corral-{self.workload}-")

    def journals(self) -> list[Path]:
        return list((self.corral.home / "state/corral/undo").glob("*"))

    def undo(self, *arguments: str, status: int = 0) -> list[Json]:
        return list(json.loads(self.corral("undo", "--format", "json", *arguments, status=status).stdout))


@pytest.fixture
def plan(corral: Corral) -> Iterator[Plan]:
    corral.environment["CORRAL_LOCKS"] = str(corral.home / "locks")
    corral.script("train.py", TRAINING)
    plan = Plan(corral, "w" + uuid.uuid4().hex[:12])
    yield plan
    corral("undo", "--end-runs", status=None)


def test_runs_stay_on_their_cpus_and_leave_no_group(plan: Plan) -> None:
    plan.write(("a", "cpus=0"), ("b", "cpus=1"))
    process = plan.run()
    assert plan.place("a")["cpus"] == [0]
    b = plan.place("b")
    assert b["cpus"] == [1]
    assert f":cpuset:/corral-{plan.workload}-1-" in b["groups"]
    # A program that sets its own affinity is still held.
    os.sched_setaffinity(b["pid"], {0, 1})
    assert os.sched_getaffinity(b["pid"]) == {1}
    # A group of "cpu" would give it another share of the time.
    assert ":cpu:/corral-" not in b["groups"]
    plan.go()
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert plan.groups() == []
    assert plan.journals() == []


def test_a_killed_schedulers_groups_wait_for_its_runs_and_then_go(plan: Plan) -> None:
    plan.write(("a", "cpus=0"), ("b", "cpus=1"))
    scheduler = plan.run()
    pids = [plan.place(name)["pid"] for name in ("a", "b")]
    os.kill(scheduler.pid, signal.SIGKILL)
    scheduler.wait()
    made = plan.groups()
    assert made
    lines = plan.undo(status=1)
    assert {line["state"] for line in lines} == {"in_use"}
    assert any(str(pid) in lines[0]["reason"] for pid in pids)
    assert all(alive(pid) for pid in pids)
    assert plan.groups() == made
    plan.go()
    until(lambda: not any(alive(pid) for pid in pids), "the runs end by themselves")
    assert {line["state"] for line in plan.undo("--dry-run")} == {"put_back"}
    assert plan.groups() == made
    assert {line["state"] for line in plan.undo()} == {"put_back"}
    assert plan.groups() == []
    assert plan.journals() == []
    assert plan.undo() == []


def test_undo_ends_runs_only_when_asked(plan: Plan) -> None:
    plan.write(("a", "cpus=0"))
    scheduler = plan.run()
    pid = plan.place("a")["pid"]
    os.kill(scheduler.pid, signal.SIGKILL)
    scheduler.wait()
    assert {line["state"] for line in plan.undo("--end-runs")} == {"put_back"}
    until(lambda: not alive(pid), "the run is ended")
    assert plan.groups() == []


def test_undo_ends_no_run_that_another_scheduler_looks_after(plan: Plan) -> None:
    plan.write(("a", "cpus=0"))
    killed = plan.run()
    pid = plan.place("a")["pid"]
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    scheduler = plan.run()
    until_said(scheduler, b"waiting for them")
    lines = plan.undo("--end-runs", status=1)
    assert {line["state"] for line in lines} == {"in_use"}
    assert f"is being run by process {scheduler.pid} " in lines[0]["reason"]
    assert alive(pid)
    plan.go()
    _, said = scheduler.communicate(timeout=180)
    assert scheduler.returncode == 0, said
    assert plan.groups() == []
    assert plan.journals() == []


def test_what_a_training_leaves_running_goes_with_its_group(plan: Plan) -> None:
    plan.corral.script(
        "train.py",
        """
        import subprocess, pathlib
        left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        pathlib.Path("left").write_text(str(left.pid))
        """,
    )
    plan.write(("a", "cpus=0"))
    plan.finish()
    pid = int((plan.corral.home / "left").read_text())
    until(lambda: not alive(pid), "what it left is ended")
    assert plan.groups() == []


def test_a_run_over_its_memory_dies_alone(plan: Plan) -> None:
    plan.corral.script(
        "train.py",
        """
        import sys
        if sys.argv[1] == "a":
            held = bytearray(512 << 20)
        """,
    )
    plan.write(("a", "64MiB"), ("b", "64MiB"), columns="Memory")
    plan.finish(status=1)
    plan.corral.wait_spool_empty()
    outcomes = {run["name"]: run["outcome"] for run in plan.corral.runs()}
    assert sorted(outcomes.values()) == ["finished", "out-of-memory"], outcomes
    assert plan.groups() == []


def test_a_run_without_a_plan_has_a_group_that_counts(corral: Corral) -> None:
    def groups(run: str) -> list[Path]:
        return control_groups(f"corral-{run}-")

    def undo(status: int | None = 0) -> set[str]:
        lines = json.loads(corral("undo", "--format", "json", status=status).stdout)
        return {line["state"] for line in lines}

    ids = ["a" * 24 + uuid.uuid4().hex[:8] for _ in range(2)]
    run = corral.start("run", "--listeners", "cgroup", "--run-id", ids[0], corral.script("train.py", TRAINING), "a")
    until((corral.home / "a.json").exists, "it has begun")
    place = json.loads((corral.home / "a.json").read_text())
    assert f":memory:{own_group('memory')}/corral-{ids[0]}-" in place["groups"]
    assert ":cpu:/corral-" not in place["groups"]
    # Nobody takes it away under the training of a supervisor that was killed.
    run.kill()
    run.wait()
    # A helper that it was just starting may hold its lock for a moment more.
    until(lambda: undo(status=None) == {"in_use"}, "its journal is free")
    assert undo(status=1) == {"in_use"}
    assert groups(ids[0])
    (corral.home / "go").touch()
    until(lambda: not alive(place["pid"]), "the training ends")
    assert undo() == {"put_back"}
    assert groups(ids[0]) == []
    # A process that outlives its run is moved out of the group.
    corral("run", "--no-listeners", "--run-id", ids[1], "sh", "-c", "sleep 600 & echo $! > left")
    left = int((corral.home / "left").read_text())
    assert f"corral-{ids[1]}" not in Path(f"/proc/{left}/cgroup").read_text()
    os.kill(left, signal.SIGKILL)
    assert groups(ids[1]) == []
    assert list((corral.home / "state/corral/undo").glob("*")) == []


def test_a_run_that_another_supervisor_has_ended_leaves_no_group(corral: Corral) -> None:
    """The group was made by the supervisor that was killed; who takes the run over takes it away."""
    run_id = "a" * 24 + uuid.uuid4().hex[:8]

    def groups() -> list[Path]:
        return control_groups(f"corral-{run_id}-")

    run = corral.start("run", "--no-listeners", "--run-id", run_id, corral.script("train.py", TRAINING), "a")
    until((corral.home / "a.json").exists, "it has begun")
    run.kill()
    run.wait()
    assert groups()
    adopted = corral.start("run", "--no-listeners", "--adopt", run_id)
    manifest = corral.spool / run_id / "manifest.json"
    until(lambda: '"adoptions":1' in manifest.read_text(), "it is taken over")
    (corral.home / "go").touch()
    adopted.communicate(timeout=60)
    assert adopted.returncode == 125  # nobody knows its exit status
    assert groups() == []
    assert list((corral.home / "state/corral/undo").glob("*")) == []


def test_the_next_run_takes_away_a_killed_runs_groups(corral: Corral) -> None:
    run_id = "a" * 24 + uuid.uuid4().hex[:8]
    run = corral.start("run", "--no-listeners", "--run-id", run_id, corral.script("train.py", TRAINING), "a")
    until((corral.home / "a.json").exists, "it has begun")
    run.kill()
    run.wait()
    (corral.home / "go").touch()
    pid = json.loads((corral.home / "a.json").read_text())["pid"]
    until(lambda: not alive(pid), "the training ends")
    assert control_groups(f"corral-{run_id}-")
    corral("run", "--no-listeners", "true")
    assert control_groups(f"corral-{run_id}-") == []
    assert list((corral.home / "state/corral/undo").glob("*")) == []


def own_group(controller: str) -> str:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next(path for _, names, path in (line.split(":", 2) for line in lines) if controller in names).rstrip("/")


def test_another_schedulers_cpu_sets_are_waited_for_by_name(plan: Plan) -> None:
    locks = plan.corral.home / "locks"
    locks.mkdir()
    with (locks / "corral-cpus.lock").open("w") as lock:
        lock.write("other.csv (process 4711, since yesterday)\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        plan.write(("a", "cpus=0"))
        process = plan.run()
        until_said(process, b"cpus: used by other.csv (process 4711")
        assert plan.groups() == []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not (plan.corral.home / "a.json").exists()
    assert plan.journals() == []

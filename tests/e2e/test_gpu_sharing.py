"""Runs that share a GPU, on the fake driver and the fake MPS daemon of the build: no real GPU is ever changed."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from support import BUILD, Corral, Json, alive, until, until_said

PROGRAM = Path(__file__).parent / "programs" / "gpu_user.py"
FAKES = BUILD / "fakes" / "gpu"
GPU0 = "GPU-c0de0000-fa4e-4000-8000-000000000000"
GPU1 = "GPU-c0de0001-fa4e-4000-8000-000000000000"


class Machine:
    """Two A100 of the fake driver, whose state is a file of sorted lines."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.state = corral.home / "gpu"
        self.reset()
        shutil.copy(PROGRAM, corral.home / "train.py")
        corral.environment |= {
            "FAKE_NVML_STATE": str(self.state),
            "CORRAL_NVML_LIBRARY": str(FAKES / "libnvidia-ml.so.1"),
            "CORRAL_MPS_CONTROL": str(FAKES / "nvidia-cuda-mps-control"),
        }

    def reset(self, *lines: str) -> None:
        self.state.write_text("".join(f"{line}\n" for line in sorted((*lines, "gpus 2", "model a100-40"))))
        self.before = self.state.read_text()

    def plan(self, *rows: str) -> Path:
        path = self.corral.home / "plan.csv"
        head = "Experiment,Workload,Devices,Collocation,Model,Listeners,Params,Clocks,Power"
        path.write_text("\n".join((head, *rows)) + "\n")
        return path

    def seen(self, name: str) -> Json:
        path = self.corral.home / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def daemons(self) -> list[int]:
        """MPS daemons that were started for this home."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                ours = str(self.corral.home).encode() in (process / "environ").read_bytes()
                if ours and (process / "comm").read_text().startswith("nvidia-cuda-mps"):
                    found.append(int(process.name))
            except OSError:
                continue
        return [pid for pid in found if alive(pid)]

    def is_as_before(self) -> bool:
        mps = self.corral.home / "state" / "corral" / "mps"
        left = list(mps.iterdir()) if mps.exists() else []
        return self.state.read_text() == self.before and not left and not self.daemons()


@pytest.fixture
def machine(corral: Corral) -> Machine:
    return Machine(corral)


def row(workload: int, device: str, collocation: str, out: str, more: str = ",", waits: bool = False) -> str:
    """A row whose run writes OUT.json and, with `waits`, ends when the file "go" is there."""
    params = f"out={out}.json" + (" until=go" if waits else "")
    return f"gpu,{workload},{device},{collocation},train.py,proc,{params},{more}"


def test_each_run_sees_its_share_and_nothing_is_left(corral: Corral, machine: Machine) -> None:
    plan = machine.plan(
        row(1, "1", "-", "alone"),
        row(2, "0", "mps=40", "first"),
        row(2, "0", "mps", "second"),
        row(3, "0", "2g.10gb", "small"),
        row(3, "0", "3g.20gb", "large"),
        row(3, "1", "naive", "beside", "sm=1200,250W"),
    )
    corral("run", plan, seconds=180)
    assert machine.seen("alone")["CUDA_VISIBLE_DEVICES"] == GPU1
    first, second = machine.seen("first"), machine.seen("second")
    assert first["CUDA_VISIBLE_DEVICES"] == second["CUDA_VISIBLE_DEVICES"] == GPU0
    assert first["CUDA_MPS_PIPE_DIRECTORY"] == second["CUDA_MPS_PIPE_DIRECTORY"]
    assert first["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "40"
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" not in second
    instances = [machine.seen(name)["CUDA_VISIBLE_DEVICES"] for name in ("small", "large")]
    assert all(name.startswith("MIG-") for name in instances)
    assert len(set(instances)) == 2
    assert machine.is_as_before()

    corral.wait_spool_empty()
    [large] = [run for run in corral.runs() if "3g.20gb" in run["name"]]
    tags = corral.show(large["id"])["tags"]
    assert tags["corral.collocation"] == "3g.20gb"
    assert json.loads(tags["corral.devices"]) == [{"device": GPU0, "instance": instances[1], "profile": "3g.20gb"}]


def test_a_killed_scheduler_leaves_what_its_runs_use_until_they_end(corral: Corral, machine: Machine) -> None:
    machine.reset("gpu1.compute_mode 3", "gpu1.power 300000")
    plan = machine.plan(
        row(1, "0", "3g.20gb", "part", waits=True),
        row(1, "1", "mps", "client", "sm=1200,250W", waits=True),
        row(1, "1", "-", "other", waits=True),
    )
    scheduler = corral.start("run", plan)
    until(lambda: all(machine.seen(name) for name in ("part", "client", "other")), "all runs have started")
    changed = machine.state.read_text()
    assert "gpu0.gi.1 9 0 4" in changed
    assert "gpu1.compute_mode" not in changed
    assert "gpu1.power 250000" in changed
    [daemon] = machine.daemons()
    scheduler.send_signal(signal.SIGKILL)
    scheduler.wait()

    said = corral("undo", status=1).stdout.decode()
    assert "waits: process" in said
    assert machine.state.read_text() == changed
    assert alive(daemon)
    (corral.home / "go").touch()

    def undone() -> bool:
        return corral("undo", status=None).returncode == 0

    until(undone, "everything is put back once the runs have ended")
    assert machine.is_as_before()


def test_a_gpu_that_another_plan_has_divided_is_waited_for(corral: Corral, machine: Machine) -> None:
    first = machine.plan(row(1, "0", "3g.20gb", "part", waits=True)).rename(corral.home / "first.csv")
    holder = corral.start("run", first)
    until(lambda: machine.seen("part"), "the first plan has divided it")
    heir = corral.start("run", machine.plan(row(1, "0", "mps", "whole")))
    until_said(heir, b"used by first.csv")
    assert machine.seen("whole") is None
    (corral.home / "go").touch()
    for scheduler in (holder, heir):
        _, said = scheduler.communicate(timeout=180)
        assert scheduler.returncode == 0, said
    assert machine.seen("whole")["CUDA_VISIBLE_DEVICES"] == GPU0
    assert machine.is_as_before()


def test_the_next_scheduler_takes_over_runs_and_puts_back_what_they_had(corral: Corral, machine: Machine) -> None:
    plan = machine.plan(
        row(1, "0", "3g.20gb", "part", waits=True),
        row(1, "1", "mps", "client", waits=True),
        row(2, "0", "4g.20gb", "next"),
    )
    scheduler = corral.start("run", plan)
    until(lambda: machine.seen("part") and machine.seen("client"), "both runs have started")
    [daemon] = machine.daemons()
    scheduler.send_signal(signal.SIGKILL)
    scheduler.wait()

    heir = corral.start("run", plan)
    until_said(heir, b"its runs are still there")
    assert alive(daemon)
    (corral.home / "go").touch()
    _, said = heir.communicate(timeout=180)
    assert heir.returncode == 0, said
    assert machine.seen("next")["CUDA_VISIBLE_DEVICES"].startswith("MIG-")
    assert machine.is_as_before()


def test_what_others_have_on_a_gpu_is_left_and_named(corral: Corral, machine: Machine) -> None:
    machine.reset("gpu0.mig 1", "gpu0.gi.1 9 0 4", "gpu0.ci.1.0 3", "gpu0.process.1 1.0", "gpu1.process.1 -")
    plan = machine.plan(row(1, "0", "4g.20gb", "a"), row(2, "1", "7g.40gb", "b"), row(3, "0", "-", "c"))
    done = corral("run", plan, status=None, seconds=180)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0
    assert "MIG 4g.20gb does not fit on GPU 0 (NVIDIA A100-SXM4-40GB) beside 1 instance that is there already" in said
    assert "GPU 1: MIG mode cannot be turned on while process 1 (" in said
    assert "GPU 0 is divided into 1 MIG instance, which Corral did not make" in said
    assert not any(machine.seen(name) for name in "abc")
    assert machine.is_as_before()


def test_without_permission_one_line_names_the_changes(corral: Corral, machine: Machine) -> None:
    machine.reset("refuse.nvmlDeviceSetMigMode 4")
    plan = machine.plan(row(1, "0", "3g.20gb", "a"), row(1, "0", "2g.10gb", "b"))
    done = corral("run", plan, status=None, seconds=180)
    lines = [line for line in (done.stdout + done.stderr).decode().splitlines() if "needs root" in line]
    assert len({line[line.index("changing GPUs") :] for line in lines}) == 1
    assert "MIG 2g.10gb on GPU 0" in lines[0]
    assert machine.is_as_before()

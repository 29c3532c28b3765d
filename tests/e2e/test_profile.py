"""`corral run --profile` and `corral profile`: real steps by PyTorch, nsys and ncu by what stands in for them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import PATIENCE, Corral, until
from test_digits import find_python

FAKE = Path(__file__).parent / "programs" / "fake_profiler.py"
TRAIN = """
    import sys, time, torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=8)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(int(sys.argv[1])):
        for x, y in loader:
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            if len(sys.argv) > 2: time.sleep(0.005)
    print(loss.item())
"""
# Steps, and CUDA, of a process without PyTorch.
STEPS = """
    import ctypes, corral
    class Fake:
        def __init__(self, name): pass
        def __getattr__(self, name): return lambda: print(name)
    ctypes.CDLL = Fake
    for step in corral.steps(range(20)): print("step", step)
"""


def files(corral: Corral, run: str, folder: str) -> dict[str, bytes]:
    """A folder of the run's artifacts."""
    id_ = corral.show(run)["id"]  # this also starts a server
    connection = corral.connection()

    def get(target: str) -> bytes:
        connection.request("GET", f"/api/corral/v1/runs/{id_}/artifacts{target}")
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return body

    entries = json.loads(get(f"?path={folder}"))["entries"]
    return {entry["name"]: get(f"/{folder}/{entry['name']}") for entry in entries}


def profiled(corral: Corral, run: str) -> list[dict[str, Any]]:
    phases = corral.get(f"/api/corral/v1/runs/{corral.show(run)['id']}/phases")["phases"]
    return [phase for phase in phases if phase["type"] == "profiled"]


def ask(corral: Corral, run: str, steps: int = 3) -> dict[str, Any]:
    """As the page does."""
    connection = corral.connection()
    target = f"/api/corral/v1/runs/{run}/profile"
    connection.request("POST", target, json.dumps({"steps": steps}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    assert answer.status == 200, body
    return dict(body["profile"])


def outcome(corral: Corral, run: str) -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        profile: dict[str, Any] = corral.get(f"/api/corral/v1/runs/{run}/profile")["profile"]
        return profile if profile["state"] in ("done", "refused", "failed") else None

    return until(over, "the profile is over")


@pytest.fixture
def python() -> str:
    found = find_python()
    if found is None:
        pytest.skip("no interpreter with PyTorch; ./dev setup makes one")
    return found


@pytest.fixture
def fake(corral: Corral) -> dict[str, str]:
    """An environment in which nsys and ncu are there."""
    programs = corral.home / "bin"
    programs.mkdir()
    for name in ("nsys", "ncu"):
        shutil.copy(FAKE, programs / name)
        (programs / name).chmod(0o755)
    return {"PATH": f"{programs}:/usr/bin:/bin", "FAKE_PROFILER_LOG": str(corral.home / "calls")}


def test_planned_and_asked_for(corral: Corral, python: str) -> None:
    script = corral.script("train.py", TRAIN)
    environment = {"CORRAL_PYTHON": python}
    options = ("run", "--quiet", "--no-listeners")
    alone = corral(*options, "--name", "alone", script, "4", env=environment)
    seen = corral(*options, "--name", "seen", "--profile", "torch:steps=7-9", script, "4", env=environment)
    assert seen.stdout == alone.stdout
    assert seen.stderr == b""

    found = files(corral, "seen", "profile/torch-7-9")
    assert set(found) == {"summary.json", "trace.json.gz"}
    assert json.loads(gzip.decompress(found["trace.json.gz"]))
    summary = json.loads(found["summary.json"])
    (phase,) = profiled(corral, "seen")
    assert phase["attributes"] == {"tool": "torch", "steps": "7-9", "artifact": "profile/torch-7-9"}
    assert summary["steps"] == {"first": 7, "last": 9}
    assert int(phase["start_ns"]) <= int(summary["start_ns"]) < int(summary["end_ns"]) <= int(phase["end_ns"])
    assert corral.show("seen")["tags"]["corral.profiler"] == "torch-7-9"
    assert not profiled(corral, "alone")

    running = corral.start(*options, "--name", "running", script, "100000", "slowly", env=environment)
    until(lambda: corral("show", "running", status=None).returncode == 0, "the run is known")
    asked = corral("profile", "running", "--steps", "2").stdout.decode()
    assert "profiling steps" in asked
    (phase,) = until(
        lambda: [one for one in profiled(corral, "running") if "artifact" in one["attributes"]], "its phase is stored"
    )
    first, last = map(int, phase["attributes"]["steps"].split("-"))
    assert last - first == 1
    assert phase["attributes"]["artifact"] in asked
    until(lambda: set(files(corral, "running", phase["attributes"]["artifact"])) == set(found), "the files are there")

    wish = ask(corral, "running", 2)
    done = outcome(corral, "running")
    assert done["state"] == "done", done
    assert done["id"] == wish["id"]
    assert done["last"] - done["first"] == 1
    assert done["artifact"] == f"profile/{wish['id']}"
    until(lambda: set(files(corral, "running", done["artifact"])) == set(found), "the files are there")
    wish = ask(corral, "running", 1000)
    path = "/api/corral/v1/runs/running/profile"
    until(lambda: corral.get(path)["profile"]["state"] != "asked", "its supervisor has heard of it")
    os.kill(running.pid, signal.SIGINT)
    running.wait(PATIENCE)
    corral.wait_ended("running")
    assert outcome(corral, "running")["state"] in ("done", "failed", "refused")
    refused = corral("profile", "running", status=1)
    assert b"has ended" in refused.stderr


def test_on_demand_says_why_not(corral: Corral) -> None:
    script = corral.script("wait.py", "import time\ntime.sleep(600)")
    for name, *options in (("plain",), ("blind", "--no-capture")):
        corral.start("run", "--quiet", "--no-listeners", "--name", name, *options, script)
        until(lambda: corral("show", name, status=None).returncode == 0, "the run is known")  # noqa: B023
    for arguments, why in (
        (("plain", "--wait", "200ms"), b"no step ended within 0.2 s"),
        (("blind",), b"--no-capture"),
        (("plain", "--spool", str(corral.home / "other")), b"no spool here"),
        (("none",), b"none"),
    ):
        assert why in corral("profile", *arguments, status=1).stderr
    assert corral("profile", "plain", "--steps", "0", status=2).stderr.startswith(b"corral profile: --steps 0")
    for name in ("plain", "blind"):  # both wait at the same time
        assert ask(corral, name)["state"] == "asked"
    assert "Python package" in outcome(corral, "plain")["reason"]
    assert "--no-capture" in outcome(corral, "blind")["reason"]
    waiting = corral.start("profile", "plain")
    requests = corral.spool.glob("*/profile/request")
    until(lambda: list(corral.spool.glob("*/profile/request")), "the request is there")
    assert b"is pending" in corral("profile", "plain", status=1).stderr
    os.kill(waiting.pid, signal.SIGINT)
    assert waiting.wait(60) == 1
    assert not list(requests), "a request that nobody waits for is gone"


def test_what_waits_for_a_step_is_taken_up_by_the_next_supervisor(corral: Corral) -> None:
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # the one that was asked goes on
    script = corral.script(
        "train.py",
        """
        import os, time, corral
        for _ in corral.steps(range(10**9)):
            while not os.path.exists("go"): time.sleep(0.01)
            if os.path.exists("stop"): break
            time.sleep(0.005)
        """,
    )
    run = corral.start("run", "--quiet", "--no-listeners", "--name", "seen", script)
    until(lambda: list(corral.spool.glob("*/seg/*.seg")), "a step has begun")
    until(lambda: corral("show", "seen", status=None).returncode == 0, "the run is known")
    path = "/api/corral/v1/runs/seen/profile"
    wish = ask(corral, "seen", 2)
    until(lambda: corral.get(path)["profile"]["state"] == "waiting", "its supervisor has heard of it")
    run.kill()
    run.wait()
    (request,) = corral.spool.glob("*/profile/request")
    before = request.stat().st_ctime_ns
    adopted = corral.start("run", "--adopt", request.parts[-3], "--quiet", "--no-listeners")

    def asked_again() -> bool:
        try:
            return request.stat().st_ctime_ns != before
        except FileNotFoundError:  # just now
            return False

    until(asked_again, "the next supervisor has asked for it again")
    (corral.home / "go").touch()
    done = outcome(corral, "seen")
    assert (done["id"], done["state"]) == (wish["id"], "failed")
    assert "does not use PyTorch" in done["reason"], "what its process says, not that nobody has spoken of it"
    assert not request.exists()
    (corral.home / "stop").touch()
    adopted.communicate(timeout=60)


def test_nsys_and_ncu_in_front_of_the_command(corral: Corral, fake: dict[str, str]) -> None:
    script = corral.script("train.py", STEPS)
    options = ("run", "--quiet", "--no-listeners", "--name")
    done = corral(*options, "window", "--profile", "nsys:steps=4-5", script, env=fake).stdout.decode().split("\n")
    assert done.index("cudaProfilerStart") == done.index("step 4") - 1
    assert done.index("cudaProfilerStop") == done.index("step 6") - 1
    found = files(corral, "window", "profile/nsys-4-5")
    assert set(found) == {"report.nsys-rep", "summary.json"}
    assert "--capture-range=cudaProfilerApi" in json.loads(found["report.nsys-rep"])
    summary = json.loads(found["summary.json"])
    assert summary["steps"] == {"first": 4, "last": 5}
    kinds = {part["kind"]: part["ms"] for part in summary["by_kind"]}
    assert kinds == {"kernel": 3.0, "communication": 1.0, "memory copy": 1.0}
    assert summary["top"][0] == {
        **{"name": "void gemm<float, 4>(float *, int)", "kind": "kernel", "calls": 3, "total_ms": 3.0, "share": 0.6}
    }
    (phase,) = profiled(corral, "window")
    assert phase["attributes"]["tool"] == "nsys"

    status = corral.script("exit.py", "print('out')\nraise SystemExit(3)")
    corral(*options, "raw", "--profile", "ncuraw", status, env=fake, status=3)
    found = files(corral, "raw", "profile/ncuraw")
    assert "--launch-count" in json.loads(found["report.ncu-rep"])
    summary = json.loads(found["summary.json"])
    assert [(row["name"], row["total_ms"]) for row in summary["top"]] == [("gemm", 1.5), ("relu", 0.5)]
    (phase,) = profiled(corral, "raw")
    assert phase["attributes"] == {"tool": "ncuraw", "artifact": "profile/ncuraw"}
    run = corral.show("raw")
    assert int(phase["end_ns"]) <= int(run["end_ns"])
    assert (int(summary["start_ns"]), int(summary["end_ns"])) == (int(phase["start_ns"]), int(phase["end_ns"]))
    assert run["exit_code"] == 3

    corral("run", "--quiet", "--name", "radt", "--listeners", "top+nsysraw", status, env=fake, status=3)
    assert set(files(corral, "radt", "profile/nsysraw")) == {"report.nsys-rep", "summary.json"}
    assert "host.cpu.busy" in {metric["name"] for metric in corral.show("radt")["metrics"]}


@pytest.mark.parametrize("heir", ["server", "supervisor"])
def test_a_report_outlives_the_supervisor(corral: Corral, fake: dict[str, str], heir: str) -> None:
    corral.serve(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    script = corral.script(
        "train.py", "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)"
    )
    quiet = ("--quiet", "--no-listeners")
    run = corral.start("run", *quiet, "--name", "left", "--profile", "nsysraw", script, env=fake)
    until((corral.home / "begun").exists, "it has begun")
    (spooled,) = corral.spooled()
    run.kill()
    run.wait()
    if heir == "supervisor":
        adopted = corral.start("run", "--adopt", spooled.name, *quiet)
        until(lambda: '"adoptions":1' in (spooled / "manifest.json").read_text(), "it is taken over")
    (corral.home / "go").touch()
    if heir == "supervisor":
        adopted.communicate(timeout=60)
    corral.wait_spool_empty()
    found = files(corral, spooled.name, "profile/without-summary")
    assert "--output=" in found["report.nsys-rep"].decode()


def test_what_is_missing_is_named(corral: Corral, fake: dict[str, str]) -> None:
    script = corral.script("train.py", "print('trained')")
    absent = corral("run", "--profile", "nsys", script, status=127)
    assert b"Nsight Systems" in absent.stderr
    assert absent.stdout == b""
    doctor = {row["part"]: row["available"] for row in corral.json("doctor")}
    assert not doctor["nsys"]
    assert not doctor["ncu"]
    assert not list(corral.spool.glob("*/manifest.json")), "nothing was started"
    for option, why in (
        (("--profile", "nsys", "--no-capture"), b"no steps are seen"),
        (("--profile", "perf"), b"the profilers are torch"),
        (("--profile", "torch:steps=3-1"), b"range"),
        (("--profile", "nsys", "--watch", "1"), b"exclude"),
    ):
        assert why in corral("run", *option, script, env=fake, status=2).stderr
    quiet = ("run", "--quiet", "--no-listeners", "--name")
    never = corral(*quiet, "never", "--profile", "torch", script)
    assert never.stdout == b"trained\n"
    assert b"no Python process of the run began step 10" in never.stderr
    lost = corral(*quiet, "lost", "--profile", "nsysraw", script, env=fake | {"FAKE_PROFILER_NO_REPORT": "1"})
    assert b"nsysraw left no report" in lost.stderr
    bare = corral(*quiet, "bare", "--profile", "nsysraw", script, env=fake | {"FAKE_PROFILER_NO_STATS": "1"})
    assert b"has no summary: ERROR: Report 'gpukernsum' could not be found." in bare.stderr
    assert set(files(corral, "bare", "profile/nsysraw")) == {"report.nsys-rep"}

"""Profiles of chosen steps: exactly those, as planned or asked for, and nothing of it in what the script computes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from package import PACKAGE, RUN
from segment_reader import Phase
from training import SCRIPT, Training, types

pytest.importorskip("torch")

EPOCHS = """
    for epoch in range(3):
        for batch in loader: print(train(batch).hex())
    print(*(p.detach().numpy().tobytes().hex() for p in model.parameters()))
"""


def artifacts(training: Training) -> dict[str, Path]:
    """Files kept for the run, by name."""
    found = {}
    for place in (training.folder / "artifacts").glob("*"):
        run, _, name = (place / "name").read_text().partition("\n")
        assert run == RUN
        found[name] = place / "data"
    return found


def trace(files: dict[str, Path], folder: str) -> list[dict[str, Any]]:
    with gzip.open(files[f"{folder}/trace.json.gz"], "rt") as file:
        found = json.load(file)
    events: list[dict[str, Any]] = found["traceEvents"] if isinstance(found, dict) else found
    return events


def named(training: Training, name: str) -> list[Phase]:
    return sorted((p for p in training.one().phases.values() if p.name == name), key=lambda phase: phase.begin)


def test_a_planned_window_holds_exactly_its_steps(training: Training) -> None:
    code = EPOCHS + "    print(*(n for n in sys.modules if 'corral._profile' in n))"
    *alone, imported = training.torch(code).split("\n")[:-1]
    assert imported == "", "without a profile nothing of it is imported"
    for file in training.segments.glob("*.seg"):
        file.unlink()
    *seen, imported = training.torch(code, CORRAL_PROFILE_STEPS="torch:5-8").split("\n")[:-1]
    assert seen == alone, "bit for bit"
    assert imported != ""

    files = artifacts(training)
    assert set(files) == {"profile/torch-5-8/trace.json.gz", "profile/torch-5-8/summary.json"}
    events = trace(files, "profile/torch-5-8")
    marks = sorted(e["name"] for e in events if e["name"].startswith("ProfilerStep"))
    assert marks == [f"ProfilerStep#{n}" for n in range(5, 9)]
    for name in ("Optimizer.step#SGD.step", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        assert len([e for e in events if e["name"] == name]) >= 4, name

    (profiled,) = named(training, "profiled")
    assert profiled.attributes == {"tool": "torch", "steps": "5-8", "artifact": "profile/torch-5-8"}
    assert profiled.lane.endswith("/profiler")
    inside = [p for p in training.one().phases.values() if p.parent == profiled.id]
    assert sorted(p.name for p in inside) == ["recording", "saving", "warm-up"]
    (recording,), (saving,) = named(training, "recording"), named(training, "saving")
    steps = named(training, "step")
    assert recording.end is not None
    within = [n for n, step in enumerate(steps) if recording.begin <= step.begin < saving.begin]
    assert within == [5, 6, 7, 8]
    for step in steps:
        assert step.end is not None
        assert saving.end is not None
        assert step.end <= saving.begin or step.begin >= saving.end, "what saving takes is no step's"
    assert types(training.one())["epoch/step"] == 21

    summary = json.loads(files["profile/torch-5-8/summary.json"].read_text())
    assert (summary["tool"], summary["steps"]) == ("torch", {"first": 5, "last": 8})
    assert int(summary["end_ns"]) - int(summary["start_ns"]) == pytest.approx(summary["total_ms"] * 1e6, abs=1000)
    assert summary["total_ms"] == pytest.approx((recording.end - recording.begin) / 1e6, rel=1e-6)
    assert [part["kind"] for part in summary["by_kind"]] == ["data wait", "operator", "other"]
    assert sum(part["ms"] for part in summary["by_kind"]) == pytest.approx(summary["total_ms"], rel=1e-3)
    assert sum(part["share"] for part in summary["by_kind"]) == pytest.approx(1, rel=1e-3)
    calls = {entry["name"]: entry["calls"] for entry in summary["top"]}
    assert len(summary["top"]) <= 30
    assert calls["aten::addmm"] == 4


def test_a_window_at_the_start_and_one_that_the_end_cuts_short(training: Training) -> None:
    training.torch(EPOCHS, CORRAL_PROFILE_STEPS="torch:0-1")
    training.torch(EPOCHS, CORRAL_PROFILE_STEPS="torch:19-40")
    files = artifacts(training)
    steps = {name: json.loads(file.read_text())["steps"] for name, file in files.items() if name.endswith(".json")}
    assert steps == {
        "profile/torch-0-1/summary.json": {"first": 0, "last": 1},
        "profile/torch-19-40/summary.json": {"first": 19, "last": 20},
    }
    marks = {e["name"] for e in trace(files, "profile/torch-0-1") if e["name"].startswith("ProfilerStep")}
    assert marks == {"ProfilerStep#0", "ProfilerStep#1"}


def process(training: Training, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    script = training.folder / "train.py"
    script.write_text(textwrap.dedent(SCRIPT) + textwrap.dedent(code))
    return training.process(script, **more)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (EPOCHS.replace("3", "13"), "the process ended before step 91 did"),
        (
            "import corral\nfor n in corral.steps(range(99)):\n    if n == 0: del sys.modules['torch']",
            "not use PyTorch",
        ),
        (
            "from torch.profiler import profile\np = profile()\np.start()\nfor _ in range(15):\n"
            "    for batch in loader: train(batch)\np.stop()\nprint(len(p.key_averages()) > 5)",
            "the script's own profiler is running",
        ),
        (
            "from torch.profiler import profile\nfor n in range(15):\n    for k, batch in enumerate(loader):\n"
            "        train(batch)\n        if (n, k) == (12, 6):\n            p = profile()\n            p.start()\n"
            "p.stop()\nprint(len(p.key_averages()) > 5)",
            "the script's own profiler began",
        ),
    ],
)
def test_what_cannot_be_profiled_is_said_once_and_disturbs_nothing(training: Training, code: str, reason: str) -> None:
    done = process(training, code, CORRAL_PROFILE_STEPS="torch:91-95")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"corral: no profile of steps 91 to 95: {done.stderr.partition('95: ')[2]}"
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert not artifacts(training)
    assert "False" not in done.stdout
    for phase in training.one().phases.values():
        assert phase.end is not None


def test_a_script_without_standard_error_profiles_itself(training: Training) -> None:
    code = """
        sys.stderr = None
        from torch.profiler import profile
        for n in range(3):
            for k, batch in enumerate(loader):
                train(batch)
                if (n, k) == (1, 3):
                    p = profile()
                    p.start()
        p.stop()
        print(len(p.key_averages()) > 5)
    """
    assert training.torch(code, CORRAL_PROFILE_STEPS="torch:9-15") == "True\n"
    assert not artifacts(training)


def test_an_exception_within_the_window_passes_and_the_profile_is_kept(training: Training) -> None:
    code = "for n, batch in enumerate(loader):\n    train(batch)\n    if n == 5: raise KeyError('mine')"
    done = process(training, code, CORRAL_PROFILE_STEPS="torch:3-30")
    assert done.returncode == 1
    assert done.stderr.endswith("KeyError: 'mine'\n")
    assert "corral" not in done.stderr
    summary = json.loads(artifacts(training)["profile/torch-3-30/summary.json"].read_text())
    assert summary["steps"]["first"] == 3
    assert summary["steps"]["last"] in (4, 5)


def test_one_process_of_several_takes_a_planned_window(training: Training) -> None:
    code = """
        import os
        if os.fork() == 0:
            for batch in loader: train(batch)
            os._exit(0)
        os.wait()
        for batch in loader: train(batch)
    """
    training.torch(code, CORRAL_PROFILE_STEPS="torch:2-3")
    assert len(artifacts(training)) == 2
    training.torch("for batch in loader: train(batch)", CORRAL_PROFILE_STEPS="torch:1-1", LOCAL_RANK="1")
    assert len(artifacts(training)) == 2


def test_a_request_is_taken_at_a_step_and_answered(training: Training) -> None:
    folder = training.folder / "profile"
    folder.mkdir()
    script = training.folder / "train.py"
    code = "import time\nwhile True:\n    for batch in loader:\n        train(batch)\n        time.sleep(0.002)"
    script.write_text(textwrap.dedent(SCRIPT) + code)
    trained = subprocess.Popen([sys.executable, script], env=training.environment(), stderr=subprocess.PIPE, text=True)
    try:
        (folder / "request").write_text("{}")
        for number in (1, 2):
            while (folder / "request").exists():
                assert trained.poll() is None
                time.sleep(0.01)
            draft = folder / "draft"
            draft.write_text(json.dumps({"id": f"asked-{number}", "tool": "torch", "steps": number}))
            draft.rename(folder / "request")
            answer = folder / f"asked-{number}.answer"
            deadline = time.monotonic() + 60
            states: list[dict[str, Any]] = []
            while not states or states[-1]["state"] not in ("done", "failed"):
                assert time.monotonic() < deadline
                time.sleep(0.01)
                if answer.exists():
                    states = [
                        json.loads(line) for line in answer.read_text().splitlines(keepends=True) if line[-1:] == "\n"
                    ]
            assert [state["state"] for state in states] == ["begun", "saving", "done"]
            last = states[-1]
            assert last["last"] - last["first"] + 1 == number
            assert last["pid"] == trained.pid
            events = trace(artifacts(training), last["artifact"])
            marks = sorted(e["name"] for e in events if e["name"].startswith("ProfilerStep"))
            assert marks == [f"ProfilerStep#{n}" for n in range(last["first"], last["last"] + 1)]
    finally:
        trained.kill()
        assert trained.communicate()[1] == ""


def test_nsys_and_ncu_get_their_window(training: Training) -> None:
    code = """
        import torch.cuda
        torch.cuda.is_available = lambda: True
        torch.cuda.synchronize = lambda: None
        torch.cuda.profiler.start = lambda: print("start")
        torch.cuda.profiler.stop = lambda: print("stop")
        for batch in loader: print(bool(train(batch)))
    """
    assert training.torch(code, CORRAL_PROFILE_STEPS="nsys:2-3").split() == [
        *("True", "True", "start", "True", "True", "stop", "True", "True", "True")
    ]
    window = json.loads((training.folder / "profile" / "window").read_text())
    assert (window["tool"], window["steps"]) == ("nsys", {"first": 2, "last": 3})
    (profiled,) = named(training, "profiled")
    assert profiled.attributes == {"tool": "nsys", "steps": "2-3", "artifact": "profile/nsys-2-3"}
    refused = process(training, "for batch in loader: train(batch)", CORRAL_PROFILE_STEPS="ncu:1-2")
    assert refused.returncode == 0
    assert "this process does not use CUDA" in refused.stderr


def test_times_of_devices_are_parted_by_kind() -> None:
    code = """
        import json, corral
        from corral import _profile_summary
        def event(name, cat, ts, dur, tid=1, device=0):
            times = {"ph": "X", "ts": ts, "dur": dur, "pid": device, "tid": tid}
            return times | {"name": name, "cat": cat, "args": {"device": device}}
        print(json.dumps(_profile_summary.parts([
            event("gemm", "kernel", 0, 1000), event("gemm", "kernel", 500, 1000, 2), event("relu", "kernel", 2000, 500),
            event("ncclDevKernel_AllReduce", "kernel", 1000, 2000, 3), event("HtoD", "gpu_memcpy", 2900, 600),
            event("gemm", "kernel", 0, 4000, 1, 1),
            event("outer", "cpu_op", 0, 100), event("inner", "cpu_op", 10, 30), event("inner", "cpu_op", 40, 30),
            {"ph": "i", "name": "x"}, {"ph": "X", "name": None, "cat": "kernel", "dur": 1},
        ], 5.0)))
        print(json.dumps(_profile_summary.parts({"traceEvents": []}, 0.0)))
    """
    script = textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True, check=True
    )
    found, nothing = map(json.loads, done.stdout.splitlines())
    assert {part["kind"]: part["ms"] for part in found["by_kind"]} == {
        "kernel": 6.0,
        "communication": 1.0,
        "memory copy": 0.5,
        "idle": 2.5,
    }
    assert sum(part["share"] for part in found["by_kind"]) == pytest.approx(1)
    rows = {(entry["name"], entry["kind"]): (entry["calls"], entry["total_ms"]) for entry in found["top"]}
    assert rows == {
        ("gemm", "kernel"): (3, 6.0),
        ("ncclDevKernel_AllReduce", "communication"): (1, 2.0),
        ("HtoD", "memory copy"): (1, 0.6),
        ("relu", "kernel"): (1, 0.5),
        ("inner", "operator"): (2, 0.06),
        ("outer", "operator"): (1, 0.04),
    }
    assert nothing["top"] == []

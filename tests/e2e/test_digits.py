"""The whole way with a real training: two PyTorch runs at once as one workload."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, Corral

TRAIN = ROOT / "examples" / "digits" / "train.py"
EPOCHS = 3


def find_python() -> str | None:
    """An interpreter that has PyTorch and scikit-learn: this one, or that of `./dev setup`."""
    for python in (sys.executable, str(ROOT / ".venv" / "bin" / "python")):
        if not Path(python).exists():
            continue
        if subprocess.run([python, "-c", "import sklearn, torch"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def test_two_trainings_at_once(corral: Corral) -> None:
    python = find_python()
    if python is None:
        pytest.skip("no interpreter with PyTorch and scikit-learn; ./dev setup makes one")
    runs = []
    for width in ("8", "12"):
        options = ("run", "--quiet", "--experiment", "digits", "--workload", "both", "--name", f"width-{width}")
        arguments = (TRAIN, "--epochs", str(EPOCHS), "--width", width)
        runs.append(corral.start(*options, *arguments, env={"OMP_NUM_THREADS": "1", "CORRAL_PYTHON": python}))
    for run in runs:
        out, error = run.communicate(timeout=300)
        assert run.returncode == 0, error
        assert out

    corral.wait_spool_empty()
    listed = corral.runs()
    assert {(r["name"], r["status"], r["workload"]) for r in listed} == {
        ("width-8", "finished", "both"),
        ("width-12", "finished", "both"),
    }
    for row in listed:
        run = corral.show(row["name"])
        assert run["params"]["width"] == row["name"].removeprefix("width-")
        assert 0 < row["loss"] < 2.3
        metrics = run["metrics"]
        hardware = {m["name"] for m in metrics if m["group"] not in ("software", "collector")}
        assert len(hardware) >= 30
        assert all(m["points"] > 0 for m in metrics)
        loss = corral.points(row["name"], "loss")
        steps = [p.step for p in loss]
        assert len(steps) == len(set(steps)) > 10
        assert steps == sorted(s for s in steps if s is not None)
        (rss,) = [m for m in metrics if m["name"] == "run.memory.rss"]
        assert rss["max"] > 100 << 20, "PyTorch alone is larger"
        phases = corral.json("ls", "phases", row["name"])
        epochs = [p for p in phases if p["name"] == "epoch"]
        assert len(epochs) == EPOCHS
        assert all(p["end_ns"] for p in phases)
        assert run["drops"] == {"points": 0, "frames": 0, "ticks": 0}
    (workload,) = corral.json("ls", "workloads")
    assert len(workload["runs"]) == 2

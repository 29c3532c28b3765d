"""The plans of examples/, each with the one command of its README, on copies."""

from __future__ import annotations

import csv
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from support import BUILD, PYTHON, ROOT, Corral

PLANS = sorted(path.name for path in (ROOT / "examples" / "plans").iterdir() if path.suffix in (".csv", ".yaml"))
# Environments that ./dev makes; the one of the examples is made by hand, being large (tools/pip-examples-packages.txt).
JAX = ROOT / ".venv-mlflow3" / "bin" / "python"
TENSORFLOW = ROOT / ".venv-examples" / "bin" / "python"
DEVELOPMENT = ROOT / ".venv" / "bin" / "python"


@pytest.fixture
def examples(corral: Corral) -> Path:
    """A copy whose files go to this test's home."""
    copy = corral.home / "examples"
    shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for plan in (copy / "plans").iterdir():
        plan.write_text(plan.read_text().replace("/tmp/corral-example", str(corral.home / "made")))
    return copy


def need(python: Path, *modules: str) -> str:
    code = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))"
    if not python.exists() or subprocess.run([python, "-c", code, *modules], check=False).returncode != 0:
        pytest.skip(f"{python} with {', '.join(modules)} is not there")
    return str(python)


def rows(plan: Path) -> list[dict[str, str]]:
    lines = [line for line in plan.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, skipinitialspace=True))


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_is_right(corral: Corral, examples: Path, plan: str) -> None:
    # The check must not depend on this machine's devices.
    corral("plan", "check", "--no-devices", examples / "plans" / plan)


def test_three_stages_follow_one_another(corral: Corral, examples: Path) -> None:
    python = need(DEVELOPMENT, "numpy", "sklearn")
    plan = examples / "plans" / "pipeline.csv"
    corral("run", plan, env={"CORRAL_PYTHON": python}, seconds=200)
    assert [row["Status"].split()[0] for row in rows(plan)] == ["FINISHED"] * 3
    corral.wait_spool_empty()
    stages = [corral.show(row["Run"]) for row in rows(plan)]
    assert [run["workload"] for run in stages] == ["preprocess", "train", "inference"]
    for earlier, later in itertools.pairwise(stages):
        assert int(earlier["end_ns"]) <= int(later["start_ns"])
    (accuracy,) = corral.points(stages[2]["id"], "accuracy")
    assert accuracy.value > 0.8


def test_a_gpu_is_shared_on_the_fake_driver(corral: Corral, examples: Path) -> None:
    fakes = BUILD / "fakes" / "gpu"
    corral.environment |= {
        "FAKE_NVML_STATE": str(corral.home / "gpu"),
        "CORRAL_NVML_LIBRARY": str(fakes / "libnvidia-ml.so.1"),
        "CORRAL_MPS_CONTROL": str(fakes / "nvidia-cuda-mps-control"),
        "CORRAL_PYTHON": PYTHON,
    }
    plan = examples / "plans" / "gpu-sharing.csv"
    corral("run", plan, seconds=200)
    assert [row["Status"].split()[0] for row in rows(plan)] == ["FINISHED"] * 7
    said = [corral.logs(row["Run"]).text("stdout") for row in rows(plan)]
    assert all("CUDA_VISIBLE_DEVICES=GPU-" in text for text in said[:5])
    assert all("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50" in text for text in said[3:5])
    assert all("CUDA_VISIBLE_DEVICES=MIG-" in text for text in said[5:])
    assert said[5] != said[6], "each has an instance of its own"


FRAMEWORKS = {
    "pytorch.csv": (DEVELOPMENT, ("torch", "sklearn")),
    "jax.csv": (JAX, ("jax", "sklearn")),
    "tensorflow.csv": (TENSORFLOW, ("tensorflow", "sklearn")),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_alone_and_shared(corral: Corral, examples: Path, name: str) -> None:
    """In an environment that is there already: building one takes minutes and a network."""
    interpreter, modules = FRAMEWORKS[name]
    python = need(interpreter, *modules)
    plan = examples / "plans" / name
    for requirements in ("tensorflow", "jax"):
        plan.write_text(plan.read_text().replace(f"uv=../requirements-{requirements}.txt", f"python={python}"))
    plan.write_text(plan.read_text().replace("--epochs 3", "--epochs 1"))
    corral("run", plan, "--only", "together", env={"CORRAL_PYTHON": python}, seconds=200)
    shared = [row for row in rows(plan) if row["Workload"] == "together"]
    assert [row["Status"].split()[0] for row in shared] == ["FINISHED"] * 2
    corral.wait_spool_empty()
    for row in shared:
        run = corral.show(row["Run"])
        assert run["workload"] == "together"
        assert [p.value for p in corral.points(row["Run"], "loss")]

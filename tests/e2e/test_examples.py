"""The plans of examples/, each with the one command of its README, on copies."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

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


# Each study is made small enough for a test: texts that are replaced in its files, and options of its run.
STUDIES = {
    "collocation": (
        {
            "repeats: 3": "repeats: 1",
            "images: 2400": "images: 1000",
            "collocation-S collocation-M collocation-L": "collocation-M",
        },
        ["--only", "collocation-M/*"],
    ),
    "overhead": (
        {"repeats: 5": "repeats: 1", "--epochs 5": "--epochs 1"},
        ["--skip", "*tensorboard", "--skip", "*mlflow"],
    ),
    "edge-pipeline": ({"repeats: 5": "repeats: 1", "--scale {scale}": "--scale {scale} --days 20"}, []),
    "index-microarchitecture": ({"repeats: 5": "repeats: 1", "{index}\n": "{index} --keys 20000 --rounds 4\n"}, []),
}
CONTROL_GROUPS = pytest.mark.skipif(
    os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2, reason="CPU sets need root and two CPUs"
)


def study(corral: Corral, examples: Path, name: str) -> tuple[Path, str]:
    """The folder of a study after it was run at a size for tests, and what was printed."""
    python = need(DEVELOPMENT, "torch", "numpy")
    folder = examples / "studies" / name
    changes, options = STUDIES[name]
    for old, new in changes.items():
        (path,) = [one for one in (folder / "study.yaml", folder / "report.sh") if old in one.read_text()]
        path.write_text(path.read_text().replace(old, new))
    environment = corral.environment | {"CORRAL_PYTHON": python, "PATH": f"{BUILD}:/usr/bin:/bin"}
    words: list[str | Path] = ["sh", examples / "studies" / "run.sh", name, *options]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder, done.stdout


def values(folder: Path, report: str) -> dict[str, list[float]]:
    """The values of runs in a report in HTML, by their group."""
    text = (folder / f"{report}.html").read_text()
    table = unquote(re.findall(r'href="data:text/csv[^,]*,([^"]*)"', text)[0])
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        of_group = found.setdefault(row["group"], [])
        if row["value"]:
            of_group.append(float(row["value"]))
    return found


@CONTROL_GROUPS
def test_the_study_of_collocation(corral: Corral, examples: Path) -> None:
    folder, told = study(corral, examples, "collocation")
    cells = {"3(M)-together"} | {f"{k}(M)-{way}" for k in (1, 2) for way in ("together", "apart")}
    assert set(values(folder, "collocation-M")) == cells
    text = (folder / "collocation-M.html").read_text()
    assert "Runs beside each other" in text
    assert re.search(r"\S+ is \S+ . (?:slower|faster) than 1\(M\)-together", text), "the marked baseline"
    # Beside other programs a run may be too short beside its neighbours to be compared.
    assert "CAPACITY LOSS" in told or "Not measured" in told, told
    assert len((folder / "study-slowdowns.csv").read_text().splitlines()) == 4


def test_the_study_of_overhead(corral: Corral, examples: Path) -> None:
    folder, _ = study(corral, examples, "overhead")
    disk, cpu, whole, training = (
        values(folder, f"study-{value}") for value in ("disk_mb", "cpu_s", "whole_s", "training_s")
    )
    assert set(disk) == {"none", "again", "top", "profiler", "corral"}
    assert disk["none"] == disk["again"], "only the model"
    assert disk["profiler"][0] > disk["corral"][0] > disk["none"][0] > 1
    assert cpu["corral"][0] > 0
    assert all(whole[tool][0] > training[tool][0] > 0 for tool in whole)
    assert len(list(folder.glob("study-*.html"))) == 5


@CONTROL_GROUPS
def test_the_study_of_a_pipeline(corral: Corral, examples: Path) -> None:
    folder, told = study(corral, examples, "edge-pipeline")
    assert {name: len(of) for name, of in values(folder, "edge-1x").items()} == {
        f"{device}-1x": 1 for device in ("board", "small", "tiny")
    }
    assert "tiny-2x" in values(folder, "edge-2x")
    tiny = "(tiny-2x cpu) pipeline"
    assert {point.value for point in corral.points(tiny, "cgroup.cpu.limit")} == {0.5}
    assert sum(point.value for point in corral.points(tiny, "cgroup.cpu.periods")) > 0
    # Other programs may keep it from its half of a CPU more than the quota does.
    verdict = next(line for line in told.splitlines() if line.strip().startswith(tiny))
    assert "CPU quota" in verdict or "other programs" in verdict, told
    # The report names the stages that differ most; which of the short ones do is chance.
    assert "<td>train</td>" in (folder / "edge-2x.html").read_text()
    recorded = {phase["name"] for phase in corral.json("ls", "phases", "@1")}
    assert {"load", "clean", "train", "infer"} <= recorded
    # The tiny device lasts long enough for a sample.
    assert values(folder, "edge-2x-memory")["tiny-2x"][0] > 1e7


def test_the_study_of_indexes(corral: Corral, examples: Path) -> None:
    folder, _ = study(corral, examples, "index-microarchitecture")
    assert set(values(folder, "study")) == {"binary", "btree", "hash", "learned"}
    phases = (folder / "study-phases.md").read_text()
    if "Not counted:" in phases:  # as in virtual machines
        assert "- cycles: corral explain: the metric 'run.pmu.cycles' was not available: " in phases
    else:
        assert len(re.findall(r"^\| (?:binary|btree|hash|learned) \|", phases, re.MULTILINE)) == 16


@pytest.mark.parametrize("size", ["study", "full"])
@pytest.mark.parametrize("name", STUDIES)
def test_the_plan_of_a_study_is_right(corral: Corral, examples: Path, name: str, size: str) -> None:
    folder = examples / "studies" / name
    corral("plan", "generate", folder / f"{size}.yaml", "-o", folder / f"{size}.csv")
    if (name, size) == ("collocation", "full"):
        (folder / "timm").mkdir()
        (folder / "timm" / "train.py").touch()
    corral("plan", "check", "--no-devices", folder / f"{size}.csv")


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

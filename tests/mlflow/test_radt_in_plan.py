"""radT's own client inside `corral run plan.csv`; its import and its start take seconds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from plan_support import Plan
from support import ROOT, Corral

RADT = ROOT / ".venv-mlflow3" / "bin" / "python"


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[Corral]:
    runtime = Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(tmp_path, runtime)
    try:
        yield corral
    finally:
        corral.close()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.mark.skipif(not RADT.exists(), reason="radT is not installed")
def test_a_script_of_radts_in_a_plan_of_radts(corral: Corral) -> None:
    """Unchanged: its header and its client."""
    plan = Plan(
        corral,
        ["0,7,left,,,0,-,ps,train.py,--batch 1"],
        "Experiment,Workload,Name,Status,Run,Devices,Collocation,Listeners,File,Params",
    )
    (plan.folder / "train.py").write_text(
        "import radt\n"
        "with radt.run.benchmark.RADTBenchmark() as run:\n"
        "    for epoch in range(3):\n"
        "        run.log_metric('loss', 1 / (epoch + 1), epoch)\n"
    )
    plan.run(
        seconds=180, env={"CORRAL_PYTHON": str(RADT), "MLFLOW_DISABLE_TELEMETRY": "true", "GIT_PYTHON_REFRESH": "quiet"}
    )
    run = plan.rows()["left"]["Run"]
    assert [(p.step, p.value) for p in corral.points(run, "loss")] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert corral.show(run)["params"]["batch"] == "1"

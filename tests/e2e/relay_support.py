"""Shared parts of the tests of MLflow's clients inside `corral run`."""

from __future__ import annotations

import json

from support import ROOT, Corral, Json

CLIENTS = {"2": ROOT / ".venv-mlflow2" / "bin" / "python", "3": ROOT / ".venv-mlflow3" / "bin" / "python"}
# Artifacts are compared as a whole: none of Corral's own.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "GIT_PYTHON_REFRESH": "quiet", "CORRAL_KEEP_CODE": "0"}


def steps(corral: Corral, metric: str, run: str = "@1") -> list[int | None]:
    return [p.step for p in corral.points(run, metric)]


def said(output: bytes) -> Json:
    """Returns the last line that the script printed, parsed."""
    return json.loads(output.decode().strip().splitlines()[-1])


def only_run(corral: Corral, *, children: int = 0) -> Json:
    runs = corral.runs()
    assert len(runs) == 1 + children, runs
    return corral.show(runs[-1]["id"])


def history(corral: Corral, run: str, metric: str) -> list[int]:
    answer = corral.get(f"/api/2.0/mlflow/metrics/get-history?run_id={run}&metric_key={metric}")
    return [int(point["step"]) for point in answer["metrics"]]


def artifacts(corral: Corral, run: str, path: str = "") -> list[Json]:
    return list(corral.get(f"/api/2.0/mlflow/artifacts/list?run_id={run}&path={path}").get("files", []))

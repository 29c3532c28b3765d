"""radT's own client with a plan of two collocated runs, against Corral alone."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import CLOUD, FILES, Server
from support import ROOT

RADT = ROOT / ".venv-mlflow3" / "bin"
SCRIPT = Path(__file__).parent / "radt_plan.py"
LIMIT_S = 180
PARAMS = "--batch 8 --data cifar10"
# radT 0.2.30 gives all rows of a workload the last one's params: they must be the same.
PLAN = f"""Experiment,Workload,Name,Status,Run,Devices,Collocation,Listeners,File,Params
0,7,left,,,0,-,ps+top+free,train.py,{PARAMS}
0,7,right,,,0,-,ps+top+free,train.py,{PARAMS}
"""


def run_plan(server: Server) -> list[dict[str, str]]:
    folder = server.home / "plan"
    folder.mkdir()
    shutil.copy(SCRIPT, folder / "train.py")
    (folder / "plan.csv").write_text(PLAN)
    environment = {
        "PATH": f"{RADT}:/usr/bin:/bin",
        "HOME": str(server.home),
        "LANG": "C.UTF-8",
        "GIT_PYTHON_REFRESH": "quiet",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": server.url,
        "PYTHONUNBUFFERED": "1",
        "RADT_OUTPUT": str(server.home / "radt.txt"),
    }
    with Path(environment["RADT_OUTPUT"]).open("w") as output:
        done = subprocess.run(
            [RADT / "radt", "plan.csv"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=LIMIT_S,
        )
    assert done.returncode == 0, Path(environment["RADT_OUTPUT"]).read_text()[-4000:]
    return list(csv.DictReader((folder / "plan.csv").read_text().splitlines()))


def get(server: Server, path: str) -> bytes:
    with urllib.request.urlopen(server.url + path) as answer:
        body: bytes = answer.read()
        return body


def told(server: Server, path: str) -> Any:
    return json.loads(get(server, path))


def files(server: Server, run: str, folder: str = "") -> set[str]:
    entries = told(server, f"/api/corral/v1/runs/{run}/artifacts?path={folder}")["entries"]
    return {entry["name"] for entry in entries}


@pytest.mark.parametrize("server", [FILES, CLOUD], indirect=True)
def test_a_plan(server: Server) -> None:
    rows = run_plan(server)
    assert [row["Status"].split()[0] for row in rows] == ["FINISHED", "FINISHED"], rows
    left, right = (row["Run"].strip() for row in rows)

    # experiment > workload > run
    (workload,) = told(server, "/api/corral/v1/workloads?experiment=0")["workloads"]
    assert workload["name"] == "7"
    assert set(workload["runs"]) == {left, right}
    run = told(server, f"/api/corral/v1/runs/{right}")
    assert run["name"] == "(7 0_B) right"
    assert run["status"] == "finished"
    assert run["tags"]["mlflow.parentRunId"] == left
    assert run["params"].items() >= {"workload": "7", "batch": "8", "data": "cifar10", "params": PARAMS}.items()

    # every point, and the listeners' with their units
    history = told(server, f"/api/2.0/mlflow/metrics/get-history?run_id={left}&metric_key=loss")["metrics"]
    assert [(point["step"], point["value"]) for point in history] == [(step, 1 / (step + 1)) for step in range(60)]
    metrics = {m["name"]: m for m in told(server, f"/api/corral/v1/runs/{left}/metrics")["metrics"]}
    used = metrics["system/Free - Mem Used GB"]
    assert (used["unit"], used["alias_of"]) == ("GB", "host.memory.used")
    exported = get(server, f"/api/corral/v1/runs/{left}/export?metric=host.memory.used").decode()
    assert "system/Free - Mem Used GB" in exported

    # files and output
    assert files(server, left) >= {"pip.txt", f"log_{left}.txt", "radt-trace"}
    assert f"trains with {PARAMS}" in get(server, f"/api/corral/v1/runs/{left}/artifacts/log_{left}.txt").decode()

    # spans: batches stay files and are phases, too
    assert "manifest.json" in files(server, left, "radt-trace")
    names = [phase["name"] for phase in told(server, f"/api/corral/v1/runs/{left}/phases")["phases"]]
    assert {name: names.count(name) for name in ("epoch", "step", "load")} == {"epoch": 3, "step": 60, "load": 5}

    # the columns that the older page reads
    of_plan = told(server, "/fe_runs?workload=eq.7&select=run_uuid,data,model&order=start_time")
    assert of_plan == [{"run_uuid": r, "data": "cifar10", "model": "train.py"} for r in (left, right)]
    points = told(server, f"/fe_metrics?run_uuid=in.({quote(json.dumps(left))})&key=eq.loss")
    assert len(points) == 60

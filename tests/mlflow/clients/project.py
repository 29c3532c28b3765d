"""`mlflow run` of a project in the interpreter's own environment: its run, params, source, and failure."""

import os
import subprocess
import sys
from pathlib import Path

import mlflow

NAME = os.environ["TEST_NAME"]
PROJECT = Path(__file__).parent / "project_files"


def run(*arguments: str) -> int:
    command = [sys.executable, "-m", "mlflow", "run", str(PROJECT), "--env-manager=local", "--experiment-name", NAME]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run([*command, *arguments], check=False, env=dict(os.environ, PATH=path)).returncode


assert run("-P", "rate=0.25", "--run-name", "projected") == 0
assert run("-P", "fail=yes") != 0
done, failed = mlflow.search_runs(experiment_names=[NAME], order_by=["start_time ASC"], output_format="list")
assert done.info.status == "FINISHED"
assert done.info.run_name == "projected"
assert done.data.params == {"rate": "0.25", "fail": "no"} or done.data.params == {"rate": "0.25"}
assert done.data.metrics == {"rate": 0.25}
assert done.data.tags["mlflow.source.type"] == "PROJECT"
assert done.data.tags["mlflow.project.entryPoint"] == "main"
assert done.data.tags["mlflow.project.backend"] == "local"
assert mlflow.artifacts.load_text(f"runs:/{done.info.run_id}/out.txt") == "done"
assert failed.info.status == "FAILED"

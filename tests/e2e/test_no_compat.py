"""A build without `compat/` (CORRAL_COMPAT=OFF). Only the compat stage collects this file."""

from __future__ import annotations

from contextlib import closing

from support import ROOT, Corral

SCRIPT = """
import os, corral
assert "MLFLOW_TRACKING_URI" not in os.environ, os.environ["MLFLOW_TRACKING_URI"]
for step in range(10):
    corral.log("loss", 1 / (step + 1), step=step)
"""


def test_it_records_serves_and_shows(corral: Corral) -> None:
    corral("run", "--name", "alone", corral.script("train.py", SCRIPT))
    assert [point.step for point in corral.points("@1", "loss")] == list(range(10))
    assert b"alone" in corral("ls", "runs").stdout


def test_no_path_of_another_tool_answers(corral: Corral) -> None:
    corral.serve()
    with closing(corral.connection()) as connection:
        for method, path, status in (
            ("GET", "/health", 200),
            ("GET", "/api/2.0/mlflow/experiments/get?experiment_id=0", 404),
            ("GET", "/ajax-api/2.0/mlflow/experiments/search", 404),
            ("POST", "/v1/traces", 404),
        ):
            connection.request(method, path, body=b"" if method == "POST" else None)
            answer = connection.getresponse()
            answer.read()
            assert (path, answer.status) == (path, status)


def test_import_says_that_this_build_cannot(corral: Corral) -> None:
    said = corral("import", "mlflow.db", status=1).stderr.decode()
    assert "built without" in said


def test_it_imports_traces(corral: Corral) -> None:
    corral("import", ROOT / "tests" / "fixtures" / "traces" / "torch-1.13-cpu.json.gz", "--name", "profile")
    assert "data wait" in corral("explain", "profile").stdout.decode()

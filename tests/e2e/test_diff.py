"""The recorded environment of a run, and `corral diff`."""

from __future__ import annotations

import hashlib
from typing import Any

from support import PYTHON, Corral, until


def run(corral: Corral, name: str, *options: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    script = corral.script("train.py", "print('done')\n")
    corral("run", "--quiet", "--name", name, *options, script, env={"CORRAL_PYTHON": PYTHON} | (env or {}))
    return dict(corral.wait_ended(name)["info"])


def test_runs_whose_artifacts_lie_elsewhere_differ_in_the_rest(corral: Corral) -> None:
    run(corral, "here", "--param", "lr=0.1")
    experiment = corral.post("/api/2.0/mlflow/experiments/create", {"name": "old", "artifact_location": "file:///far"})
    corral.post(
        "/api/2.0/mlflow/runs/create",
        {"experiment_id": experiment["experiment_id"], "run_name": "there", "start_time": 1_700_000_000_000},
    )
    done = corral("diff", "here", "there")
    assert b"corral diff: the code of there is not here and is not compared: the artifacts lie at" in done.stderr
    table = done.stdout.decode()
    assert "lr" in table
    keys = {d["key"] for d in corral.json("diff", "here", "there") if d["part"] == "code"}
    assert not keys & {"files", "train.py"}, "code that is not here is not said to differ"


def test_what_differs_between_two_runs(corral: Corral) -> None:
    secrets = {"TF_API_KEY": "hidden-value", "CUDA_TOKEN": "hidden-value"}
    data = corral.home / "digits.csv"
    data.write_text("1,2\n")
    go = corral.home / "go"
    reads = corral.script("reads.py", f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\n")
    common = ("run", "--quiet", "--no-listeners", "--hash-data", "--name", "hashed", reads, "--data", data)
    hashing = corral.start(*common, env={"CORRAL_PYTHON": PYTHON})

    first = run(corral, "first", "--param", "lr=0.1", env={"OMP_NUM_THREADS": "1"} | secrets)
    second = run(corral, "second", "--param", "lr=0.2", env={"OMP_NUM_THREADS": "4", "NCCL_DEBUG": "INFO"})
    again = run(corral, "again", "--param", "lr=0.1", env={"OMP_NUM_THREADS": "1"})

    assert first["environment.variables"] == "OMP_NUM_THREADS=1\n"
    assert "hidden-value" not in str(corral.show("first"))
    packages = dict(line.split("==", 1) for line in first["environment.packages"].splitlines() if "==" in line)
    assert "numpy" in packages
    assert first["set_up.aslr"] in ("full", "partial", "off")
    assert first["at_start.load"] >= 0
    assert len(first["set_up.hash"]) == 16
    assert first["set_up.hash"] == again["set_up.hash"]
    assert first["set_up.hash"] != second["set_up.hash"]

    differences = corral.json("diff", "first", "second")
    assert {"part": "param", "key": "lr", "a": "0.1", "b": "0.2"} in differences
    assert {"part": "variable", "key": "OMP_NUM_THREADS", "a": "1", "b": "4"} in differences
    assert {"part": "variable", "key": "NCCL_DEBUG", "a": None, "b": "INFO"} in differences
    assert {d["part"] for d in differences} <= {"param", "variable", "set-up", "at start"}
    assert {d["part"] for d in corral.json("diff", "first", "again")} <= {"at start"}

    (one,) = corral.json("diff", "first", "second", "--part", "param")
    assert one["key"] == "lr"
    assert b"no difference" in corral("diff", "first", "again", "--part", "package").stdout
    assert corral("diff", "first", "second", "--format", "csv").stdout.startswith(b"part,key,a,b\n")
    corral("diff", "first", status=2)
    corral("diff", "first", "nobody", status=1)

    # The hash of --hash-data is computed while the run goes on.
    until(lambda: "data.data.hash" in corral.show("hashed")["info"], "the data is hashed")
    go.touch()
    assert hashing.wait() == 0
    assert corral.show("hashed")["info"]["data.data.hash"] == hashlib.sha256(data.read_bytes()).hexdigest()
    (hashed,) = (d for d in corral.json("diff", "hashed", "first") if d["key"] == "data.data.hash")
    assert hashed["b"] is None

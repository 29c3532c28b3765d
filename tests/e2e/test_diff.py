"""What a run ran with, and `corral diff`."""

from __future__ import annotations

from typing import Any

from support import PYTHON, Corral


def run(corral: Corral, name: str, *options: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    script = corral.script("train.py", "print('done')\n")
    corral("run", "--quiet", "--name", name, *options, script, env={"CORRAL_PYTHON": PYTHON} | (env or {}))
    return dict(corral.wait_ended(name)["info"])


def test_what_differs_between_two_runs(corral: Corral) -> None:
    secrets = {"TF_API_KEY": "hidden-value", "CUDA_TOKEN": "hidden-value"}
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

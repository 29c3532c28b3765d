"""MLflow's real clients inside `corral run`: the files that a script logs."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from relay_support import QUIET, artifacts, only_run, said
from support import PATIENCE, Corral, until


def test_artifacts_go_through_the_relay(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, os, mlflow
        with open("big.bin", "wb") as file:
            file.write(os.urandom(1 << 20) * 80)
        with mlflow.start_run() as run:
            mlflow.log_text("hello", "notes/a.txt")
            mlflow.log_text("", "empty.txt")
            mlflow.log_artifact("big.bin")
            names = sorted(a.path for a in mlflow.MlflowClient().list_artifacts(run.info.run_id))
            text = mlflow.artifacts.load_text(run.info.artifact_uri + "/notes/a.txt")
            copy = mlflow.artifacts.download_artifacts(run.info.artifact_uri + "/big.bin", dst_path="copy")
            same = open(copy, "rb").read() == open("big.bin", "rb").read()
        print(json.dumps([names, text, same]))
        """,
    )
    told = said(corral("run", python, script, env=QUIET).stdout)
    assert told == [["big.bin", "empty.txt", "notes"], "hello", True]


def test_artifacts_of_the_package_are_uploaded(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, os, pathlib
        pathlib.Path("model/layers").mkdir(parents=True)
        pathlib.Path("model/a.bin").write_bytes(b"a" * 100_000)
        pathlib.Path("model/layers/b.bin").write_bytes(b"")
        corral.artifact("model")
        corral.artifact("model/a.bin", name="best/größe 1.bin")
        pathlib.Path("model/a.bin").write_bytes(b"changed later")
        for name in ("../x", "/x", "a//b", ""):
            try:
                corral.artifact("model/a.bin", name=name)
                raise SystemExit(f"{name!r} was taken")
            except ValueError:
                pass
        try:
            corral.artifact("absent")
            raise SystemExit("a file that is not there was taken")
        except FileNotFoundError:
            pass
        """,
    )
    corral("run", "--keep-code", "off", script)
    corral.wait_spool_empty()
    run = corral.show()["id"]
    assert [(f["path"], f["is_dir"]) for f in artifacts(corral, run)] == [("best", True), ("model", True)]
    assert [(f["path"], f.get("file_size")) for f in artifacts(corral, run, "model")] == [
        ("model/a.bin", 100_000),
        ("model/layers", None),
    ]
    assert [f["path"] for f in artifacts(corral, run, "best")] == ["best/größe 1.bin"]


def test_artifacts_wait_for_a_server(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, json, mlflow, pathlib
        pathlib.Path("a.txt").write_text("a")
        with mlflow.start_run() as run:
            mlflow.log_artifact("a.txt", "by_mlflow")
            corral.artifact("a.txt", "by_corral/a.txt")
        print(json.dumps(run.info.run_id))
        """,
    )
    nowhere = {"CORRAL_STORE": "", "CORRAL_SERVER": "http://127.0.0.1:9"}
    run = said(corral("run", python, script, env=QUIET | nowhere).stdout)
    (directory,) = corral.spooled()
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps(manifest | {"server": "", "store": str(corral.store)}))
    corral.serve()
    corral.wait_spool_empty()
    assert [f["path"] for f in artifacts(corral, run)] == ["by_corral", "by_mlflow"]


def test_artifacts_stay_where_they_are_when_the_run_moves(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, json, os, pathlib, time, urllib.request, mlflow
        pathlib.Path("early.txt").write_text("early")
        corral.artifact("early.txt")
        listing = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/artifacts/list?run_id="
        listing += os.environ["CORRAL_RUN_ID"]
        while b"early.txt" not in urllib.request.urlopen(listing).read():
            time.sleep(0.05)
        mlflow.set_experiment("elsewhere")
        with mlflow.start_run() as run:
            mlflow.log_text("late", "late.txt")
            names = sorted(a.path for a in mlflow.MlflowClient().list_artifacts(run.info.run_id))
            texts = [mlflow.artifacts.load_text(f"{run.info.artifact_uri}/{name}") for name in names]
        read = mlflow.get_run(run.info.run_id)
        print(json.dumps([names, texts, read.info.artifact_uri == run.info.artifact_uri]))
        """,
    )
    told = said(corral("run", python, script, env=QUIET).stdout)
    assert told == [["early.txt", "late.txt"], ["early", "late"], True]
    assert only_run(corral)["experiment"] == "elsewhere"
    assert [f["path"] for f in artifacts(corral, corral.show()["id"])] == ["early.txt", "late.txt"]


def test_artifacts_of_before_there_was_a_server_are_found_with_it(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, os, pathlib, time, mlflow
        mlflow.set_experiment("offline")
        with mlflow.start_run() as run:
            mlflow.log_text("early", "early.txt")
            pathlib.Path("logged").touch()
            while not os.path.exists("served"):
                time.sleep(0.01)
            mlflow.log_text("late", "late.txt")
            client = mlflow.MlflowClient()
            while len(names := sorted(a.path for a in client.list_artifacts(run.info.run_id))) < 2:
                time.sleep(0.05)
            texts = [mlflow.artifacts.load_text(f"{run.info.artifact_uri}/{name}") for name in names]
        print(json.dumps([names, texts]))
        """,
    )
    held = socket.socket()  # nobody else may take the port meanwhile
    held.bind(("127.0.0.1", 0))
    address = f"127.0.0.1:{held.getsockname()[1]}"
    run = corral.start("run", python, script, env=QUIET | {"CORRAL_STORE": "", "CORRAL_SERVER": f"http://{address}"})
    until((corral.home / "logged").exists, "the script has logged")
    held.close()
    corral.serve("--listen", address)
    (corral.home / "served").touch()
    out, error = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, error.decode()
    assert said(out) == [["early.txt", "late.txt"], ["early", "late"]]
    assert [f["path"] for f in artifacts(corral, corral.show()["id"])] == ["early.txt", "late.txt"]

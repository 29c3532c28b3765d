"""Artifacts: text, dict, table, image, figure, files and directories; list, download, load, delete."""

import json
import os
import tempfile
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd

NAME = os.environ["TEST_NAME"]

mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()
here = Path(tempfile.mkdtemp())
(here / "tree" / "deep").mkdir(parents=True)
(here / "tree" / "a.txt").write_text("a")
(here / "tree" / "deep" / "b.bin").write_bytes(bytes(range(256)) * 40_000)
(here / "empty.txt").write_bytes(b"")
(here / "größe λ.txt").write_text("λ")

with mlflow.start_run() as run:
    run_id = run.info.run_id
    mlflow.log_text("hello", "notes/hello.txt")
    mlflow.log_text("hello again", "notes/hello.txt")
    mlflow.log_dict({"a": [1, 2]}, "config.json")
    mlflow.log_dict({"a": 1}, "config.yaml")
    mlflow.log_artifact(here / "empty.txt")
    mlflow.log_artifact(here / "größe λ.txt", "odd names")
    mlflow.log_artifacts(here / "tree", "tree")
    mlflow.log_table({"x": [1, 2], "y": ["a", "b"]}, "table.json")
    mlflow.log_table(pd.DataFrame({"x": [3], "y": ["c"]}), "table.json")
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    mlflow.log_image(pixels, "image.png")
    mlflow.log_image(pixels, key="dogs", step=3)
    assert mlflow.get_artifact_uri("notes").endswith(f"{run_id}/artifacts/notes")

files = {f.path: f for f in client.list_artifacts(run_id)}
assert set(files) >= {
    "notes",
    "config.json",
    "config.yaml",
    "empty.txt",
    "odd names",
    "tree",
    "table.json",
    "image.png",
    "images",
}
assert files["notes"].is_dir
assert not files["config.json"].is_dir
assert [f.path for f in client.list_artifacts(run_id, "tree")] == ["tree/a.txt", "tree/deep"]
(binary,) = client.list_artifacts(run_id, "tree/deep")
assert (binary.path, binary.file_size) == ("tree/deep/b.bin", 256 * 40_000)
assert client.list_artifacts(run_id, "nothing") == []
assert len([f for f in client.list_artifacts(run_id, "images") if "dogs" in f.path]) == 2

base = f"runs:/{run_id}"
assert mlflow.artifacts.load_text(f"{base}/notes/hello.txt") == "hello again"
assert mlflow.artifacts.load_dict(f"{base}/config.json") == {"a": [1, 2]}
assert mlflow.artifacts.load_text(f"{base}/odd names/größe λ.txt") == "λ"
assert mlflow.artifacts.load_image(f"{base}/image.png").size == (8, 8)
table = mlflow.load_table("table.json", run_ids=[run_id])
assert table["x"].tolist() == [1, 2, 3]
assert json.loads(client.get_run(run_id).data.tags["mlflow.loggedArtifacts"])[0]["path"] == "table.json"

path = Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="tree", dst_path=str(here / "down")))
assert (path / "deep" / "b.bin").read_bytes() == (here / "tree" / "deep" / "b.bin").read_bytes()
whole = Path(client.download_artifacts(run_id, "", str(here / "down")))
assert (whole / "empty.txt").read_bytes() == b""
assert (whole / "tree" / "a.txt").read_text() == "a"

uri = f"{client.get_run(run_id).info.artifact_uri}/notes"
assert Path(mlflow.artifacts.download_artifacts(artifact_uri=uri)).joinpath("hello.txt").read_text() == "hello again"
assert [f.path for f in mlflow.artifacts.list_artifacts(artifact_uri=uri)] == ["notes/hello.txt"]

from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository  # noqa: E402

repository = get_artifact_repository(client.get_run(run_id).info.artifact_uri)
repository.delete_artifacts("tree")
assert client.list_artifacts(run_id, "tree") == []

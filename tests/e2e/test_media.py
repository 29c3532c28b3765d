"""Images and other media by step: from a script or MLflow's clients, through `corral run`, to the server's index."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from relay_support import QUIET
from support import PYTHON, Corral, Json, until


def media(corral: Corral, run: str = "@1", query: str = "") -> Json:
    return corral.get(f"/api/corral/v1/runs/{quote(run)}/media{query}")


def rows(corral: Corral, run: str = "@1") -> dict[tuple[str, str], list[str | None]]:
    return {(row["name"], row["kind"]): [step["step"] for step in row["steps"]] for row in media(corral, run)["media"]}


def test_media_of_the_package_arrive_by_step(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, numpy as np, pathlib
        for step in (0, 5, 10):
            corral.image("val/sample", np.full((4, 6, 3), 0.5), step)
            corral.histogram("w", np.arange(10.0), step)
        corral.text("said", "<script>alert(1)</script>", 5)
        corral.table("t", {"a": [1]})
        corral.audio("tone", (np.zeros(8), 8000), 5)
        pathlib.Path("clip.webm").write_bytes(b"film")
        corral.video("clip", "clip.webm", 5)
        """,
    )
    corral("run", "--name", "media", PYTHON, script)
    corral.wait_spool_empty()
    assert rows(corral) == {
        ("clip", "video"): ["5"],
        ("said", "text"): ["5"],
        ("t", "table"): [None],
        ("tone", "audio"): ["5"],
        ("val/sample", "image"): ["0", "5", "10"],
        ("w", "histogram"): ["0", "5", "10"],
    }
    (row,) = media(corral, query="?name=val/sample&from_step=6")["media"]
    assert (row["count"], row["steps"][0]["path"]) == (1, "media/val=2Fsample@10.png")
    (text,) = media(corral, query="?name=said")["media"]
    connection = corral.connection()
    connection.request("GET", f"/api/corral/v1/runs/{corral.show()['id']}/artifacts/{quote(text['steps'][0]['path'])}")
    answer = connection.getresponse()
    assert answer.read() == b"<script>alert(1)</script>"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    connection.close()


def test_equal_images_are_stored_once(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, numpy as np
        for step in range(3):
            corral.image("same", np.zeros((64, 64)), step)
        """,
    )
    for _ in range(2):
        corral("run", PYTHON, script)
    corral.wait_spool_empty()
    files = sorted(corral.store.glob("artifacts/*/*/artifacts/media/*"))
    assert len(files) == 6
    assert len({os.stat(file).st_ino for file in files}) == 1


def test_a_script_that_only_logs_media_is_not_harmed_by_a_full_spool(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, numpy as np, os, pathlib, warnings
        folder = pathlib.Path(os.environ["CORRAL_SEGMENT_DIR"]).parent / "artifacts"
        folder.parent.joinpath("artifacts").write_text("in the way") if not folder.exists() else None
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            corral.image("a", np.zeros((2, 2)), 1)
        print(len(told))
        folder.unlink()
        """,
    )
    done = corral("run", "--keep-code", "off", PYTHON, script)
    assert done.stdout.splitlines()[-1] == b"1"


def test_images_and_tables_of_mlflow_arrive(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import mlflow, numpy as np
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib.figure import Figure
        with mlflow.start_run():
            for step in (1, 2):
                mlflow.log_image(np.full((8, 8, 3), step, np.uint8), key="dogs", step=step)
            mlflow.log_image(np.zeros((8, 8, 3), np.uint8), "last.png")
            mlflow.log_figure(Figure(), "plots/empty.png")
            mlflow.log_table({"x": [1, 2]}, "scores.json")
            mlflow.log_dict({"lr": 1}, "config.json")
        """,
    )
    corral("run", python, script, env=QUIET)
    corral.wait_spool_empty()
    assert rows(corral) == {
        ("dogs", "image"): ["1", "2"],
        ("last.png", "image"): [None],
        ("plots/empty.png", "image"): [None],
        ("scores.json", "table"): [None],
    }
    (dogs,) = media(corral, query="?name=dogs")["media"]
    assert all(int(step["time_ns"]) > 1_700_000_000 * 10**9 for step in dogs["steps"])
    assert json.dumps(dogs).count(".webp") == 0


def test_an_open_page_is_told_of_new_media(corral: Corral) -> None:
    corral("run", "--name", "done", "true")
    run = corral.show()["id"]
    corral.wait_spool_empty()
    corral.close()
    corral.serve()
    stream = corral.connection()
    stream.request("GET", "/api/corral/v1/stream")
    events = stream.getresponse()
    put = corral.connection()
    put.request("PUT", f"/api/corral/v1/runs/{run}/artifacts/media/late@1.txt", b"late")
    assert put.getresponse().status == 200
    put.close()
    until(lambda: run.encode() in events.readline(), "the page is told")
    stream.close()

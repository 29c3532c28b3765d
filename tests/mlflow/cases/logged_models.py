"""Logged models of 3.x: create, finalize, params, tags, delete, search."""

from __future__ import annotations

from replay import Chapter

SEARCHES = [
    "name = 'net-1'", "name LIKE 'net-%'", "name ILIKE 'NET-1'", "name != 'net-1'",
    "attributes.name = 'net-1'", "attributes.model_type = 'cnn'", "model_type = 'cnn'",
    "attributes.status = 'READY'", "status = 'PENDING'", "attributes.model_id = '$model_1'",
    "model_id IN ('$model_1')", "params.lr = '0.1'", "params.lr != '0.1'", "tags.colour = 'red'",
    "tags.colour LIKE 'r%'", "metrics.acc > 0.5", "metrics.acc = 0.5", "source_run_id = '$run'",
    "creation_timestamp > 0", "attributes.creation_time > 0", "colour = 'x'", "name",
    "name = 'a' OR name = 'b'", "",
]  # fmt: skip


def chapter() -> Chapter:
    c = Chapter("logged_models")
    c.post("experiment", "experiments/create", {"name": "logged"}, save={"exp": "experiment_id"})
    c.post(
        "run",
        "runs/create",
        {"experiment_id": "$exp", "run_name": "l", "start_time": 1},
        save={"run": "run.info.run_id"},
    )
    create(c)
    change(c)
    delete(c)
    return c


def create(c: Chapter) -> None:
    path = "logged-models"
    full = {
        "experiment_id": "$exp",
        "name": "net",
        "model_type": "cnn",
        "source_run_id": "$run",
        "params": [{"key": "lr", "value": "0.1"}],
        "tags": [{"key": "k", "value": "v"}],
    }
    c.post("create", path, full, save={"model": "model.info.model_id"})
    c.post("create bare", path, {"experiment_id": "$exp", "name": "bare"}, save={"bare": "model.info.model_id"})
    c.post("create the same name", path, full, save={"same": "model.info.model_id"})
    c.post("create without experiment", path, {"name": "x"})
    c.post("create in unknown", path, full | {"experiment_id": "987654"})
    c.post("create with unknown run", path, full | {"source_run_id": "0" * 32})
    c.post("create with script", path, full | {"name": "<script>"})
    for character in "/:.%\"'":
        c.post(f"create with {character}", path, full | {"name": f"a{character}b"})
    c.post("create 500 long", path, full | {"name": "n" * 500})
    c.post("create 501 long", path, full | {"name": "n" * 501})
    c.post("create with a long param", path, full | {"params": [{"key": "p", "value": "v" * 6001}]})
    c.get("get", "logged-models/$model")
    c.get("get by ajax", "/ajax-api/2.0/mlflow/logged-models/$model")
    c.get("get bare", "logged-models/$bare")
    c.get("get unknown", "logged-models/m-" + "0" * 32)
    c.get("get badly", "logged-models/..%2f..")


def change(c: Chapter) -> None:
    c.patch("finalize", "logged-models/$model", {"model_id": "$model", "status": "LOGGED_MODEL_READY"})
    c.patch("finalize bare", "logged-models/$bare", {"model_id": "$bare", "status": "LOGGED_MODEL_UPLOAD_FAILED"})
    c.patch("finalize with nonsense", "logged-models/$same", {"model_id": "$same", "status": "DONE"})
    c.patch("finalize without status", "logged-models/$same", {"model_id": "$same"})
    c.patch("finalize by path alone", "logged-models/$same", {"status": "LOGGED_MODEL_READY"})
    c.patch("finalize unknown", "logged-models/m-0", {"model_id": "m-0", "status": "LOGGED_MODEL_READY"})
    path = "logged-models/$model/params"
    c.post("params", path, {"model_id": "$model", "params": [{"key": "depth", "value": "5"}]})
    c.post("params again", path, {"model_id": "$model", "params": [{"key": "depth", "value": "5"}]})
    c.post("params changed", path, {"model_id": "$model", "params": [{"key": "depth", "value": "6"}]})
    c.post("params of nothing", path, {"model_id": "$model", "params": []})
    c.post("params of unknown", "logged-models/m-0/params", {"model_id": "m-0", "params": [{"key": "a", "value": "b"}]})
    path = "logged-models/$model/tags"
    c.patch(
        "tags", path, {"model_id": "$model", "tags": [{"key": "colour", "value": "red"}, {"key": "b", "value": ""}]}
    )
    c.patch("tags again", path, {"model_id": "$model", "tags": [{"key": "colour", "value": "blue"}]})
    c.patch("tags of unknown", "logged-models/m-0/tags", {"model_id": "m-0", "tags": [{"key": "a", "value": "b"}]})
    c.delete("delete tag", "logged-models/$model/tags/b")
    c.delete("delete tag twice", "logged-models/$model/tags/b")
    c.get("after the changes", "logged-models/$model")
    c.get("directories", "logged-models/$model/artifacts/directories")
    c.get("files", "/ajax-api/2.0/mlflow/logged-models/$model/artifacts/files", {"artifact_file_path": "MLmodel"})


def delete(c: Chapter) -> None:
    c.delete("delete", "logged-models/$bare")
    c.delete("delete twice", "logged-models/$bare")
    c.delete("delete unknown", "logged-models/m-0")
    c.get("it is gone", "logged-models/$bare")


def search() -> Chapter:
    c = Chapter("search_logged_models")
    c.post("experiment", "experiments/create", {"name": "search-logged"}, save={"exp": "experiment_id"})
    c.post(
        "run",
        "runs/create",
        {"experiment_id": "$exp", "run_name": "l", "start_time": 1},
        save={"run": "run.info.run_id"},
    )
    facts = [("cnn", "0.1", "red", 0.5), ("cnn", "0.2", "blue", 0.75), ("mlp", "0.1", "green", 0.25)]
    for number, (kind, rate, colour, accuracy) in enumerate(facts, 1):
        body = {
            "experiment_id": "$exp",
            "name": f"net-{number}",
            "model_type": kind,
            "source_run_id": "$run",
            "params": [{"key": "lr", "value": rate}],
            "tags": [{"key": "colour", "value": colour}],
        }
        c.post(f"make {number}", "logged-models", body, save={f"model_{number}": "model.info.model_id"})
        metric = {"run_id": "$run", "key": "acc", "value": accuracy, "timestamp": 5, "step": number}
        c.post(f"metric {number}", "runs/log-metric", metric | {"model_id": f"$model_{number}"})
    path = "logged-models/search"
    ours = {"experiment_ids": ["$exp"], "order_by": [{"field_name": "name", "ascending": True}]}
    for text in SEARCHES:
        c.post(f"filter {text}", path, ours | {"filter": text})
    for field in ("name", "metrics.acc", "creation_timestamp", "params.lr", "nothing", ""):
        for ascending in (True, False):
            order = [{"field_name": field, "ascending": ascending}, {"field_name": "name", "ascending": True}]
            c.post(f"order {field!r} {ascending}", path, ours | {"order_by": order[: 1 if field == "name" else 2]})
    for limit in (0, -1, 1, 50, 51, "2"):
        c.post(f"max_results {limit!r}", path, ours | {"max_results": limit})
    c.post("first page", path, ours | {"max_results": 2}, save={"next": "next_page_token"})
    c.post("last page", path, ours | {"max_results": 2, "page_token": "$next"})
    c.post("bad page", path, ours | {"page_token": "x"})
    c.post("no experiments", path, {"experiment_ids": []})
    c.post("experiments left out", path, {})
    c.post("unknown experiment", path, {"experiment_ids": ["987654"]})
    c.post(
        "with datasets",
        path,
        ours | {"datasets": [{"dataset_name": "iris", "dataset_digest": "1"}], "filter": "metrics.acc > 0"},
    )
    return c

"""Runs: create, read, update, names, delete and restore."""

from __future__ import annotations

from replay import Chapter

STATUSES = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED", "DONE", "finished", 3, 5, 99, "3", None]


def chapter() -> Chapter:
    c = Chapter("runs")
    c.post("experiment", "experiments/create", {"name": "runs"}, save={"exp": "experiment_id"})
    create(c)
    read(c)
    update(c)
    names(c)
    life_cycle(c)
    return c


def create(c: Chapter) -> None:
    path = "runs/create"
    full = {
        "experiment_id": "$exp",
        "user_id": "ann",
        "run_name": "first",
        "start_time": 1_700_000_000_000,
        "tags": [{"key": "mlflow.user", "value": "ann"}, {"key": "k", "value": "v"}],
    }
    saved = "run.info.run_id"
    c.post("create", path, full, save={"run": saved})
    c.post("create with start_time as text", path, full | {"start_time": "1700000000001"}, save={"run_text": saved})
    c.post("create with nothing", path, {})
    c.post("create in the experiment alone", path, {"experiment_id": "$exp"}, save={"run_bare": saved})
    c.post("create with an experiment id as number", path, {"experiment_id": 0, "start_time": 1})
    c.post("create in unknown", path, {"experiment_id": "987654"})
    c.post("create in a word", path, {"experiment_id": "abc"})
    c.post("create in an empty id", path, {"experiment_id": "", "start_time": 1, "run_name": "n"})
    c.post("create with a negative time", path, full | {"start_time": -5})
    c.post("create with a fraction", path, full | {"start_time": 1.5})
    c.post("create with time 0", path, full | {"start_time": 0})
    name = {"key": "mlflow.runName", "value": "second"}
    c.post("create named by tag", path, {"experiment_id": "$exp", "start_time": 1, "tags": [name]})
    c.post(
        "create named twice alike",
        path,
        {"experiment_id": "$exp", "start_time": 1, "run_name": "second", "tags": [name]},
    )
    c.post(
        "create named twice otherwise",
        path,
        {"experiment_id": "$exp", "start_time": 1, "run_name": "x", "tags": [name]},
    )
    c.post("create with an empty name", path, {"experiment_id": "$exp", "start_time": 1, "run_name": ""})
    c.post("create with a long name", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "n" * 1000})
    c.post(
        "create with script", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "<script>alert(1)</script>"}
    )
    c.post("tag without key", path, {"experiment_id": "$exp", "start_time": 1, "tags": [{"value": "v"}]})
    c.post(
        "tag without value", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "n", "tags": [{"key": "v"}]}
    )
    c.post(
        "tag key too long", path, {"experiment_id": "$exp", "start_time": 1, "tags": [{"key": "k" * 251, "value": "v"}]}
    )
    long = [{"key": "k", "value": "v" * 8001}]
    c.post("tag value too long", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "n", "tags": long})
    bad = [{"key": "../k", "value": "v"}]
    c.post("tag key with dots", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "n", "tags": bad})
    twice = [{"key": "k", "value": "1"}, {"key": "k", "value": "2"}]
    c.post("tag twice", path, {"experiment_id": "$exp", "start_time": 1, "run_name": "n", "tags": twice})
    parent = [{"key": "mlflow.parentRunId", "value": "$run"}]
    c.post("create a child", path, {"experiment_id": "$exp", "start_time": 2, "run_name": "child", "tags": parent})


def read(c: Chapter) -> None:
    c.get("get", "runs/get", {"run_id": "$run"})
    c.get("get by run_uuid", "runs/get", {"run_uuid": "$run"})
    c.get("get by both", "runs/get", {"run_id": "$run", "run_uuid": "$run_text"})
    c.get("get nothing", "runs/get")
    c.get("get empty", "runs/get", {"run_id": ""})
    c.get("get unknown", "runs/get", {"run_id": "0" * 32})
    c.get("get a bad id", "runs/get", {"run_id": "../../etc/passwd"})
    c.get("get too long an id", "runs/get", {"run_id": "a" * 257})
    c.get("get by ajax", "/ajax-api/2.0/mlflow/runs/get", {"run_id": "$run"})


def update(c: Chapter) -> None:
    path = "runs/update"
    for status in STATUSES:
        body = {"run_id": "$run", "status": status, "end_time": 1_700_000_100_000}
        c.post(f"status {status!r}", path, body)
    c.get("after the statuses", "runs/get", {"run_id": "$run"})
    c.post("status alone keeps the end", path, {"run_id": "$run", "status": "RUNNING"})
    c.post("end_time as text", path, {"run_id": "$run", "status": "FINISHED", "end_time": "1700000200000"})
    c.post("end_time alone", path, {"run_id": "$run", "end_time": 1_700_000_300_000})
    c.post("end before start", path, {"run_id": "$run", "status": "FINISHED", "end_time": 5})
    c.post("end_time negative", path, {"run_id": "$run", "status": "FINISHED", "end_time": -5})
    c.post("by run_uuid", path, {"run_uuid": "$run", "status": "FINISHED", "end_time": 1_700_000_400_000})
    c.post("nothing to update", path, {"run_id": "$run"})
    c.post("update without a run", path, {"status": "FINISHED"})
    c.post("update unknown", path, {"run_id": "0" * 32, "status": "FINISHED"})


def names(c: Chapter) -> None:
    c.post("rename", "runs/update", {"run_id": "$run", "run_name": "renamed"})
    c.get("tag follows", "runs/get", {"run_id": "$run"})
    c.post("rename by tag", "runs/set-tag", {"run_id": "$run", "key": "mlflow.runName", "value": "by tag"})
    c.get("name follows", "runs/get", {"run_id": "$run"})
    c.post("rename to nothing", "runs/update", {"run_id": "$run", "run_name": ""})
    batch = {"run_id": "$run", "tags": [{"key": "mlflow.runName", "value": "by batch"}]}
    c.post("rename by batch", "runs/log-batch", batch)
    c.get("name follows the batch", "runs/get", {"run_id": "$run"})
    c.post("delete the name's tag", "runs/delete-tag", {"run_id": "$run", "key": "mlflow.runName"})
    c.get("the name is left", "runs/get", {"run_id": "$run"})


def life_cycle(c: Chapter) -> None:
    one = {"run_id": "$run"}
    c.post("delete", "runs/delete", one)
    c.post("delete twice", "runs/delete", one)
    c.get("deleted is still read", "runs/get", one)
    metric = one | {"key": "m", "value": 1, "timestamp": 1}
    c.post("no metric", "runs/log-metric", metric)
    c.post("no param", "runs/log-parameter", one | {"key": "p", "value": "1"})
    c.post("no tag", "runs/set-tag", one | {"key": "t", "value": "1"})
    c.post("no tag less", "runs/delete-tag", one | {"key": "k"})
    c.post("no batch", "runs/log-batch", one | {"metrics": [{"key": "m", "value": 1, "timestamp": 1}]})
    c.post("no empty batch", "runs/log-batch", one)
    c.post("no update", "runs/update", one | {"status": "FAILED"})
    c.post("no inputs", "runs/log-inputs", one | {"datasets": []})
    c.get("history is empty", "metrics/get-history", one | {"metric_key": "m"})
    c.post("restore", "runs/restore", one)
    c.post("restore twice", "runs/restore", one)
    c.post("now a metric", "runs/log-metric", metric)
    for verb in ("delete", "restore"):
        c.post(f"{verb} unknown", f"runs/{verb}", {"run_id": "0" * 32})
        c.post(f"{verb} nothing", f"runs/{verb}", {})

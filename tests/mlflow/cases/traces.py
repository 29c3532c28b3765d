"""Traces: v3 (start, read, search, tags, delete, OTLP) and v2's endpoints."""

from __future__ import annotations

from typing import Any

from replay import Chapter

V3 = "/api/3.0/mlflow/traces"
OTLP = "/v1/traces"
SEARCHES = [
    "tags.colour = 'red'", "tag.colour = 'red'", "tags.colour != 'red'", "tags.colour LIKE 'r%'",
    "status = 'OK'", "trace.status = 'OK'", "attributes.status = 'ERROR'", "status IN ('OK')",
    "timestamp_ms > 1500", "timestamp > 1500", "attributes.timestamp_ms < 1500", "execution_time_ms > 5",
    "execution_time > 5", "name = 'trace-1'", "request_metadata.user = 'ann'", "metadata.user = 'ann'",
    "metadata.`user` = 'ann'", "request_id = 'x'", "trace_id = '$trace_1'", "run_id = 'x'", "metrics.x > 1",
    "colour = 'red'", "tags.colour = 'red' AND status = 'OK'", "status = 'OK' OR status = 'ERROR'", "status",
    "status = 'unclosed",
]  # fmt: skip


def trace(number: int, **fields: Any) -> dict[str, Any]:
    info = {
        "trace_id": f"tr-{number:032x}",
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "$exp"}},
        "request_time": f"1970-01-01T00:00:0{number}Z",
        "execution_duration": f"0.00{number}s",
        "state": "OK" if number % 2 else "ERROR",
        "request_preview": f"question {number}",
        "response_preview": f"answer {number}",
        "trace_metadata": {"user": "ann" if number == 1 else "bob", "mlflow.trace_schema.version": "3"},
        "tags": {"colour": "red" if number == 1 else "blue", "mlflow.traceName": f"trace-{number}"},
    }
    return {"trace": {"trace_info": info | fields}}


def chapter() -> Chapter:
    c = Chapter("traces")
    c.post("experiment", "experiments/create", {"name": "traces"}, save={"exp": "experiment_id"})
    for number in (1, 2, 3):
        c.post(f"start {number}", V3, trace(number), save={f"trace_{number}": "trace.trace_info.trace_id"})
    c.post("start again", V3, trace(1))
    c.post(
        "start in unknown", V3, trace(5, trace_location={"type": 1, "mlflow_experiment": {"experiment_id": "987654"}})
    )
    c.post("start without a trace", V3, {})
    c.post("start without a location", V3, trace(6, trace_location=None))
    c.post("another experiment", "experiments/create", {"name": "traces-odd"}, save={"exp_odd": "experiment_id"})
    c.post("start without an id", V3, trace(7, trace_id=None, trace_location=place("$exp_odd")))
    c.get("get", f"{V3}/$trace_1")
    c.get("get unknown", f"{V3}/tr-{'f' * 32}")
    c.get("get with spans", f"{V3}/get", {"trace_id": "$trace_1", "allow_partial": "true"})
    c.get("batch", f"{V3}/batchGet", {"trace_ids": ["$trace_1", "$trace_2"]})
    c.get("batch of unknown", f"{V3}/batchGet", {"trace_ids": [f"tr-{'f' * 32}"]})
    c.get("batch of none", f"{V3}/batchGet")
    search(c)
    tags(c)
    linking(c)
    otlp(c)
    c.post("delete by ids", f"{V3}/delete-traces", {"experiment_id": "$exp", "request_ids": ["$trace_2"]})
    c.post(
        "delete by time",
        f"{V3}/delete-traces",
        {"experiment_id": "$exp", "max_timestamp_millis": 1500, "max_traces": 1},
    )
    c.post(
        "delete by both",
        f"{V3}/delete-traces",
        {"experiment_id": "$exp", "request_ids": ["x"], "max_timestamp_millis": 1},
    )
    c.post("delete by nothing", f"{V3}/delete-traces", {"experiment_id": "$exp"})
    c.post("delete without experiment", f"{V3}/delete-traces", {"request_ids": ["x"]})
    c.post("what is left", f"{V3}/search", {"locations": [place("$exp")], "order_by": ["timestamp_ms ASC"]})
    return c


def place(experiment: str) -> dict[str, Any]:
    return {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}


def search(c: Chapter) -> None:
    path = f"{V3}/search"
    ours = {"locations": [place("$exp")], "order_by": ["timestamp_ms ASC"]}
    for text in SEARCHES:
        c.post(f"filter {text}", path, ours | {"filter": text})
    for order in (
        "timestamp_ms DESC",
        "timestamp DESC",
        "execution_time DESC",
        "name DESC",
        "tags.colour",
        "status",
        "nothing",
    ):
        c.post(
            f"order {order}", path, ours | {"order_by": [order, "timestamp_ms ASC"][: 1 if "timestamp" in order else 2]}
        )
    for number in (0, -1, 1, 500, 501, 50_001):
        c.post(f"max_results {number}", path, ours | {"max_results": number})
    c.post("first page", path, ours | {"max_results": 2}, save={"next": "next_page_token"})
    c.post("last page", path, ours | {"max_results": 2, "page_token": "$next"})
    c.post("bad page", path, ours | {"page_token": "x"})
    c.post("no locations", path, {"locations": []})
    c.post("locations left out", path, {})
    c.post("unknown location", path, {"locations": [place("987654")]})


def tags(c: Chapter) -> None:
    path = f"{V3}/$trace_1/tags"
    c.patch("set tag", path, {"trace_id": "$trace_1", "key": "k", "value": "v"})
    c.patch("set tag again", path, {"trace_id": "$trace_1", "key": "k", "value": "w"})
    c.patch("set tag without key", path, {"trace_id": "$trace_1", "value": "v"})
    c.patch("set tag key too long", path, {"trace_id": "$trace_1", "key": "k" * 251, "value": "v"})
    c.patch("set tag of unknown", f"{V3}/tr-0/tags", {"trace_id": "tr-0", "key": "k", "value": "v"})
    c.delete("delete tag", path + "?key=k", {"trace_id": "$trace_1", "key": "k"})
    c.delete("delete tag twice", path, {"trace_id": "$trace_1", "key": "k"})
    c.delete("delete tag without key", path, {"trace_id": "$trace_1"})
    c.get("after the tags", f"{V3}/$trace_1")


def linking(c: Chapter) -> None:
    c.post(
        "run",
        "runs/create",
        {"experiment_id": "$exp", "run_name": "t", "start_time": 1},
        save={"run": "run.info.run_id"},
    )
    c.post("link", "traces/link-to-run", {"trace_ids": ["$trace_1"], "run_id": "$run"})
    c.post("link without run", "traces/link-to-run", {"trace_ids": ["$trace_1"]})
    c.post("link nothing", "traces/link-to-run", {"trace_ids": [], "run_id": "$run"})
    c.post("find by run", f"{V3}/search", {"locations": [place("$exp")], "filter": "attributes.run_id = '$run'"})


def otlp(c: Chapter) -> None:
    proto = {"Content-Type": "application/x-protobuf"}
    c.post("OTLP without experiment", OTLP, b"", headers=proto)
    c.post("OTLP of another type", OTLP, b"x", headers={"Content-Type": "text/plain", "X-Mlflow-Experiment-Id": "0"})
    c.post("OTLP without a type", OTLP, b"x", headers={"X-Mlflow-Experiment-Id": "0"})
    c.post("OTLP of nonsense", OTLP, b"\xff\xff\xff", headers=proto | {"X-Mlflow-Experiment-Id": "0"})
    c.post("OTLP of nothing", OTLP, b"", headers=proto | {"X-Mlflow-Experiment-Id": "0"})


def version_2() -> Chapter:
    c = Chapter("traces_v2")
    c.post("experiment", "experiments/create", {"name": "traces-v2"}, save={"exp": "experiment_id"})
    start = {
        "experiment_id": "$exp",
        "timestamp_ms": 1000,
        "request_metadata": [{"key": "user", "value": "ann"}],
        "tags": [{"key": "colour", "value": "red"}],
    }
    c.post("start", "traces", start, save={"old": "trace_info.request_id"})
    c.post("start without experiment", "traces", {"timestamp_ms": 1})
    c.post("start in unknown", "traces", start | {"experiment_id": "987654"})
    end = {"timestamp_ms": 1500, "status": "OK", "request_metadata": [{"key": "more", "value": "1"}], "tags": []}
    c.patch("end", "traces/$old", end | {"request_id": "$old"})
    c.patch("end unknown", "traces/tr-0", end | {"request_id": "tr-0"})
    c.get("info", "traces/$old/info", {"request_id": "$old"})
    c.get("info of unknown", "traces/tr-0/info")
    c.get("search", "traces", [("experiment_ids", "$exp"), ("max_results", "10")])
    c.get("search by filter", "traces", [("experiment_ids", "$exp"), ("filter", "tags.colour = 'red'")])
    c.get("search by a bad filter", "traces", [("experiment_ids", "$exp"), ("filter", "nonsense")])
    c.patch("set tag", "traces/$old/tags", {"request_id": "$old", "key": "k", "value": "v"})
    c.delete("delete tag", "traces/$old/tags", {"request_id": "$old", "key": "k"})
    c.delete("delete tag twice", "traces/$old/tags", {"request_id": "$old", "key": "k"})
    c.post("delete", "traces/delete-traces", {"experiment_id": "$exp", "request_ids": ["$old"]})
    c.get("it is gone", "traces/$old/info")
    return c

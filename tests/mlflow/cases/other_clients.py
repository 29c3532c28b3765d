"""Requests in the shape of the R and the Java client."""

from __future__ import annotations

import json
from typing import Any

from replay import Chapter

R = {"User-Agent": "mlflow-r-client/3.17.2", "Content-Type": "application/json"}
JAVA = {"User-Agent": "mlflow-java-client", "Content-Type": "application/json; charset=utf-8"}


def r() -> Chapter:
    """R sends run_uuid beside run_id, numbers as they come out of its lists, and bodies encoded twice."""
    c = Chapter("r_client")
    c.post("create experiment", "experiments/create", {"name": "r-client"}, save={"exp": "experiment_id"}, headers=R)
    query = {"experiment_name": "r-client"}
    c.get("get by name", "experiments/get-by-name", query, headers=R)
    created: dict[str, Any] = {
        "experiment_id": "$exp",
        "user_id": "ann",
        "start_time": 1_700_000_000_000,
        "tags": [{"key": "mlflow.source.type", "value": "LOCAL"}, {"key": "mlflow.source.name", "value": "train.R"}],
    }
    c.post("create run", "runs/create", created, save={"run": "run.info.run_id"}, headers=R)
    both = {"run_uuid": "$run", "run_id": "$run"}
    metric = both | {"key": "rmse", "value": 0.78, "timestamp": 1_700_000_000_500, "step": 0}
    c.post("log metric", "runs/log-metric", metric, headers=R)
    c.post("log metric by uuid alone", "runs/log-metric", {k: v for k, v in metric.items() if k != "run_id"}, headers=R)
    c.post("log NaN", "runs/log-metric", metric | {"key": "nan", "value": "NaN"}, headers=R)
    c.post("log Inf", "runs/log-metric", metric | {"key": "inf", "value": "Infinity"}, headers=R)
    c.post("log -Inf", "runs/log-metric", metric | {"key": "-inf", "value": "-Infinity"}, headers=R)
    c.post("log param", "runs/log-parameter", both | {"key": "alpha", "value": "0.5"}, headers=R)
    c.post("log param as number", "runs/log-parameter", both | {"key": "lambda", "value": 0.5}, headers=R)
    c.post("set tag", "runs/set-tag", both | {"key": "release", "value": "2.2.0"}, headers=R)
    c.post(
        "log batch",
        "runs/log-batch",
        both | {"metrics": [metric | {"key": "mae"}], "params": [], "tags": []},
        headers=R,
    )
    twice = json.dumps(json.dumps({"run_id": "$run", "key": "twice", "value": 1, "timestamp": 1}))
    c.post("encoded twice", "runs/log-metric", twice, headers=R)
    c.post("encoded twice, wrong", "runs/log-metric", json.dumps('{"run_id":'), headers=R)
    c.get("history", "metrics/get-history", {"run_uuid": "$run", "run_id": "$run", "metric_key": "rmse"}, headers=R)
    c.get("list artifacts", "artifacts/list", {"run_uuid": "$run", "run_id": "$run"}, headers=R)
    update = both | {"status": "FINISHED", "end_time": 1_700_000_001_000}
    c.post("end run", "runs/update", update, headers=R)
    search = {"experiment_ids": ["$exp"], "filter": "", "run_view_type": "ACTIVE_ONLY", "max_results": 1000}
    c.post("search", "runs/search", search, headers=R)
    c.post("one experiment as text", "runs/search", search | {"experiment_ids": "$exp"}, headers=R)
    c.get("get run", "runs/get", {"run_uuid": "$run", "run_id": "$run"}, headers=R)
    c.post("delete run", "runs/delete", {"run_id": "$run"}, headers=R)
    c.post("restore run", "runs/restore", {"run_id": "$run"}, headers=R)
    return c


def java() -> Chapter:
    """Java prints protobuf messages: int64 as text, camelCase never, every field that is set."""
    c = Chapter("java_client")
    c.post(
        "create experiment",
        "experiments/create",
        text({"name": "java-client"}),
        save={"exp": "experiment_id"},
        headers=JAVA,
    )
    created = {
        "experiment_id": "$exp",
        "user_id": "ann",
        "start_time": "1700000000000",
        "tags": [{"key": "mlflow.source.type", "value": "LOCAL"}],
    }
    c.post("create run", "runs/create", text(created), save={"run": "run.info.run_id"}, headers=JAVA)
    elsewhere = text(created | {"experiment_id": "0"})
    c.post("create another", "runs/create", elsewhere, save={"other": "run.info.run_id"}, headers=JAVA)
    one = {"run_uuid": "$run", "run_id": "$run"}
    metric = {"key": "loss", "value": 0.25, "timestamp": "1700000000500", "step": "10"}
    c.post("log metric", "runs/log-metric", text(one | metric), headers=JAVA)
    c.post("log metric NaN", "runs/log-metric", text(one | metric | {"value": "NaN", "key": "nan"}), headers=JAVA)
    several = {
        "metrics": [metric | {"step": "11"}],
        "params": [{"key": "p", "value": "1"}],
        "tags": [{"key": "t", "value": "1"}],
    }
    c.post("log batch", "runs/log-batch", text({"run_id": "$run"} | several), headers=JAVA)
    c.post("log param", "runs/log-parameter", text(one | {"key": "q", "value": "2"}), headers=JAVA)
    c.post("set tag", "runs/set-tag", text(one | {"key": "u", "value": "2"}), headers=JAVA)
    c.post("camelCase", "runs/set-tag", text({"runId": "$other", "key": "camel", "value": "1"}), headers=JAVA)
    c.get("history", "metrics/get-history", {"run_id": "$run", "run_uuid": "$run", "metric_key": "loss"}, headers=JAVA)
    end = {"run_id": "$run", "run_uuid": "$run", "status": "FINISHED", "end_time": "1700000001000"}
    c.post("end run", "runs/update", text(end), headers=JAVA)
    search = {
        "experiment_ids": ["$exp"],
        "filter": "metrics.loss < 1",
        "run_view_type": "ACTIVE_ONLY",
        "max_results": 1000,
    }
    c.post("search", "runs/search", text(search | {"order_by": ["metrics.loss ASC"]}), headers=JAVA)
    c.get("get run", "runs/get", {"run_id": "$run", "run_uuid": "$run"}, headers=JAVA)
    c.get("list artifacts", "artifacts/list", {"run_id": "$run", "run_uuid": "$run"}, headers=JAVA)
    c.get("list artifacts of path", "artifacts/list", {"run_id": "$run", "path": "x"}, headers=JAVA)
    c.post("create registered model", "registered-models/create", text({"name": "java"}), headers=JAVA)
    c.get(
        "latest versions",
        "registered-models/get-latest-versions",
        {"name": "java", "stages": ["None", "Production"]},
        headers=JAVA,
    )
    c.get("search versions", "model-versions/search", {"filter": "name='java'"}, headers=JAVA)
    return c


def text(message: dict[str, Any]) -> str:
    return json.dumps(message, indent=2)

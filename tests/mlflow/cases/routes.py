"""Paths beside the API: health, version, server-info, unknown paths, wrong verbs."""

from __future__ import annotations

from replay import Chapter


def chapter() -> Chapter:
    c = Chapter("routes")
    c.get("health", "/health")
    for prefix in ("api", "ajax-api"):
        c.get(f"server-info by {prefix}", f"/{prefix}/3.0/mlflow/server-info")
        c.get(f"unknown by {prefix}", f"/{prefix}/2.0/mlflow/nothing/here")
        c.post(f"unknown POST by {prefix}", f"/{prefix}/2.0/mlflow/nothing/here", {})
    for path in ("experiments/create", "runs/create", "runs/log-batch", "runs/search"):
        c.get(f"GET {path}", path)
        c.put(f"PUT {path}", path, {})
    c.post("POST experiments/get", "experiments/get", {"experiment_id": "0"})
    c.post("POST runs/get", "runs/get", {"run_id": "0" * 32})
    c.delete("DELETE runs/get", "runs/get")
    c.get("a slash at the end", "experiments/get/", {"experiment_id": "0"})
    c.get("two slashes", "/api/2.0/mlflow//experiments/get", {"experiment_id": "0"})
    c.get("another version", "/api/1.0/mlflow/experiments/get", {"experiment_id": "0"})
    c.get("version 2.1", "/api/2.1/mlflow/experiments/get", {"experiment_id": "0"})
    c.get("upper case", "/API/2.0/mlflow/experiments/get", {"experiment_id": "0"})
    c.get("escaped", "/api/2.0/mlflow/experiments%2fget", {"experiment_id": "0"})
    c.get("a preview of 1.x", "/api/2.0/preview/mlflow/experiments/get", {"experiment_id": "0"})
    return c

"""Prints all that MLflow's client finds at MLFLOW_TRACKING_URI, as JSON."""

import json
import math
import os
from typing import Any

import mlflow
from mlflow import MlflowClient
from mlflow.entities import ViewType

mlflow.set_registry_uri(os.environ["MLFLOW_TRACKING_URI"])
client = MlflowClient()


def number(value: float) -> str:
    """MLflow's databases have no infinities: the greatest number stands for one, and stays one."""
    return "nan" if math.isnan(value) else value.hex()


def history(run: str, key: str) -> list[list[Any]]:
    return [[m.timestamp, m.step, number(m.value)] for m in client.get_metric_history(run, key)]


def run_told(run: Any) -> dict[str, Any]:
    info = run.info
    return {
        "info": [info.run_name, info.status, info.start_time, info.end_time, info.lifecycle_stage, info.user_id],
        "uri": info.artifact_uri,
        "params": run.data.params,
        "tags": run.data.tags,
        "latest": {key: number(value) for key, value in run.data.metrics.items()},
        "histories": {key: history(info.run_id, key) for key in run.data.metrics},
        "inputs": [
            [i.dataset.name, i.dataset.digest, i.dataset.source, i.dataset.schema, [[t.key, t.value] for t in i.tags]]
            for i in run.inputs.dataset_inputs
        ],
    }


def trace_told(trace: Any) -> dict[str, Any]:
    return {
        "info": [str(trace.info.status), trace.info.timestamp_ms, trace.info.execution_time_ms],
        "metadata": trace.info.request_metadata,
        "tags": trace.info.tags,
        "spans": [
            [s.span_id, s.parent_id, s.name, s.span_type, s.start_time_ns, s.end_time_ns, s.attributes]
            for s in trace.data.spans
        ],
    }


experiments = client.search_experiments(view_type=ViewType.ALL)
ids = [e.experiment_id for e in experiments]
runs = client.search_runs(ids, run_view_type=ViewType.ALL)
told = {
    "experiments": {e.experiment_id: [e.name, e.lifecycle_stage, e.tags, e.artifact_location] for e in experiments},
    "runs": {run.info.run_id: run_told(run) for run in runs},
    "models": [
        [m.name, m.tags, {a: str(v) for a, v in m.aliases.items()}, m.description or "", m.creation_timestamp]
        for m in client.search_registered_models()
    ],
    "versions": [
        [v.name, str(v.version), v.run_id, v.source, v.status, v.current_stage, v.tags, v.creation_timestamp]
        for v in client.search_model_versions()
    ],
    "logged_models": [
        [m.model_id, m.name, m.source_run_id, m.artifact_location, str(m.status), m.params, m.tags]
        for m in (client.search_logged_models(ids) if hasattr(client, "search_logged_models") else [])
    ],
    "traces": {trace.info.request_id: trace_told(trace) for trace in client.search_traces(ids)},
}
print(json.dumps(told, sort_keys=True))

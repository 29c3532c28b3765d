"""Datasets and models of runs: log-inputs, outputs, search-datasets, log-model."""

from __future__ import annotations

from typing import Any

from replay import Chapter

SEARCH = "/ajax-api/2.0/mlflow/experiments/search-datasets"


def dataset(**fields: Any) -> dict[str, Any]:
    return {"name": "iris", "digest": "abc1", "source_type": "local", "source": "{}"} | fields


def chapter() -> Chapter:
    c = Chapter("inputs")
    c.post("experiment", "experiments/create", {"name": "inputs"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "i", "start_time": 1}
    for name in ("run", "other", "odd"):
        c.post(f"run {name}", "runs/create", made, save={name: "run.info.run_id"})
    log_inputs(c)
    search_datasets(c)
    models(c)
    return c


def log_inputs(c: Chapter) -> None:
    path = "runs/log-inputs"

    def log(name: str, entry: Any, run: str = "$run") -> None:
        c.post(name, path, {"run_id": run, "datasets": entry})

    context = [{"key": "mlflow.data.context", "value": "train"}]
    full = dataset(schema='{"a": "long"}', profile='{"rows": 150}')
    log("log", [{"tags": context, "dataset": full}])
    log("log again", [{"tags": context, "dataset": full}])
    log("log in another run", [{"tags": [{"key": "mlflow.data.context", "value": "eval"}], "dataset": full}], "$other")
    log("log without tags", [{"dataset": dataset(name="bare")}])
    c.get("logged", "runs/get", {"run_id": "$run"})
    for field in ("name", "digest", "source_type", "source"):
        log(f"without {field}", [{"dataset": {k: v for k, v in dataset().items() if k != field}}], "$odd")
    log("without a dataset", [{"tags": context}], "$odd")
    log("with an empty name", [{"dataset": dataset(name="")}], "$odd")
    for field, limit in (("name", 500), ("digest", 36), ("source", 65535), ("schema", 1_048_575)):
        log(f"{field} as long as it may be", [{"dataset": dataset() | {field: "x" * limit}}], "$other")
        log(f"{field} too long", [{"dataset": dataset() | {field: "x" * (limit + 1)}}])
    log("tag key 256 long", [{"tags": [{"key": "k" * 256, "value": "v"}], "dataset": dataset()}])
    log("tag value 501 long", [{"tags": [{"key": "k", "value": "v" * 501}], "dataset": dataset()}])
    log("no datasets", [])
    log("of an unknown run", [{"dataset": dataset()}], "0" * 32)
    c.post("without a run", path, {"datasets": [{"dataset": dataset()}]})
    c.post("datasets left out", path, {"run_id": "$run"})
    c.get("logged at the end", "runs/get", {"run_id": "$run"})


def search_datasets(c: Chapter) -> None:
    c.post("datasets of an experiment without", SEARCH, {"experiment_ids": ["0"]})
    c.post("datasets of none", SEARCH, {"experiment_ids": []})
    c.post("datasets left out of search", SEARCH, {})
    c.post("datasets of 21", SEARCH, {"experiment_ids": [str(i) for i in range(21)]})


def models(c: Chapter) -> None:
    path = "runs/log-model"
    described = (
        '{"run_id": "$run", "artifact_path": "model", "flavors": {"python_function": {}}, "utc_time_created": "x"}'
    )
    c.post("log-model", path, {"run_id": "$run", "model_json": described})
    c.post("log-model no JSON", path, {"run_id": "$run", "model_json": "{"})
    c.post("log-model lacks fields", path, {"run_id": "$run", "model_json": '{"run_id": "$run"}'})
    c.post("log-model without JSON", path, {"run_id": "$run"})
    c.post("log-model of unknown run", path, {"run_id": "0" * 32, "model_json": described})
    model = {"experiment_id": "$exp", "name": "net", "source_run_id": "$run"}
    c.post("model", "logged-models", model, save={"model": "model.info.model_id"})
    path = "runs/outputs"
    c.post("output", path, {"run_id": "$run", "models": [{"model_id": "$model", "step": 3}]})
    c.post("output again", path, {"run_id": "$run", "models": [{"model_id": "$model", "step": 3}]})
    c.post("output of nothing", path, {"run_id": "$run", "models": []})
    c.post("output without a run", path, {"models": [{"model_id": "$model", "step": 3}]})
    c.post("output of unknown run", path, {"run_id": "0" * 32, "models": [{"model_id": "$model", "step": 1}]})
    c.post("model as input", "runs/log-inputs", {"run_id": "$other", "models": [{"model_id": "$model"}]})
    c.get("model among the outputs", "runs/get", {"run_id": "$run"})
    c.get("model among the inputs", "runs/get", {"run_id": "$other"})
    metric = {"run_id": "$run", "key": "acc", "value": 0.5, "timestamp": 5, "step": 1, "model_id": "$model"}
    c.post("metric of the model", "runs/log-metric", metric)
    data = {"dataset_name": "iris", "dataset_digest": "abc1"}
    c.post(
        "metric of the model and a dataset",
        "runs/log-batch",
        {"run_id": "$run", "metrics": [metric | data | {"key": "loss"}]},
    )
    c.get("the model has its metrics", "logged-models/$model")
    c.get("the run has them too", "runs/get", {"run_id": "$run"})

"""Fills the database that MLFLOW_TRACKING_URI names, by MLflow's own client, with a little of everything."""

import os

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric


class Echo(mlflow.pyfunc.PythonModel):
    def predict(self, context: object, model_input: pd.DataFrame) -> pd.DataFrame:
        return model_input


@mlflow.trace(span_type="TOOL")
def inner(x: int) -> dict[str, list[float]]:
    return {"größe": [x, 0.5]}


@mlflow.trace
def traced(x: int) -> int:
    inner(x)
    return x + 1


mlflow.set_registry_uri(os.environ["MLFLOW_TRACKING_URI"])
client = MlflowClient()
mlflow.set_experiment("training")
mlflow.set_experiment_tag("team", "größe")
with mlflow.start_run(run_name="parent") as run:
    mlflow.log_params({"lr": "0.1", "layers": 3})
    mlflow.set_tag("note", "a\nb")
    points = [Metric("loss", 1 / (i + 1), 1_700_000_000_000 + i * 10, i) for i in range(1000)]
    points += [
        Metric("odd", value, 1_700_000_000_000 + i, i)
        for i, value in enumerate([float("nan"), float("inf"), float("-inf"), 0.1 + 0.2, 5e-324, -1e308])
    ]
    for at in range(0, len(points), 500):
        client.log_batch(run.info.run_id, points[at : at + 500])
    mlflow.log_input(mlflow.data.from_pandas(pd.DataFrame({"a": [1]}), name="rows"), context="training")
    mlflow.log_text("hello", "notes/hello.txt")
    traced(1)
    mlflow.flush_trace_async_logging()
    name = {"artifact_path" if mlflow.__version__.startswith("2.") else "name": "model"}
    mlflow.pyfunc.log_model(python_model=Echo(), registered_model_name="echo", **name)
    with mlflow.start_run(run_name="child", nested=True):
        mlflow.log_metric("system/Free - Mem Used GB", 32)
with mlflow.start_run(run_name="failed", run_id=None) as failed:
    pass
client.set_terminated(failed.info.run_id, "FAILED")
with mlflow.start_run(run_name="gone") as gone:
    pass
client.delete_run(gone.info.run_id)
client.set_registered_model_alias("echo", "best", 1)
client.set_registered_model_tag("echo", "kind", "toy")
client.set_model_version_tag("echo", "1", "ok", "yes")
client.delete_experiment(client.create_experiment("deleted"))

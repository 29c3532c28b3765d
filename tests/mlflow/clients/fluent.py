"""The fluent interface: a run with params, metrics and tags, its end, and what is read back."""

import os
import time

import mlflow

NAME = os.environ["TEST_NAME"]

experiment = mlflow.set_experiment(NAME)
assert experiment.lifecycle_stage == "active"
assert mlflow.set_experiment(NAME).experiment_id == experiment.experiment_id
assert mlflow.get_experiment_by_name(NAME).experiment_id == experiment.experiment_id
assert mlflow.get_experiment_by_name(NAME + " of nobody") is None

before_ms = int(time.time() * 1000)
with mlflow.start_run(run_name="first", tags={"by": "test"}, description="A *note*") as run:
    assert mlflow.active_run().info.run_id == run.info.run_id
    mlflow.log_param("lr", 0.1)
    mlflow.log_params({"layers": [1, 2], "größe": "λ", "none": None, "long": "x" * 5000})
    mlflow.log_metric("loss", 0.5)
    for step in range(10):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
    mlflow.log_metrics({"val/acc": 0.25, "val/f1": 0.125}, step=3)
    mlflow.set_tag("colour", "red")
    mlflow.set_tags({"a.b": "1", "number": 5})
    mlflow.set_tag("colour", "blue")
    mlflow.set_tag("gone", "x")
    mlflow.delete_tag("gone")
    assert mlflow.get_run(run.info.run_id).info.status == "RUNNING"

done = mlflow.get_run(run.info.run_id)
assert done.info.status == "FINISHED"
assert before_ms <= done.info.start_time <= done.info.end_time
assert done.info.run_name == "first"
assert done.info.experiment_id == experiment.experiment_id
assert done.info.artifact_uri.endswith(f"/{run.info.run_id}/artifacts")
assert done.data.params == {"lr": "0.1", "layers": "[1, 2]", "größe": "λ", "none": "None", "long": "x" * 5000}
assert done.data.metrics == {"loss": 0.1, "val/acc": 0.25, "val/f1": 0.125}, done.data.metrics
tags = done.data.tags
assert (tags["by"], tags["colour"], tags["a.b"], tags["number"]) == ("test", "blue", "1", "5")
assert "gone" not in tags
assert tags["mlflow.note.content"] == "A *note*"
assert tags["mlflow.runName"] == "first"
assert tags["mlflow.source.name"].endswith("fluent.py")
assert mlflow.last_active_run().info.run_id == run.info.run_id

try:
    with mlflow.start_run() as failed:
        raise ValueError("as planned")
except ValueError:
    pass
assert mlflow.get_run(failed.info.run_id).info.status == "FAILED"
assert mlflow.get_run(failed.info.run_id).info.run_name, "a name is made up"

killed = mlflow.start_run()
mlflow.end_run("KILLED")
assert mlflow.get_run(killed.info.run_id).info.status == "KILLED"

runs = mlflow.search_runs([experiment.experiment_id], output_format="list")
assert {r.info.run_id for r in runs} == {run.info.run_id, failed.info.run_id, killed.info.run_id}
frame = mlflow.search_runs(experiment_names=[NAME], filter_string="params.lr = '0.1'")
assert list(frame["run_id"]) == [run.info.run_id]
assert frame["metrics.loss"][0] == 0.1
assert frame["tags.colour"][0] == "blue"

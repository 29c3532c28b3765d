"""Nested, resumed, deleted and restored runs; several processes that write into one run."""

import os
import subprocess
import sys

import mlflow

NAME = os.environ["TEST_NAME"]
CHILD = (
    "import mlflow, sys\nwith mlflow.start_run(): mlflow.log_metric('rank', int(sys.argv[1]), step=int(sys.argv[1]))"
)


def refused(call: object, *arguments: object) -> str:
    """The code of the error that the call raises; nothing when it raises none."""
    try:
        call(*arguments)
    except mlflow.MlflowException as error:
        return error.error_code
    return ""


experiment = mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()

with mlflow.start_run(run_name="outer") as outer:
    mlflow.log_param("depth", 0)
    with mlflow.start_run(run_name="inner", nested=True) as inner:
        mlflow.log_param("depth", 1)
        with mlflow.start_run(nested=True) as innermost:
            mlflow.log_metric("m", 2)
    mlflow.log_metric("after", 1)
assert client.get_run(inner.info.run_id).data.tags["mlflow.parentRunId"] == outer.info.run_id
assert client.get_run(innermost.info.run_id).data.tags["mlflow.parentRunId"] == inner.info.run_id
assert client.get_parent_run(inner.info.run_id).info.run_id == outer.info.run_id
children = mlflow.search_runs(filter_string=f"tags.mlflow.parentRunId = '{outer.info.run_id}'", output_format="list")
assert [child.info.run_id for child in children] == [inner.info.run_id]

first_end = client.get_run(outer.info.run_id).info.end_time
with mlflow.start_run(run_id=outer.info.run_id) as resumed:
    assert resumed.info.run_id == outer.info.run_id
    assert client.get_run(outer.info.run_id).info.status == "RUNNING"
    mlflow.log_metric("after", 2, step=1)
    mlflow.log_param("depth", 0)
again = client.get_run(outer.info.run_id)
assert again.info.status == "FINISHED"
assert again.info.end_time >= first_end
assert [m.value for m in client.get_metric_history(outer.info.run_id, "after")] == [1, 2]

run_id = innermost.info.run_id
mlflow.delete_run(run_id)
assert client.get_run(run_id).info.lifecycle_stage == "deleted"
assert run_id not in [r.info.run_id for r in client.search_runs([experiment.experiment_id])]
deleted = client.search_runs([experiment.experiment_id], run_view_type=mlflow.entities.ViewType.DELETED_ONLY)
assert [r.info.run_id for r in deleted] == [run_id]
assert refused(client.log_metric, run_id, "m", 3) == "INVALID_PARAMETER_VALUE"
client.restore_run(run_id)
client.log_metric(run_id, "m", 3, step=1)

client.delete_experiment(experiment.experiment_id)
assert client.get_experiment(experiment.experiment_id).lifecycle_stage == "deleted"
assert client.get_run(run_id).info.lifecycle_stage == "deleted"
assert refused(mlflow.set_experiment, NAME)
client.restore_experiment(experiment.experiment_id)
assert client.get_run(run_id).info.lifecycle_stage == "active"

mlflow.set_experiment(NAME)
with mlflow.start_run() as shared:
    environment = dict(os.environ, MLFLOW_RUN_ID=shared.info.run_id)
    ranks = [subprocess.Popen([sys.executable, "-c", CHILD, str(rank)], env=environment) for rank in range(2)]
    assert [rank.wait() for rank in ranks] == [0, 0]
assert sorted(m.value for m in client.get_metric_history(shared.info.run_id, "rank")) == [0, 1]

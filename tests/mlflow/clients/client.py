"""MlflowClient: experiments, runs and their states without the fluent interface."""

import os

import mlflow
from mlflow.entities import Metric, Param, RunTag

NAME = os.environ["TEST_NAME"]

client = mlflow.MlflowClient()
assert client.get_experiment("0").name == "Default"
experiment_id = client.create_experiment(NAME, tags={"a": "1"})
client.set_experiment_tag(experiment_id, "b", "2")
client.rename_experiment(experiment_id, NAME + "-renamed")
experiment = client.get_experiment(experiment_id)
assert experiment.name == NAME + "-renamed"
assert experiment.tags == {"a": "1", "b": "2"} or {"a", "b"} <= experiment.tags.keys()
assert experiment.artifact_location.startswith("mlflow-artifacts:/")
assert experiment.creation_time <= experiment.last_update_time
assert client.get_experiment_by_name(NAME) is None
located = client.create_experiment(NAME + "-s3", artifact_location="s3://bucket/some/where")
assert client.get_experiment(located).artifact_location == "s3://bucket/some/where"
assert client.create_run(located).info.artifact_uri.startswith("s3://bucket/some/where/")

run = client.create_run(experiment_id, start_time=12345, tags={"t": "1"}, run_name="by client")
run_id = run.info.run_id
assert len(run_id) == 32
assert run.info.start_time == 12345
assert run.info.status == "RUNNING"
assert run.info.end_time is None
client.log_batch(run_id, [Metric("m", 1, 1, 0)], [Param("p", "1")], [RunTag("u", "2")])
client.update_run(run_id, status="SCHEDULED", name="renamed")
changed = client.get_run(run_id)
assert (changed.info.status, changed.info.run_name) == ("SCHEDULED", "renamed")
assert changed.data.tags["mlflow.runName"] == "renamed"
client.set_tag(run_id, "mlflow.runName", "by tag")
assert client.get_run(run_id).info.run_name == "by tag"
client.set_terminated(run_id, "KILLED", end_time=23456)
ended = client.get_run(run_id)
assert (ended.info.status, ended.info.end_time) == ("KILLED", 23456)
assert ended.data.metrics == {"m": 1}
assert ended.data.params == {"p": "1"}
assert (ended.data.tags["t"], ended.data.tags["u"]) == ("1", "2")
assert client.get_run(run_id).to_dictionary()["data"]["params"] == {"p": "1"}

unnamed = client.create_run(experiment_id)
assert len(unnamed.info.run_name.split("-")) == 3
assert unnamed.data.tags["mlflow.runName"] == unnamed.info.run_name
client.delete_tag(run_id, "t")
assert "t" not in client.get_run(run_id).data.tags

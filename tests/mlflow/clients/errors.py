"""Errors that reach a user: they arrive at once, with the code that programs test."""

import os
import time

import mlflow
from mlflow.entities import Metric, Param

NAME = os.environ["TEST_NAME"]

client = mlflow.MlflowClient()
experiment_id = client.create_experiment(NAME)
run_id = client.create_run(experiment_id).info.run_id
client.log_param(run_id, "p", "1")


def refused(code: str, call: object, *arguments: object, says: str = "", **options: object) -> None:
    start = time.monotonic()
    told = None
    try:
        call(*arguments, **options)
    except mlflow.MlflowException as error:
        told = error
    assert told is not None, f"{call} was not refused"
    assert told.error_code == code, (told.error_code, str(told))
    assert says in str(told), str(told)
    assert time.monotonic() - start < 60, "the client tried again and again, which takes minutes"


refused("RESOURCE_ALREADY_EXISTS", client.create_experiment, NAME)
refused("RESOURCE_DOES_NOT_EXIST", client.get_run, "0" * 32, says="not found")
refused("RESOURCE_DOES_NOT_EXIST", client.get_experiment, "987654")
refused("INVALID_PARAMETER_VALUE", client.log_param, run_id, "p", "2", says="Changing param values is not allowed")
refused("INVALID_PARAMETER_VALUE", client.log_batch, run_id, params=[Param("p", "3")])
refused("INVALID_PARAMETER_VALUE", client.search_runs, [experiment_id], "nonsense")
refused("RESOURCE_DOES_NOT_EXIST", client.delete_tag, run_id, "nothing")
refused("RESOURCE_DOES_NOT_EXIST", client.get_registered_model, "nobody " + NAME)
refused("RESOURCE_DOES_NOT_EXIST", client.log_metric, "0" * 32, "m", 1)
client.delete_experiment(experiment_id)
refused("INVALID_PARAMETER_VALUE", client.create_run, experiment_id, says="active")
refused("RESOURCE_DOES_NOT_EXIST", client.delete_experiment, experiment_id)
client.restore_experiment(experiment_id)

# The server refuses these by itself, if a client does not check first.
os.environ["MLFLOW_TRUNCATE_LONG_VALUES"] = "true"
client.log_param(run_id, "long", "v" * 7000)
assert len(client.get_run(run_id).data.params["long"]) == 6000
client.log_batch(run_id, metrics=[Metric("m", 1, 1, 0)])
assert client.get_run(run_id).data.metrics == {"m": 1}

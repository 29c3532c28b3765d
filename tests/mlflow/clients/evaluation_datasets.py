"""Evaluation datasets, which are not kept: making and filling one does not end a script, reading it is refused."""

import os

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.genai.datasets import create_dataset, delete_dataset, search_datasets, set_dataset_tags

experiment = mlflow.set_experiment(os.environ["TEST_NAME"])
with mlflow.start_run():
    dataset = create_dataset(name="größe", experiment_id=[experiment.experiment_id], tags={"a": "b"})
    dataset.merge_records([{"inputs": {"question": "why?"}, "expectations": {"answer": "so"}}])
    set_dataset_tags(dataset_id=dataset.dataset_id, tags={"c": "d"})
    mlflow.log_metric("still", 1)
assert dataset.name == "größe"
if os.environ["TEST_STORAGE"] != "peer":
    assert search_datasets(experiment_ids=[experiment.experiment_id]) == []
    refusal = ""
    try:
        dataset.to_df()
    except MlflowException as error:
        refusal = str(error)
    assert "does not keep evaluation datasets" in refusal, refusal
delete_dataset(dataset_id=dataset.dataset_id)

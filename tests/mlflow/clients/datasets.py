"""Datasets as inputs of runs."""

import os

import mlflow
import numpy as np
import pandas as pd

NAME = os.environ["TEST_NAME"]

experiment = mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()
frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
train = mlflow.data.from_pandas(frame, source="https://example.org/train.csv", name="train", targets="y")
numbers = mlflow.data.from_numpy(np.arange(12.0).reshape(3, 4), name="numbers")

with mlflow.start_run() as run:
    mlflow.log_input(train, context="training", tags={"split": "a"})
    mlflow.log_input(numbers, context="evaluation")
    mlflow.log_input(train, context="training")
with mlflow.start_run() as other:
    mlflow.log_input(train, context="evaluation")

inputs = {i.dataset.name: i for i in client.get_run(run.info.run_id).inputs.dataset_inputs}
assert set(inputs) == {"train", "numbers"}
assert inputs["train"].dataset.digest == train.digest
assert inputs["train"].dataset.source_type == "http"
assert "mlflow_colspec" in inputs["train"].dataset.schema
assert "num_rows" in inputs["train"].dataset.profile
tags = {tag.key: tag.value for tag in inputs["train"].tags}
assert tags["mlflow.data.context"] == "training"
assert mlflow.data.get_source(inputs["train"]).url == "https://example.org/train.csv"


def found(text: str) -> list[str]:
    return sorted(r.info.run_id for r in client.search_runs([experiment.experiment_id], text))


both = sorted([run.info.run_id, other.info.run_id])
assert found("dataset.name = 'train'") == both
assert found("dataset.name = 'numbers'") == [run.info.run_id]
assert found("dataset.name = 'train' AND dataset.context = 'evaluation'") == both  # true of any datasets
assert found(f"dataset.digest = '{train.digest}'") == both
assert found("dataset.name LIKE 'num%'") == [run.info.run_id]
assert found("dataset.name = 'nothing'") == []

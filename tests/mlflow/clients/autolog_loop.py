"""A loop that logs by itself while scikit-learn's autologging is on: each of its points is the run's once."""

import json
import os
import urllib.request

import mlflow
import numpy as np
from sklearn.linear_model import LogisticRegression

STEPS = 40

mlflow.set_experiment(os.environ["TEST_NAME"])
mlflow.sklearn.autolog(silent=True)
x = np.random.default_rng(0).normal(size=(60, 3))

with mlflow.start_run() as run:
    for step in range(STEPS):
        mlflow.log_metric("loss", 1 / (1 + step), step=step)
    LogisticRegression().fit(x, (x[:, 0] > 0).astype(int))  # MLflow 3 sends the points of step 0 again

client = mlflow.MlflowClient()
history = client.get_metric_history(run.info.run_id, "loss")
assert [point.step for point in history] == list(range(STEPS))
if mlflow.__version__.startswith("3."):
    (model,) = client.search_logged_models([run.info.experiment_id])
    assert "loss" in {metric.key for metric in model.metrics}, "the client no longer does what this program is about"
if os.environ["TEST_STORAGE"] != "peer":
    address = f"{os.environ['MLFLOW_TRACKING_URI']}/api/corral/v1/runs/{run.info.run_id}/metrics"
    with urllib.request.urlopen(address) as answer:
        points = {metric["name"]: metric["points"] for metric in json.load(answer)["metrics"]}
    assert points["loss"] == STEPS, points

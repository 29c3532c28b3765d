"""Histories: many points, odd values, steps and times, batches that the client splits, asynchronous logging."""

import math
import os
import time

import mlflow
from mlflow.entities import Metric, Param, RunTag

NAME = os.environ["TEST_NAME"]

mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()

with mlflow.start_run() as run:
    run_id = run.info.run_id
    now = int(time.time() * 1000)
    points = [Metric("many", i * 0.5, now + i, i) for i in range(2500)]
    client.log_batch(run_id, metrics=points)
    client.log_batch(run_id, metrics=points[:10])  # a client that tries again
    params = [Param(f"p{i}", str(i)) for i in range(150)]
    tags = [RunTag(f"t{i}", str(i)) for i in range(150)]
    client.log_batch(run_id, params=params, tags=tags)

    for value in (math.nan, math.inf, -math.inf, 1e-300, -0.0, 0.1):
        mlflow.log_metric("odd", value, step=1)
    for step in (3, -2, 0, 3):
        client.log_metric(run_id, "steps", step * 10, timestamp=1000 + step, step=step)
    client.log_metric(run_id, "same", 1, timestamp=5, step=0)
    client.log_metric(run_id, "same", 1, timestamp=5, step=0)

many = client.get_metric_history(run_id, "many")
assert [(m.value, m.timestamp, m.step) for m in many] == [(i * 0.5, now + i, i) for i in range(2500)]
odd = [m.value for m in client.get_metric_history(run_id, "odd")]
assert len(odd) == 6
assert sum(map(math.isnan, odd)) == 1
assert max(v for v in odd if v == v) > 1e308
assert min(v for v in odd if v == v) < -1e308
assert {v for v in odd if abs(v) < 1} == {1e-300, 0.0, 0.1}
assert [m.step for m in client.get_metric_history(run_id, "steps")] == [-2, 0, 3]
assert len(client.get_metric_history(run_id, "same")) == 1
assert client.get_metric_history(run_id, "nothing") == []

stored = client.get_run(run_id).data
assert stored.metrics["many"] == 2499 * 0.5
assert stored.metrics["steps"] == 30
assert len(stored.params) == 150
assert all(stored.tags[f"t{i}"] == str(i) for i in range(150))

with mlflow.start_run() as run:
    for step in range(200):
        mlflow.log_metric("async", step, step=step, synchronous=False)
    last = mlflow.log_params({"later": 1}, synchronous=False)
    last.wait()
    mlflow.flush_async_logging()
history = client.get_metric_history(run.info.run_id, "async")
assert sorted((m.step, m.value) for m in history) == [(i, i) for i in range(200)]
assert client.get_run(run.info.run_id).data.params == {"later": "1"}

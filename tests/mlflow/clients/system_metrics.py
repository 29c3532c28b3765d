"""MLflow's own system metrics, sampled as fast as they can be."""

import os
import time

import mlflow

NAME = os.environ["TEST_NAME"]

mlflow.set_experiment(NAME)
mlflow.set_system_metrics_sampling_interval(0.1)
mlflow.set_system_metrics_samples_before_logging(2)
client = mlflow.MlflowClient()
with mlflow.start_run(log_system_metrics=True) as run:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        history = client.get_metric_history(run.info.run_id, "system/cpu_utilization_percentage")
        if len(history) >= 3:
            break
        time.sleep(0.05)
metrics = client.get_run(run.info.run_id).data.metrics
assert {"system/cpu_utilization_percentage", "system/system_memory_usage_megabytes"} <= metrics.keys()
assert metrics["system/system_memory_usage_megabytes"] > 100
history = client.get_metric_history(run.info.run_id, "system/cpu_utilization_percentage")
assert [m.step for m in history] == list(range(len(history)))
assert len(history) >= 3

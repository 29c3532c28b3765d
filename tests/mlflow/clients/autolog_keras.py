"""Keras's autologging: params, a metric per epoch, and the model."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import mlflow
import numpy as np

NAME = os.environ["TEST_NAME"]

mlflow.set_experiment(NAME)
mlflow.keras.autolog(silent=True)
random = np.random.default_rng(0)
x = random.normal(size=(32, 4))
y = x.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")

with mlflow.start_run() as run:
    fit = model.fit(x, y, epochs=4, batch_size=8, verbose=0)

client = mlflow.MlflowClient()
data = client.get_run(run.info.run_id).data
assert (data.params["epochs"], data.params["batch_size"], data.params["optimizer_name"]) == ("4", "8", "SGD")
losses = client.get_metric_history(run.info.run_id, "loss")
assert [m.step for m in losses] == [0, 1, 2, 3]
assert np.allclose([m.value for m in losses], fit.history["loss"])
assert "model_summary.txt" in [f.path for f in client.list_artifacts(run.info.run_id)]
loaded = mlflow.keras.load_model(f"runs:/{run.info.run_id}/model")
assert np.allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-5)

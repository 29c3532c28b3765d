"""Models: log, register, load by run, version, stage and alias."""

import json
import os

import mlflow
import numpy as np
from mlflow.models import infer_signature
from sklearn.linear_model import LinearRegression

NAME = os.environ["TEST_NAME"]
THREE = mlflow.__version__.startswith("3.")

mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()
x = np.arange(8.0).reshape(4, 2)
y = x.sum(axis=1)
model = LinearRegression().fit(x, y)


class Doubler(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        return model_input * 2


with mlflow.start_run() as run:
    mlflow.log_param("fit", "exact")
    mlflow.log_metric("rmse", 0.0)
    where = {"name": "model"} if THREE else {"artifact_path": "model"}
    info = mlflow.sklearn.log_model(model, signature=infer_signature(x, y), input_example=x[:1], **where)
    if THREE:
        mlflow.log_metric("later", 0.5, model_id=info.model_id)
run_id = run.info.run_id

loaded = mlflow.sklearn.load_model(info.model_uri)
assert np.allclose(loaded.predict(x), y)
assert np.allclose(mlflow.sklearn.load_model(f"runs:/{run_id}/model").predict(x), y)
assert mlflow.models.get_model_info(info.model_uri).signature is not None

first = mlflow.register_model(info.model_uri, NAME)
assert (first.name, first.version) == (NAME, "1") or int(first.version) == 1
with mlflow.start_run():
    where = {"name": "double"} if THREE else {"artifact_path": "double"}
    mlflow.pyfunc.log_model(python_model=Doubler(), registered_model_name=NAME, pip_requirements=[], **where)
assert np.allclose(mlflow.pyfunc.load_model(f"models:/{NAME}/1").predict(x), y)
assert np.allclose(mlflow.pyfunc.load_model(f"models:/{NAME}/2").predict(x), x * 2)
assert np.allclose(mlflow.pyfunc.load_model(f"models:/{NAME}/latest").predict(x), x * 2)

client.set_registered_model_alias(NAME, "champion", "1")
assert np.allclose(mlflow.pyfunc.load_model(f"models:/{NAME}@champion").predict(x), y)
assert client.get_model_version_by_alias(NAME, "champion").run_id == run_id
if not THREE:
    client.transition_model_version_stage(NAME, "2", "Production")
    assert np.allclose(mlflow.pyfunc.load_model(f"models:/{NAME}/Production").predict(x), x * 2)
    history = json.loads(client.get_run(run_id).data.tags["mlflow.log-model.history"])
    assert [entry["artifact_path"] for entry in history] == ["model"]

if THREE:
    logged = mlflow.get_logged_model(info.model_id)
    assert (logged.name, logged.status.value, logged.source_run_id) == ("model", "READY", run_id)
    assert logged.params == {"fit": "exact"}
    assert {m.key: m.value for m in logged.metrics} == {"rmse": 0.0, "later": 0.5}
    found = mlflow.search_logged_models(filter_string="metrics.rmse < 1", output_format="list")
    assert [m.model_id for m in found] == [info.model_id]
    assert [o.model_id for o in client.get_run(run_id).outputs.model_outputs] == [info.model_id]
    mlflow.set_logged_model_tags(info.model_id, {"colour": "red"})
    assert mlflow.get_logged_model(info.model_id).tags["colour"] == "red"
    external = mlflow.initialize_logged_model(name="by-hand", params={"p": "1"})
    mlflow.finalize_logged_model(external.model_id, "READY")
    assert mlflow.get_logged_model(external.model_id).params == {"p": "1"}
    mlflow.delete_logged_model_tag(info.model_id, "colour")
    client.delete_logged_model(external.model_id)

"""scikit-learn's autologging: params, metrics, the model, and a search with a run per candidate."""

import os

import mlflow
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

NAME = os.environ["TEST_NAME"]

mlflow.set_experiment(NAME)
mlflow.sklearn.autolog(log_post_training_metrics=True, silent=True)
random = np.random.default_rng(0)
x = random.normal(size=(60, 3))
y = (x[:, 0] > 0).astype(int)

with mlflow.start_run() as run:
    model = LogisticRegression(C=0.5).fit(x, y)
    model.score(x, y)
client = mlflow.MlflowClient()
data = client.get_run(run.info.run_id).data
assert data.params["C"] == "0.5"
assert data.params["solver"] == "lbfgs"
assert data.metrics["training_accuracy_score"] > 0.9
assert any("score" in key for key in data.metrics if not key.startswith("training"))
assert data.tags["estimator_name"] == "LogisticRegression"
assert "estimator.html" in [f.path for f in client.list_artifacts(run.info.run_id)]

loaded = mlflow.sklearn.load_model(f"runs:/{run.info.run_id}/model")
assert (loaded.predict(x) == model.predict(x)).all()

with mlflow.start_run() as search:
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, 10.0]}, cv=2).fit(x, y)
children = mlflow.search_runs(filter_string=f"tags.mlflow.parentRunId = '{search.info.run_id}'", output_format="list")
assert {child.data.params["C"] for child in children} == {"0.1", "1.0", "10.0"}
assert all("mean_test_score" in child.data.metrics for child in children)
assert client.get_run(search.info.run_id).data.params["best_C"] in ("0.1", "1.0", "10.0")

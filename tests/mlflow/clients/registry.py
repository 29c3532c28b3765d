"""The registry by MlflowClient: models, versions, stages, aliases, tags, searches."""

import os
import warnings

import mlflow

warnings.simplefilter("ignore", FutureWarning)
NAME = os.environ["TEST_NAME"]

client = mlflow.MlflowClient()
experiment_id = client.create_experiment(NAME)
run = client.create_run(experiment_id)
model = client.create_registered_model(NAME, tags={"team": "vision"}, description="first")
assert (model.name, model.description, model.tags) == (NAME, "first", {"team": "vision"})
source = f"{run.info.artifact_uri}/model"
versions = [client.create_model_version(NAME, source, run.info.run_id, tags={"n": str(i)}) for i in range(3)]
assert [int(v.version) for v in versions] == [1, 2, 3]
assert versions[0].source == source
assert versions[0].run_id == run.info.run_id
assert versions[0].status == "READY"
assert client.get_model_version_download_uri(NAME, "1") == source

client.update_registered_model(NAME, "second")
client.update_model_version(NAME, "1", "described")
client.set_registered_model_tag(NAME, "k", "v")
client.set_model_version_tag(NAME, "1", "k", "v")
client.delete_registered_model_tag(NAME, "team")
client.delete_model_version_tag(NAME, "1", "n")
model = client.get_registered_model(NAME)
assert (model.description, model.tags) == ("second", {"k": "v"})
version = client.get_model_version(NAME, "1")
assert (version.description, version.tags, version.current_stage) == ("described", {"k": "v"}, "None")

client.transition_model_version_stage(NAME, "1", "Staging")
client.transition_model_version_stage(NAME, "2", "Production")
client.transition_model_version_stage(NAME, "3", "Production", archive_existing_versions=True)
assert client.get_model_version(NAME, "2").current_stage == "Archived"
latest = {v.current_stage: int(v.version) for v in client.get_latest_versions(NAME)}
assert latest == {"Staging": 1, "Archived": 2, "Production": 3}
assert [int(v.version) for v in client.get_latest_versions(NAME, ["Production"])] == [3]

client.set_registered_model_alias(NAME, "champion", "1")
client.set_registered_model_alias(NAME, "challenger", "2")
client.set_registered_model_alias(NAME, "champion", "3")
assert int(client.get_model_version_by_alias(NAME, "champion").version) == 3
assert {k: int(v) for k, v in client.get_registered_model(NAME).aliases.items()} == {"champion": 3, "challenger": 2}
client.delete_registered_model_alias(NAME, "challenger")
assert client.get_model_version(NAME, "2").aliases == []

client.create_registered_model(NAME + "-other")
found = client.search_registered_models(f"name LIKE '{NAME}%'", order_by=["name DESC"])
assert [m.name for m in found] == [NAME + "-other", NAME]
assert [m.name for m in client.search_registered_models(f"name ILIKE '{NAME.upper()}' AND tags.k = 'v'")] == [NAME]
assert sorted(int(v.version) for v in client.search_model_versions(f"name = '{NAME}'")) == [1, 2, 3]
assert [int(v.version) for v in client.search_model_versions(f"name = '{NAME}' AND tags.n = '2'")] == [3]
by_run = client.search_model_versions(f"run_id = '{run.info.run_id}'", order_by=["version_number ASC"], max_results=2)
assert [int(v.version) for v in by_run] == [1, 2]
assert by_run.token

client.rename_registered_model(NAME, NAME + "-renamed")
assert client.get_model_version(NAME + "-renamed", "1").name == NAME + "-renamed"
client.delete_model_version(NAME + "-renamed", "3")
assert client.get_registered_model(NAME + "-renamed").aliases == {}
client.delete_registered_model(NAME + "-renamed")
assert client.search_registered_models(f"name = '{NAME}-renamed'") == []

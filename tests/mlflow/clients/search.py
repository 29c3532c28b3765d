"""search_runs and search_experiments with filters, orders, pages and data frames."""

import os

import mlflow
from mlflow.entities import ViewType

NAME = os.environ["TEST_NAME"]

client = mlflow.MlflowClient()
experiment_id = client.create_experiment(NAME, tags={"team": "vision"})
runs = []
for i in range(7):
    run = client.create_run(
        experiment_id, start_time=1000 + i, run_name=f"run-{i}", tags={"kind": "odd" if i % 2 else "even"}
    )
    runs.append(run.info.run_id)
    client.log_param(run.info.run_id, "lr", 10.0**-i)
    if i < 6:
        client.log_metric(run.info.run_id, "acc", 0.1 * (i % 3), timestamp=1)
    client.log_metric(run.info.run_id, "val acc", i, timestamp=1)
    client.set_terminated(run.info.run_id, "FAILED" if i == 3 else "FINISHED", end_time=5000 + i)


def found(filter_string: str, **options: object) -> list[int]:
    options = {"order_by": ["start_time ASC"]} | options
    pages = client.search_runs([experiment_id], filter_string, **options)
    return [runs.index(run.info.run_id) for run in pages]


assert found("") == [0, 1, 2, 3, 4, 5, 6]
assert found("metrics.acc > 0.15") == [2, 5]
assert found("metrics.acc >= 0.1 AND tags.kind = 'odd'") == [1, 5]
assert found("metrics.`val acc` < 2") == [0, 1]
assert found("params.lr = '0.01'") == [2]
assert found("params.lr LIKE '1e-%'") == [5, 6]
assert found("tags.kind ILIKE 'EV%'") == [0, 2, 4, 6]
assert found("tags.kind != 'odd'") == [0, 2, 4, 6]
assert found("attributes.status = 'FAILED'") == [3]
assert found("run_name = 'run-4'") == [4]
assert found(f"run_id IN ('{runs[1]}', '{runs[2]}')") == [1, 2]
assert found("start_time > 1003 AND end_time <= 5005") == [4, 5]
assert found("tags.`mlflow.runName` LIKE 'run-_'") == [0, 1, 2, 3, 4, 5, 6]
assert found("", order_by=["metrics.acc DESC", "start_time ASC"]) == [2, 5, 1, 4, 0, 3, 6]
assert found("", order_by=["tags.kind", "metrics.`val acc` DESC"]) == [6, 4, 2, 0, 5, 3, 1]
for wrong in ("metrics.acc", "metrics.acc > 'x'", "nothing.x = '1'", "metrics.acc > 1 OR params.lr = '1'"):
    refused = ""
    try:
        found(wrong)
    except mlflow.MlflowException as error:
        refused = error.error_code
    assert refused == "INVALID_PARAMETER_VALUE", wrong

page = client.search_runs([experiment_id], max_results=3, order_by=["start_time DESC"])
seen = [runs.index(run.info.run_id) for run in page]
while page.token:
    page = client.search_runs([experiment_id], max_results=3, order_by=["start_time DESC"], page_token=page.token)
    seen += [runs.index(run.info.run_id) for run in page]
assert seen == [6, 5, 4, 3, 2, 1, 0]

frame = mlflow.search_runs([experiment_id], order_by=["attributes.start_time ASC"])
assert list(frame["run_id"]) == runs
assert list(frame["params.lr"]) == [str(10.0**-i) for i in range(7)]
assert frame["metrics.acc"].isna().tolist() == [False] * 6 + [True]

client.delete_run(runs[0])
assert found("", run_view_type=ViewType.DELETED_ONLY) == [0]
assert found("", run_view_type=ViewType.ALL) == [0, 1, 2, 3, 4, 5, 6]
assert found("") == [1, 2, 3, 4, 5, 6]

ids = [client.create_experiment(f"{NAME}-{i}", tags={"number": str(i)}) for i in range(3)]
client.delete_experiment(ids[2])
named = mlflow.search_experiments(filter_string=f"name LIKE '{NAME}-%'", order_by=["name DESC"])
assert [e.experiment_id for e in named] == [ids[1], ids[0]]
one = mlflow.search_experiments(filter_string=f"name LIKE '{NAME}%' AND tags.number = '1'")
assert [e.experiment_id for e in one] == [ids[1]]
gone = client.search_experiments(view_type=ViewType.DELETED_ONLY, filter_string=f"name ILIKE '{NAME.upper()}-%'")
assert [e.experiment_id for e in gone] == [ids[2]]
page = client.search_experiments(max_results=1, filter_string=f"name LIKE '{NAME}-%'", order_by=["experiment_id ASC"])
assert [e.experiment_id for e in page] == [ids[0]]
page = client.search_experiments(
    max_results=1, filter_string=f"name LIKE '{NAME}-%'", order_by=["experiment_id ASC"], page_token=page.token
)
assert [e.experiment_id for e in page] == [ids[1]]

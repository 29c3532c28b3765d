"""runs/search: the filter grammar, the order (nothing and NaN last), pages and views."""

from __future__ import annotations

from typing import Any

from replay import Chapter

FILTERS = [
    # metrics
    "metrics.loss = 0.5", "metrics.loss != 0.5", "metrics.loss < 1", "metrics.loss <= 0.5",
    "metrics.loss > 0.5", "metrics.loss >= 1e-1", "metrics.loss > -1", "metric.loss < 1",
    "metrics.`loss` < 1", 'metrics."loss" < 1', "metrics.`val loss` < 5", "metrics.`val/acc` = 1",
    "metrics.val/acc = 1", "metrics.loss == 0.5", "metrics.loss <> 0.5", "metrics.loss < '1'",
    "metrics.loss < x", "metrics.loss LIKE '1'", "metrics.loss IN (1, 2)", "metrics.loss IS NULL",
    "metrics.nothing < 1", "metrics.nothing != 1", "metrics.odd = 0", "metrics.odd > -1", "metrics.odd > 1",
    "metrics.big > 1e300", "metrics.loss<1", "metrics.loss  <  1", "METRICS.loss < 1", "metrics.LOSS < 1",
    "metrics.loss < 1.", "metrics.loss < .7", "metrics.loss < +1", "metrics.loss > NaN",
    # params
    "params.lr = '0.1'", "params.lr != '0.1'", 'params.lr = "0.1"', "param.lr = '0.1'",
    "parameters.lr = '0.1'", "parameter.lr = '0.1'", "params.lr LIKE '0.%'", "params.lr like '0.%'",
    "params.lr ILIKE '0._'", "params.net LIKE 'res%'", "params.net LIKE 'RES%'", "params.net ILIKE 'RES%'",
    "params.lr = 0.1", "params.lr > '0'", "params.lr IN ('0.1')", "params.nothing = '1'",
    "params.nothing != '1'", "params.lr IS NULL", "params.lr IS NOT NULL", "params.net IS NULL",
    "params.`two words` = 'yes'", "params.note = 'it''s'", "params.note = \"it's\"",
    "params.note LIKE '%''%'", "params.percent LIKE '100\\%'", "params.percent = '100%'",
    # tags
    "tags.colour = 'red'", "tags.colour != 'red'", "tag.colour = 'red'", "tags.colour LIKE '%e%'",
    "tags.colour ILIKE 'RED'", "tags.colour IS NULL", "tags.colour IS NOT NULL",
    "tags.mlflow.runName = 'run-1'", "tags.`mlflow.runName` = 'run-1'",
    "tags.colour = 'red' AND tags.colour = 'blue'", "tags.größe = 'λ'", "tags.`größe` = 'λ'",
    "tags.a.b.c = 'deep'", "tags.colour IN ('red', 'blue')",
    # attributes
    "attributes.status = 'FINISHED'", "attribute.status = 'FINISHED'", "attr.status = 'RUNNING'",
    "run.status != 'FINISHED'", "status = 'FINISHED'", "status = 'finished'", "status LIKE 'FIN%'",
    "status ILIKE 'fin%'", "status IN ('FINISHED')", "run_name = 'run-1'", "attributes.run_name LIKE 'run-_'",
    "run_name ILIKE 'RUN-1'", "`Run name` = 'run-1'", "attributes.`run name` = 'run-1'",
    "attributes.`Run Name` = 'run-1'", "user_id = 'ann'", "user_id != 'ann'", "run_id = '$run_1'",
    "run_id != '$run_1'", "run_id IN ('$run_1', '$run_2')", "run_id NOT IN ('$run_1')",
    "run_id IN ('NOTHING')", "run_id IN ()", "run_id IN ('$run_1')", "run_id LIKE '%'",
    "attributes.run_id IN ('$run_2')", "start_time > 1500", "start_time = 1000",
    "start_time >= 2000 AND start_time < 4000", "attributes.created > 1500", "attributes.Created > 1500",
    "end_time < 20000", "end_time IS NULL", "start_time > '1500'", "start_time > 1.5", "start_time != 1000",
    "start_time LIKE '1'", "artifact_uri LIKE '%artifacts'", "experiment_id = '0'",
    "lifecycle_stage = 'active'", "duration > 5", "colour = 'red'", "nothing.colour = 'red'",
    # datasets
    "dataset.name = 'iris'", "datasets.name = 'iris'", "dataset.digest = 'd1'", "dataset.context = 'train'",
    "dataset.name LIKE 'ir%'", "dataset.name ILIKE 'IR%'", "dataset.name IN ('iris', 'x')",
    "dataset.name NOT IN ('iris')", "dataset.name != 'iris'", "dataset.colour = 'x'", "dataset.name > 'a'",
    "dataset.name = 'iris' AND dataset.context = 'eval'",
    # structure
    "metrics.loss < 1 AND params.lr = '0.1'", "metrics.loss < 1 and tags.colour = 'red'",
    "metrics.loss < 1 OR params.lr = '0.1'", "NOT metrics.loss < 1", "(metrics.loss < 1)",
    "metrics.loss < 1 AND", "AND metrics.loss < 1", "metrics.loss <", "< 1", "metrics.loss", "metrics.",
    "metrics. < 1", ".loss < 1", "1 > metrics.loss", "metrics.loss < 1 params.lr = '0.1'",
    "metrics.loss < 1, params.lr = '0.1'", "metrics.loss < 1;", "params.lr = 'x'; DROP TABLE runs",
    "params.lr = 'x' -- c", "params.lr = 'unclosed", "params.`lr = '0.1'", "params.lr = ''", "params.lr = '",
    "metrics.loss < 1 AND AND status = 'x'", "metrics.loss = metrics.loss", "metrics.loss BETWEEN 0 AND 1",
    "metrics.loss IS NOT", "*", "1", "'", "''", "🐎",
]  # fmt: skip
ORDERS: list[list[Any]] = [
    ["metrics.loss"], ["metrics.loss ASC"], ["metrics.loss DESC"], ["metrics.loss desc"],
    ["metrics.loss DOWN"], ["metric.loss"], ["metrics.odd ASC"], ["metrics.odd DESC"], ["metrics.big ASC"],
    ["metrics.big DESC"], ["metrics.nothing"], ["metrics.`val loss` DESC"], ["metrics.val loss"],
    ["params.lr ASC"], ["params.lr DESC"], ["params.`two words`"], ["tags.colour ASC"], ["tags.colour DESC"],
    ["tags.mlflow.runName DESC"], ["start_time ASC"], ["start_time DESC"], ["start_time"],
    ["attributes.start_time ASC"], ["attribute.start_time DESC"], ["attr.end_time"], ["end_time DESC"],
    ["run_name DESC"], ["attributes.`Run Name` ASC"], ["status", "start_time DESC"],
    ["run_id ASC", "run_id DESC"], ["attributes.Created DESC"],
    ["user_id DESC", "metrics.loss ASC", "params.lr DESC"], ["dataset.name"], ["dataset.name DESC"], ["loss"],
    ["experiment_id"], [""], ["metrics.loss ASC NULLS FIRST"], ["metrics.loss, params.lr"], ["duration"],
    ["nothing.x"], ["metrics."], [5], ["lifecycle_stage"], [" start_time   DESC "],
]  # fmt: skip


def six_runs(c: Chapter, experiment: str) -> None:
    """Runs whose start times, metrics, params, tags, users and datasets tell every filter and order apart."""
    c.post("experiment", "experiments/create", {"name": experiment}, save={"exp": "experiment_id"})
    facts: list[dict[str, Any]] = [
        {"loss": 0.5, "odd": 1.0, "val loss": 3.0, "val/acc": 1.0},
        {"loss": 0.25, "odd": "NaN", "big": 1e308},
        {"loss": 2.0, "odd": -2.0, "big": "Infinity"},
        {"loss": 0.5, "odd": "NaN", "big": "-Infinity"},
        {"odd": 0.0},
        {},
    ]
    params = [
        {"lr": "0.1", "net": "resnet", "two words": "yes", "note": "it's"},
        {"lr": "0.01", "net": "ResNet", "percent": "100%"},
        {"lr": "0.1", "percent": "1000"},
        {"lr": "1"},
        {"net": "vit"},
        {},
    ]
    tags: list[dict[str, str]] = [
        {"colour": "red", "größe": "λ"},
        {"colour": "blue", "a.b.c": "deep"},
        {"colour": "Red"},
        {},
        {},
        {},
    ]
    for i, (metrics, values, labels) in enumerate(zip(facts, params, tags, strict=True), 1):
        made = {
            "experiment_id": "$exp",
            "run_name": f"run-{i}",
            "start_time": 1000 * i,
            "user_id": "ann" if i % 2 else "bob",
        }
        c.post(f"run {i}", "runs/create", made, save={f"run_{i}": "run.info.run_id"})
        points = [{"key": k, "value": v, "timestamp": 1, "step": 0} for k, v in metrics.items()]
        batch = {"metrics": points, "params": pairs(values), "tags": pairs(labels)}
        c.post(f"facts of run {i}", "runs/log-batch", {"run_id": f"$run_{i}"} | batch)
        if i < 4:
            c.post(
                f"end of run {i}", "runs/update", {"run_id": f"$run_{i}", "status": "FINISHED", "end_time": 10_000 * i}
            )
    for i, (name, context) in enumerate([("iris", "train"), ("digits", "train"), ("iris", "eval")], 1):
        data = {"name": name, "digest": f"d{i}", "source_type": "local", "source": "{}"}
        entry = {"dataset": data, "tags": [{"key": "mlflow.data.context", "value": context}]}
        c.post(f"dataset of run {i}", "runs/log-inputs", {"run_id": f"$run_{i}", "datasets": [entry]})


def pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def chapter() -> Chapter:
    c = Chapter("search_runs")
    six_runs(c, "search-filters")
    for number, text in enumerate(FILTERS):
        body = {"experiment_ids": ["$exp"], "filter": text, "order_by": ["start_time ASC"]}
        c.post(f"{number:03} {text}", "runs/search", body)
    return c


def order() -> Chapter:
    c = Chapter("order_runs")
    six_runs(c, "search-orders")
    for number, several in enumerate(ORDERS):
        c.post(f"{number:02} {several}", "runs/search", {"experiment_ids": ["$exp"], "order_by": several})
    for by in ("run_id", "artifact_uri DESC"):  # random, so one run is enough
        body = {"experiment_ids": ["$exp"], "order_by": [by], "filter": "run_name = 'run-1'"}
        c.post(by, "runs/search", body)
    c.post("none", "runs/search", {"experiment_ids": ["$exp"]})
    c.post("text", "runs/search", {"experiment_ids": ["$exp"], "order_by": "start_time"})
    return c


def pages() -> Chapter:
    c = Chapter("page_runs")
    six_runs(c, "search-pages")
    path = "runs/search"
    ours = {"experiment_ids": ["$exp"], "order_by": ["start_time ASC"]}
    c.post("first", path, ours | {"max_results": 4}, save={"next": "next_page_token"})
    c.post("last", path, ours | {"max_results": 4, "page_token": "$next"})
    c.post("exactly all", path, ours | {"max_results": 6}, save={"end": "next_page_token"})
    c.post("after the end", path, ours | {"max_results": 6, "page_token": "$end"})
    for number in (0, -1, 1, 50_000, 50_001, "2", "x", 1.5, None):
        c.post(f"max_results {number!r}", path, ours | {"max_results": number})
    for token in ("x", "", "bm9uc2Vuc2U="):
        c.post(f"page_token {token!r}", path, ours | {"max_results": 1, "page_token": token})
    c.post("no experiments", path, {"filter": ""})
    c.post("empty list of experiments", path, {"experiment_ids": []})
    c.post("unknown experiment", path, {"experiment_ids": ["987654"]})
    c.post("an experiment that is a word", path, {"experiment_ids": ["abc"]})
    c.post("experiment as number", path, {"experiment_ids": [0], "filter": "run_name = 'nobody'"})
    c.post("the same twice", path, {"experiment_ids": ["$exp", "$exp"], "max_results": 3, "order_by": ["start_time"]})
    c.post("delete one", "runs/delete", {"run_id": "$run_2"})
    for view in ("ACTIVE_ONLY", "DELETED_ONLY", "ALL", "NONSENSE", 1, 2, 3, "3", None):
        c.post(f"view {view!r}", path, ours | {"run_view_type": view, "filter": "start_time <= 3000"})
    c.post("by ajax", "/ajax-api/2.0/mlflow/runs/search", ours | {"max_results": 1})
    c.post("delete the experiment", "experiments/delete", {"experiment_id": "$exp"})
    c.post("runs of the deleted", path, ours | {"max_results": 2})
    c.post("deleted runs of the deleted", path, ours | {"run_view_type": "DELETED_ONLY", "max_results": 2})
    return c

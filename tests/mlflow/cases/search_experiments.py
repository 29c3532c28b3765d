"""The experiments' filter grammar, order and pages. Every search names this chapter's experiments alone."""

from __future__ import annotations

from typing import Any

from replay import Chapter

OURS = "name LIKE 'find-%'"
FILTERS = [
    "name = 'find-1'",
    "name != 'find-1'",
    "name LIKE 'find-_'",
    "name like 'find-%'",
    "name ILIKE 'FIND-1%'",
    "name LIKE 'FIND-1'",
    "name IN ('find-1', 'find-2')",
    "name > 'a'",
    'name = "find-1"',
    "name = find-1",
    "attribute.name = 'find-1'",
    "attr.name = 'find-1'",
    "experiment.name = 'find-1'",
    "tags.colour = 'red'",
    "tag.colour = 'red'",
    "tags.colour != 'red'",
    "tags.colour LIKE 're%'",
    "tags.colour ILIKE 'RE%'",
    "tags.`colour` = 'red'",
    "tags.\"colour\" = 'red'",
    "tags.`two words` = 'yes'",
    "tags.colour IS NULL",
    "tags.colour IS NOT NULL",
    "tags.nothing = 'red'",
    "tags.colour > 'a'",
    "creation_time > 0",
    "creation_time >= 0",
    "creation_time = 5",
    "creation_time < 0",
    "creation_time > 'x'",
    "creation_time LIKE '1%'",
    "last_update_time > 0",
    "attribute.last_update_time != 0",
    "lifecycle_stage = 'active'",
    "experiment_id = '1000'",
    "experiment_id = '$exp_1'",
    "experiment_id IN ('$exp_1', '$exp_2')",
    "colour = 'red'",
    "metrics.m > 1",
    "params.p = '1'",
    "name = 'find-1' OR name = 'find-2'",
    "NOT name = 'find-1'",
    "(name = 'find-1')",
    "name = 'find-1' AND",
    "AND name = 'find-1'",
    "name =",
    "= 'find-1'",
    "name",
    "'find-1' = name",
    "name = 'find-1' name = 'find-2'",
    "name = 'it''s'",
    "name = 'unclosed",
    "tags. = 'x'",
    ";",
    "name = 'x'; DROP TABLE experiments",
]
ORDERS = [
    ["name"],
    ["name ASC"],
    ["name DESC"],
    ["name desc"],
    ["name DOWN"],
    ["experiment_id DESC"],
    ["creation_time ASC", "name DESC"],
    ["last_update_time DESC", "experiment_id ASC"],
    ["attribute.name DESC"],
    ["`name` DESC"],
    ["name DESC, experiment_id ASC"],
    ["name", "name"],
    ["tags.colour"],
    ["colour"],
    [""],
    ["name ASC NULLS LAST"],
]


def chapter() -> Chapter:
    c = Chapter("search_experiments")
    path = "experiments/search"
    for number, tags in enumerate([{"colour": "red"}, {"colour": "Red", "two words": "yes"}, {}], 1):
        body = {"name": f"find-{number}", "tags": [{"key": k, "value": v} for k, v in tags.items()]}
        c.post(f"make {number}", "experiments/create", body, save={f"exp_{number}": "experiment_id"})
    c.post("make deleted", "experiments/create", {"name": "find-9"}, save={"exp_9": "experiment_id"})
    c.post("delete it", "experiments/delete", {"experiment_id": "$exp_9"})
    for text in FILTERS:
        c.post(f"filter {text}", path, {"max_results": 100, "order_by": ["name"], "filter": f"{text} AND {OURS}"})
    c.post("filter empty", path, {"max_results": 1, "filter": ""})
    c.post("filter blank", path, {"max_results": 1, "filter": "  "})
    for order in ORDERS:
        c.post(f"order {order}", path, {"max_results": 100, "filter": OURS, "order_by": order})
    for view in ("ACTIVE_ONLY", "DELETED_ONLY", "ALL", "NONSENSE", 2, "2"):
        whole: dict[str, Any] = {"max_results": 100, "filter": OURS, "order_by": ["name"], "view_type": view}
        c.post(f"view {view!r}", path, whole)
    pages(c)
    return c


def pages(c: Chapter) -> None:
    path = "experiments/search"
    base = {"filter": OURS, "order_by": ["name"]}
    for number in (0, -1, 50_000, 50_001, "2", "x", 1.5, None):
        c.post(f"max_results {number!r}", path, base | {"max_results": number})
    c.post("without max_results", path, base)
    c.post("first page", path, base | {"max_results": 2}, save={"next": "next_page_token"})
    c.post("last page", path, base | {"max_results": 2, "page_token": "$next"})
    c.post("exactly all", path, base | {"max_results": 3})
    for token in ("x", "", "bm9uc2Vuc2U=", "eyJvZmZzZXQiOiAtMX0="):
        c.post(f"page_token {token!r}", path, base | {"max_results": 2, "page_token": token})
    c.get("by GET", path, {"max_results": 2, "filter": OURS, "order_by": ["name DESC"]})
    c.get("by GET, several orders", path, {"max_results": 9, "filter": OURS, "order_by": ["creation_time", "name"]})
    c.get(
        "by ajax", "/ajax-api/2.0/mlflow/experiments/search", {"max_results": 1, "filter": OURS, "order_by": ["name"]}
    )

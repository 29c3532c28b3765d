"""Registered models: create, rename, describe, tag, alias, delete, search."""

from __future__ import annotations

from replay import Chapter

SEARCHES = [
    "name = 'reg-find-1'", "name != 'reg-find-1'", "name LIKE 'reg-find-%'", "name ILIKE 'REG-FIND-%'",
    "name like 'reg-find-_'", "name > 'a'", "tags.colour = 'red'", "tag.colour = 'red'",
    "tags.colour != 'red'", "tag.`mlflow.prompt.is_prompt` != 'true'", "tags.colour LIKE 'r%'",
    "colour = 'red'", "name = 'a' OR name = 'b'", "name", "name =", "description = 'x'", "name = 'unclosed",
    "tags.colour IS NULL", "name IN ('reg-find-1')", "aliases.a = 'x'", "creation_timestamp > 0",
]  # fmt: skip


def chapter() -> Chapter:
    c = Chapter("registry")
    create(c)
    change(c)
    tags(c)
    delete(c)
    return c


def create(c: Chapter) -> None:
    path = "registered-models/create"
    c.post("create", path, {"name": "reg"})
    full = {"name": "reg-full", "description": "All of it λ", "tags": [{"key": "k", "value": "v"}]}
    c.post("create in full", path, full)
    c.post("create again", path, {"name": "reg"})
    c.post("create in other case", path, {"name": "REG"})
    c.post("create without name", path, {})
    c.post("create with an empty name", path, {"name": ""})
    c.post("create unicode", path, {"name": "größe 🐎"})
    c.post("create with a slash", path, {"name": "a/b"})
    c.post("create with a colon", path, {"name": "a:b"})
    c.post("create with dots", path, {"name": "../x"})
    c.post("create 256 long", path, {"name": "n" * 256})
    c.post("create 257 long", path, {"name": "n" * 257})
    c.post("tag key too long", path, {"name": "reg-t1", "tags": [{"key": "k" * 251, "value": "v"}]})
    c.post("tag value too long", path, {"name": "reg-t2", "tags": [{"key": "k", "value": "v" * 100_001}]})
    c.post("description 5001 long", path, {"name": "reg-d", "description": "d" * 5001})
    c.get("get", "registered-models/get", {"name": "reg"})
    c.get("get in full", "registered-models/get", {"name": "reg-full"})
    c.get("get unknown", "registered-models/get", {"name": "nobody"})
    c.get("get without name", "registered-models/get")
    c.get("get by ajax", "/ajax-api/2.0/mlflow/registered-models/get", {"name": "reg"})


def change(c: Chapter) -> None:
    path = "registered-models/update"
    c.patch("describe", path, {"name": "reg", "description": "new"})
    c.patch("describe with nothing", path, {"name": "reg", "description": ""})
    c.patch("describe left out", path, {"name": "reg"})
    c.patch("describe unknown", path, {"name": "nobody", "description": "x"})
    c.patch("describe without name", path, {"description": "x"})
    path = "registered-models/rename"
    c.post("rename", path, {"name": "reg", "new_name": "reg-2"})
    c.get("the old is gone", "registered-models/get", {"name": "reg"})
    c.post("rename onto another", path, {"name": "reg-2", "new_name": "reg-full"})
    c.post("rename to itself", path, {"name": "reg-2", "new_name": "reg-2"})
    c.post("rename to nothing", path, {"name": "reg-2", "new_name": ""})
    c.post("rename left out", path, {"name": "reg-2"})
    c.post("rename unknown", path, {"name": "nobody", "new_name": "x"})
    c.post("rename badly", path, {"name": "reg-2", "new_name": "a:b"})
    path = "registered-models/get-latest-versions"
    c.post("latest of none", path, {"name": "reg-2"})
    c.get("latest by GET", path, {"name": "reg-2"})
    c.post("latest of a bad stage", path, {"name": "reg-2", "stages": ["Nowhere"]})
    c.post("latest of unknown", path, {"name": "nobody"})
    c.post("latest without name", path, {})


def tags(c: Chapter) -> None:
    path = "registered-models/set-tag"
    tag = {"name": "reg-2", "key": "colour", "value": "red"}
    c.post("set tag", path, tag)
    c.post("set tag again", path, tag | {"value": "blue"})
    c.post("set tag of unknown", path, tag | {"name": "nobody"})
    c.post("set tag key too long", path, tag | {"key": "k" * 251})
    c.post("set tag value 100000 long", path, tag | {"key": "long", "value": "v" * 100_000})
    c.post("set tag value 100001 long", path, tag | {"key": "longer", "value": "v" * 100_001})
    for field in tag:
        c.post(f"set tag without {field}", path, {k: v for k, v in tag.items() if k != field})
    path = "registered-models/delete-tag"
    c.delete("delete tag", path, {"name": "reg-2", "key": "colour"})
    c.delete("delete tag twice", path, {"name": "reg-2", "key": "colour"})
    c.delete("delete the long tag", path, {"name": "reg-2", "key": "long"})
    c.delete("delete tag without key", path, {"name": "reg-2"})
    c.delete("delete tag of unknown", path, {"name": "nobody", "key": "colour"})
    c.get("after the tags", "registered-models/get", {"name": "reg-2"})


def delete(c: Chapter) -> None:
    path = "registered-models/delete"
    c.delete("delete", path, {"name": "reg-2"})
    c.delete("delete twice", path, {"name": "reg-2"})
    c.delete("delete without name", path, {})
    c.get("it is gone", "registered-models/get", {"name": "reg-2"})
    c.post("its name is free", "registered-models/create", {"name": "reg-2"})


def search() -> Chapter:
    c = Chapter("search_registry")
    path = "registered-models/search"
    tags = [[{"key": "colour", "value": "red"}], [{"key": "mlflow.prompt.is_prompt", "value": "true"}], []]
    for number, several in enumerate(tags, 1):
        c.post(f"make {number}", "registered-models/create", {"name": f"reg-find-{number}", "tags": several})
    ours = "name LIKE 'reg-find-%'"
    for text in SEARCHES:
        c.get(f"filter {text}", path, {"filter": f"{text} AND {ours}"})
    for order in (
        "name",
        "name DESC",
        "name ASC",
        "last_updated_timestamp",
        "timestamp DESC",
        "creation_timestamp",
        "tags.x",
    ):
        query = [("filter", ours), ("order_by", order)] + ([] if "name" in order else [("order_by", "name")])
        c.get(f"order {order}", path, query)
    for limit in ("0", "-1", "1", "1000", "1001", "x"):
        c.get(f"max_results {limit}", path, {"filter": ours, "max_results": limit})
    c.get("first page", path, {"filter": ours, "max_results": "2"}, save={"next": "next_page_token"})
    c.get("last page", path, {"filter": ours, "max_results": "2", "page_token": "$next"})
    c.get("bad page", path, {"filter": ours, "page_token": "x"})
    return c

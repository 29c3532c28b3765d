"""Model versions: create, stages, aliases, tags, download address, search."""

from __future__ import annotations

from replay import Chapter

SEARCHES = [
    "name = 'ver-find'", "name != 'ver-find'", "name LIKE 'ver-fi%'", "name ILIKE 'VER-FIND'",
    "version_number = 1", "version_number > 1", "version_number >= '1'", "version = 1", "run_id = '$run'",
    "run_id IN ('$run')", "run_id = 'x'", "source_path = 's3://bucket/one'", "source_path LIKE 's3:%'",
    "tags.colour = 'red'", "tag.colour != 'red'", "current_stage = 'None'", "stage = 'None'",
    "name = 'ver-find' AND version_number = 2", "name > 'a'", "colour = 'x'", "name = 'a' OR name = 'b'",
    "name", "name = 'unclosed",
]  # fmt: skip


def chapter() -> Chapter:
    c = Chapter("versions")
    c.post("experiment", "experiments/create", {"name": "versions"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "v", "start_time": 1}
    c.post("run", "runs/create", made, save={"run": "run.info.run_id"})
    c.post("model", "registered-models/create", {"name": "ver"})
    c.post(
        "logged model",
        "logged-models",
        {"experiment_id": "$exp", "name": "net"},
        save={"logged": "model.info.model_id"},
    )
    create(c)
    read(c)
    change(c)
    aliases(c)
    delete(c)
    return c


def create(c: Chapter) -> None:
    path = "model-versions/create"
    whole = {"name": "ver", "source": "s3://bucket/model", "run_id": "$run", "description": "first"}
    c.post("create", path, whole | {"tags": [{"key": "k", "value": "v"}], "run_link": "http://x"})
    c.post("create bare", path, {"name": "ver", "source": "s3://bucket/model"})
    c.post("create from the run", path, whole | {"source": "mlflow-artifacts:/$exp/$run/artifacts/model"})
    c.post("create from a version", path, {"name": "ver", "source": "models:/ver/1"})
    c.post("create from a logged model", path, {"name": "ver", "source": "models:/$logged", "model_id": "$logged"})
    c.post("create from an unknown model", path, {"name": "ver", "source": "models:/nobody/1"})
    c.post("create from a local path", path, {"name": "ver", "source": "/etc"})
    c.post("create from a file", path, {"name": "ver", "source": "file:///etc/passwd"})
    c.post("create from a relative path", path, {"name": "ver", "source": "../../etc"})
    c.post("create from dots", path, {"name": "ver", "source": "mlflow-artifacts:/../../etc"})
    c.post("create from a fragment", path, {"name": "ver", "source": "mlflow-artifacts:/a#/../../etc"})
    c.post("create of unknown", path, {"name": "nobody", "source": "s3://bucket/model"})
    c.post("create with a tag too long", path, whole | {"tags": [{"key": "k" * 251, "value": "v"}]})
    for field in ("name", "source"):
        c.post(f"create without {field}", path, {k: v for k, v in whole.items() if k != field})


def read(c: Chapter) -> None:
    path = "model-versions/get"
    c.get("get", path, {"name": "ver", "version": "1"})
    c.get("get bare", path, {"name": "ver", "version": "2"})
    for version in ("99", "0", "-1", "x", "1.5", ""):
        c.get(f"get version {version!r}", path, {"name": "ver", "version": version})
    c.get("get of unknown", path, {"name": "nobody", "version": "1"})
    c.get("get without version", path, {"name": "ver"})
    c.get("get without name", path, {"version": "1"})
    path = "model-versions/get-download-uri"
    c.get("download", path, {"name": "ver", "version": "1"})
    c.get("download from a version", path, {"name": "ver", "version": "4"})
    c.get("download from a logged model", path, {"name": "ver", "version": "5"})
    c.get("download unknown", path, {"name": "ver", "version": "99"})
    c.get("model with versions", "registered-models/get", {"name": "ver"})
    path = "registered-models/get-latest-versions"
    c.post("latest", path, {"name": "ver"})
    c.post("latest of a stage", path, {"name": "ver", "stages": ["none"]})


def change(c: Chapter) -> None:
    one = {"name": "ver", "version": "1"}
    path = "model-versions/update"
    c.patch("describe", path, one | {"description": "new"})
    c.patch("describe left out", path, one)
    c.patch("describe unknown", path, one | {"version": "99", "description": "x"})
    path = "model-versions/transition-stage"
    move = one | {"stage": "Production", "archive_existing_versions": False}
    c.post("to production", path, move)
    c.post("to staging in lower case", path, move | {"version": "2", "stage": "staging"})
    c.post("to production, archiving", path, move | {"version": "2", "archive_existing_versions": True})
    c.get("the first is archived", "model-versions/get", one)
    c.post("to nowhere", path, move | {"stage": "Nowhere"})
    c.post("to none, archiving", path, move | {"stage": "None", "archive_existing_versions": True})
    c.post("archive as text", path, move | {"archive_existing_versions": "true"})
    c.post("stage left out", path, one | {"archive_existing_versions": False})
    c.post("archiving left out", path, one | {"stage": "Staging"})
    c.post("stage of unknown", path, move | {"version": "99"})
    c.post(
        "latest by stages",
        "registered-models/get-latest-versions",
        {"name": "ver", "stages": ["Production", "Staging"]},
    )
    path = "model-versions/set-tag"
    tag = one | {"key": "colour", "value": "red"}
    c.post("set tag", path, tag)
    c.post("set tag again", path, tag | {"value": "blue"})
    c.post("set tag of unknown", path, tag | {"version": "99"})
    for field in tag:
        c.post(f"set tag without {field}", path, {k: v for k, v in tag.items() if k != field})
    path = "model-versions/delete-tag"
    c.delete("delete tag", path, one | {"key": "colour"})
    c.delete("delete tag twice", path, one | {"key": "colour"})
    c.delete("delete tag of unknown", path, one | {"key": "colour", "version": "99"})
    c.get("after the changes", "model-versions/get", one)


def aliases(c: Chapter) -> None:
    path = "registered-models/alias"
    c.post("alias", path, {"name": "ver", "alias": "champion", "version": "1"})
    c.get("by alias", path, {"name": "ver", "alias": "champion"})
    c.post("alias moves", path, {"name": "ver", "alias": "champion", "version": "2"})
    c.post("second alias", path, {"name": "ver", "alias": "best one", "version": "2"})
    c.get("by the moved alias", path, {"name": "ver", "alias": "champion"})
    c.get("alias in other case", path, {"name": "ver", "alias": "Champion"})
    c.get("model has aliases", "registered-models/get", {"name": "ver"})
    c.get("version has aliases", "model-versions/get", {"name": "ver", "version": "2"})
    c.get("unknown alias", path, {"name": "ver", "alias": "nobody"})
    c.get("alias of unknown", path, {"name": "nobody", "alias": "champion"})
    for alias in ("latest", "LATEST", "v1", "V1", "1", "", "a" * 255, "a" * 256, "a/b", "größe"):
        title = alias if len(alias) < 50 else f"{len(alias)} long"
        c.post(f"alias {title!r}", path, {"name": "ver", "alias": alias, "version": "1"})
    c.post("alias of an unknown version", path, {"name": "ver", "alias": "x", "version": "99"})
    c.post("alias of an unknown model", path, {"name": "nobody", "alias": "x", "version": "1"})
    c.post("alias without version", path, {"name": "ver", "alias": "x"})
    c.delete("delete alias", path, {"name": "ver", "alias": "champion"})
    c.delete("delete alias twice", path, {"name": "ver", "alias": "champion"})
    c.delete("delete alias of unknown", path, {"name": "nobody", "alias": "champion"})
    c.get("after the aliases", "registered-models/get", {"name": "ver"})


def delete(c: Chapter) -> None:
    path = "model-versions/delete"
    c.delete("delete", path, {"name": "ver", "version": "2"})
    c.delete("delete twice", path, {"name": "ver", "version": "2"})
    c.delete("delete unknown", path, {"name": "ver", "version": "99"})
    c.delete("delete without version", path, {"name": "ver"})
    c.get("it is gone", "model-versions/get", {"name": "ver", "version": "2"})
    c.post("its number is not used again", "model-versions/create", {"name": "ver", "source": "s3://bucket/model"})
    c.post("model renamed", "registered-models/rename", {"name": "ver", "new_name": "ver-2"})
    c.get("version follows", "model-versions/get", {"name": "ver-2", "version": "1"})
    c.delete("model deleted", "registered-models/delete", {"name": "ver-2"})
    c.get("versions are gone", "model-versions/get", {"name": "ver-2", "version": "1"})


def search() -> Chapter:
    c = Chapter("search_versions")
    path = "model-versions/search"
    c.post("experiment", "experiments/create", {"name": "search-versions"}, save={"exp": "experiment_id"})
    c.post(
        "run",
        "runs/create",
        {"experiment_id": "$exp", "run_name": "v", "start_time": 1},
        save={"run": "run.info.run_id"},
    )
    c.post("model", "registered-models/create", {"name": "ver-find"})
    make = {"name": "ver-find", "source": "s3://bucket/one"}
    c.post("make 1", "model-versions/create", make | {"run_id": "$run", "tags": [{"key": "colour", "value": "red"}]})
    c.post("make 2", "model-versions/create", make | {"source": "s3://bucket/two"})
    c.post("make 3", "model-versions/create", make | {"tags": [{"key": "colour", "value": "blue"}]})
    ours = "name LIKE 'ver-find%'"
    for text in SEARCHES:
        query = [("filter", f"{text} AND {ours}"), ("order_by", "version_number ASC")]
        c.get(f"filter {text}", path, query)
    for order in (
        "name",
        "version_number DESC",
        "version_number",
        "last_updated_timestamp DESC",
        "creation_timestamp ASC",
        "x",
    ):
        query = [
            ("filter", ours),
            ("order_by", order),
            ("order_by", "name" if "version" in order else "version_number"),
        ]
        c.get(f"order {order}", path, query)
    for number in ("0", "-1", "1", "200000", "200001", "x"):
        query = [("filter", ours), ("order_by", "version_number"), ("max_results", number)]
        c.get(f"max_results {number}", path, query)
    page = [("filter", ours), ("order_by", "version_number"), ("max_results", "2")]
    c.get("first page", path, page, save={"next": "next_page_token"})
    c.get("last page", path, [*page, ("page_token", "$next")])
    c.get("bad page", path, [*page, ("page_token", "x")])
    return c

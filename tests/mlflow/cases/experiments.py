"""Experiments: create, read, rename, tags, delete and restore, and the limits of each."""

from __future__ import annotations

from replay import Chapter


def chapter() -> Chapter:
    c = Chapter("experiments")
    default(c)
    create(c)
    read(c)
    tags(c)
    rename(c)
    life_cycle(c)
    return c


def default(c: Chapter) -> None:
    c.get("the default experiment is there", "experiments/get", {"experiment_id": "0"})
    c.get("and is named Default", "experiments/get-by-name", {"experiment_name": "Default"})
    c.post("Default is taken", "experiments/create", {"name": "Default"})


def create(c: Chapter) -> None:
    path = "experiments/create"
    c.post("create", path, {"name": "exp-a"}, save={"exp_a": "experiment_id"})
    tagged = {"name": "exp-b", "tags": [{"key": "team", "value": "vision"}, {"key": "größe", "value": "λ 🐎"}]}
    c.post("create with tags", path, tagged, save={"exp_b": "experiment_id"})
    c.post("create again", path, {"name": "exp-a"})
    c.post("create in other case", path, {"name": "EXP-A"}, save={"exp_upper": "experiment_id"})
    c.post("create unicode", path, {"name": "größe λ 🐎"}, save={"exp_unicode": "experiment_id"})
    c.post("create without a name", path, {})
    c.post("create with an empty name", path, {"name": ""})
    c.post("create with a blank name", path, {"name": "   "})
    c.post("create with null", path, {"name": None})
    c.post("create 500 long", path, {"name": "l" * 500}, save={"exp_long": "experiment_id"})
    c.post("create 501 long", path, {"name": "l" * 501})
    c.post("create with a location", path, {"name": "exp-s3", "artifact_location": "s3://bucket/some/where"})
    c.post("location with a fragment", path, {"name": "exp-frag", "artifact_location": "s3://bucket/a#b"})
    c.post("location with a query", path, {"name": "exp-query", "artifact_location": "s3://bucket/a?b=c"})
    c.post("location with dots", path, {"name": "exp-dots", "artifact_location": "s3://bucket/a/../../b"})
    c.post("location too long", path, {"name": "exp-loc", "artifact_location": "s3://" + "b" * 2048})
    c.post("tag without a key", path, {"name": "exp-c", "tags": [{"value": "x"}]})
    c.post("tag key too long", path, {"name": "exp-d", "tags": [{"key": "k" * 251, "value": "x"}]})
    c.post(
        "the same tag twice", path, {"name": "exp-e", "tags": [{"key": "k", "value": "1"}, {"key": "k", "value": "2"}]}
    )
    c.post("unknown fields are ignored", path, {"name": "exp-f", "colour": "red", "deep": {"a": [1]}})
    c.post("a name with a slash", path, {"name": "/Users/me/exp"})
    c.post("a name with script", path, {"name": "<script>alert(1)</script>"})
    c.post("a name with SQL", path, {"name": "'; DROP TABLE experiments; --"})


def read(c: Chapter) -> None:
    c.get("get", "experiments/get", {"experiment_id": "$exp_a"})
    c.get("get with tags", "experiments/get", {"experiment_id": "$exp_b"})
    c.get("get by unicode name", "experiments/get-by-name", {"experiment_name": "größe λ 🐎"})
    c.get("get unknown", "experiments/get", {"experiment_id": "987654"})
    c.get("get without an id", "experiments/get")
    c.get("get with an empty id", "experiments/get", {"experiment_id": ""})
    c.get("get with a word", "experiments/get", {"experiment_id": "abc"})
    c.get("get with a negative id", "experiments/get", {"experiment_id": "-1"})
    c.get("get with a fraction", "experiments/get", {"experiment_id": "1.5"})
    c.get("get with a huge id", "experiments/get", {"experiment_id": "99999999999999999999"})
    c.get("get by unknown name", "experiments/get-by-name", {"experiment_name": "nobody"})
    c.get("get by name in other case", "experiments/get-by-name", {"experiment_name": "Exp-A"})
    c.get("get by name without one", "experiments/get-by-name")
    c.get("get by ajax", "/ajax-api/2.0/mlflow/experiments/get", {"experiment_id": "$exp_a"})


def tags(c: Chapter) -> None:
    path = "experiments/set-experiment-tag"
    tag = {"experiment_id": "$exp_a", "key": "note", "value": "first"}
    c.post("set tag", path, tag)
    c.post("set tag again", path, tag | {"value": "second"})
    c.post("set tag empty", path, tag | {"key": "empty", "value": ""})
    c.post("set tag without value", path, {"experiment_id": "$exp_a", "key": "valueless"})
    c.post("set tag without key", path, {"experiment_id": "$exp_a", "value": "x"})
    c.post("set tag without experiment", path, {"key": "note", "value": "x"})
    c.post("set tag of unknown", path, tag | {"experiment_id": "987654"})
    c.post("set tag key 250 long", path, tag | {"key": "k" * 250})
    c.post("set tag key 251 long", path, tag | {"key": "k" * 251})
    c.post("set tag value 5000 long", path, tag | {"key": "long", "value": "v" * 5000})
    c.post("set tag key with dots", path, tag | {"key": "../up"})
    c.get("tags are there", "experiments/get", {"experiment_id": "$exp_a"})
    path = "experiments/delete-experiment-tag"
    c.post("delete tag", path, {"experiment_id": "$exp_a", "key": "note"})
    c.post("delete tag twice", path, {"experiment_id": "$exp_a", "key": "note"})
    c.post("delete tag without key", path, {"experiment_id": "$exp_a"})
    c.post("delete tag of unknown", path, {"experiment_id": "987654", "key": "note"})


def rename(c: Chapter) -> None:
    path = "experiments/update"
    c.post("rename", path, {"experiment_id": "$exp_b", "new_name": "exp-b2"})
    c.get("renamed", "experiments/get", {"experiment_id": "$exp_b"})
    c.get("old name is free", "experiments/get-by-name", {"experiment_name": "exp-b"})
    c.post("rename to itself", path, {"experiment_id": "$exp_b", "new_name": "exp-b2"})
    c.post("rename onto another", path, {"experiment_id": "$exp_b", "new_name": "exp-a"})
    c.post("rename without name", path, {"experiment_id": "$exp_b"})
    c.post("rename to nothing", path, {"experiment_id": "$exp_b", "new_name": ""})
    c.post("rename too long", path, {"experiment_id": "$exp_b", "new_name": "n" * 501})
    c.post("rename unknown", path, {"experiment_id": "987654", "new_name": "x"})


def life_cycle(c: Chapter) -> None:
    one = {"experiment_id": "$exp_b"}
    c.post("a run to be deleted with it", "runs/create", one | {"start_time": 1}, save={"run": "run.info.run_id"})
    c.post("delete", "experiments/delete", one)
    c.post("delete twice", "experiments/delete", one)
    c.get("deleted is still read", "experiments/get", one)
    c.get("and by its name", "experiments/get-by-name", {"experiment_name": "exp-b2"})
    c.get("its run is deleted", "runs/get", {"run_id": "$run"})
    c.post("its name is taken", "experiments/create", {"name": "exp-b2"})
    c.post("rename deleted", "experiments/update", one | {"new_name": "exp-b3"})
    c.post("tag deleted", "experiments/set-experiment-tag", one | {"key": "k", "value": "v"})
    c.post("no run in a deleted one", "runs/create", one | {"start_time": 1})
    c.post("restore", "experiments/restore", one)
    c.post("restore twice", "experiments/restore", one)
    c.get("its run is back", "runs/get", {"run_id": "$run"})
    c.post("delete unknown", "experiments/delete", {"experiment_id": "987654"})
    c.post("delete nothing", "experiments/delete", {})
    c.post("delete a word", "experiments/delete", {"experiment_id": "abc"})
    c.post("restore unknown", "experiments/restore", {"experiment_id": "987654"})
    c.post("restore nothing", "experiments/restore", {})
    c.post("delete the default", "experiments/delete", {"experiment_id": "0"})
    c.post("restore the default", "experiments/restore", {"experiment_id": "0"})

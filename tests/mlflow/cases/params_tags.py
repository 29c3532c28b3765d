"""Params never change, tags do; keys and lengths of both."""

from __future__ import annotations

from replay import Chapter

from cases.metrics import KEYS


def chapter() -> Chapter:
    c = Chapter("params_tags")
    c.post("experiment", "experiments/create", {"name": "params"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "p", "start_time": 1}
    c.post("run", "runs/create", made, save={"run": "run.info.run_id"})
    c.post("odd", "runs/create", made, save={"odd": "run.info.run_id"})
    c.post("other", "runs/create", made, save={"other": "run.info.run_id"})
    params(c)
    tags(c)
    c.get("all", "runs/get", {"run_id": "$run"})
    c.get("all of the other", "runs/get", {"run_id": "$other"})
    return c


def params(c: Chapter) -> None:
    path = "runs/log-parameter"
    one = {"run_id": "$run", "key": "lr", "value": "0.1"}
    c.post("param", path, one)
    c.post("param again", path, one)
    c.post("param changed", path, one | {"value": "0.2"})
    c.post("param empty", path, one | {"key": "empty", "value": ""})
    c.post("param unicode", path, one | {"key": "größe", "value": "λ 🐎\n\ttab"})
    c.post("param as number", path, one | {"key": "number", "value": 5})
    c.post("param 6000 long", path, one | {"key": "long", "value": "v" * 6000})
    c.post("param 6001 long", path, one | {"key": "longer", "value": "v" * 6000 + "w"})
    c.post("param cut is the same", path, one | {"key": "longer", "value": "v" * 6000})
    c.post("param with NUL", path, one | {"run_id": "$odd", "key": "nul", "value": "a\u0000b"})
    c.post("param by run_uuid", path, {"run_uuid": "$run", "key": "uuid", "value": "1"})
    c.post("param of unknown run", path, one | {"run_id": "0" * 32})
    for field in one:
        c.post(f"param without {field}", path, {k: v for k, v in one.items() if k != field})
    for key in KEYS:
        title = key if len(key) < 50 else f"{len(key)} long"
        c.post(f"param key {title!r}", path, {"run_id": "$other", "key": key, "value": "x"})


def tags(c: Chapter) -> None:
    path = "runs/set-tag"
    one = {"run_id": "$run", "key": "colour", "value": "red"}
    c.post("tag", path, one)
    c.post("tag changed", path, one | {"value": "blue"})
    c.post("tag empty", path, one | {"key": "empty", "value": ""})
    c.post("tag unicode", path, one | {"key": "größe", "value": "λ 🐎"})
    c.post("tag as number", path, one | {"key": "number", "value": 5})
    c.post("tag 8000 long", path, one | {"key": "long", "value": "v" * 8000})
    c.post("tag 8001 long", path, one | {"key": "longer", "value": "v" * 8000 + "w"})
    c.post("tag by run_uuid", path, {"run_uuid": "$run", "key": "uuid", "value": "1"})
    c.post("tag of unknown run", path, one | {"run_id": "0" * 32})
    for field in one:
        c.post(f"tag without {field}", path, {k: v for k, v in one.items() if k != field})
    for key in KEYS:
        title = key if len(key) < 50 else f"{len(key)} long"
        c.post(f"tag key {title!r}", path, {"run_id": "$other", "key": key, "value": "x"})
    path = "runs/delete-tag"
    c.post("delete tag", path, {"run_id": "$run", "key": "colour"})
    c.post("delete tag twice", path, {"run_id": "$run", "key": "colour"})
    c.post("delete tag without key", path, {"run_id": "$run"})
    c.post("delete tag without run", path, {"key": "colour"})
    c.post("delete tag of unknown run", path, {"run_id": "0" * 32, "key": "colour"})

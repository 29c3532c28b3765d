"""log-batch: its limits, what is wrong in it named by its path, and that a wrong one stores nothing it should not."""

from __future__ import annotations

from typing import Any

from replay import Chapter

Json = dict[str, Any]


def metric(**fields: Any) -> Json:
    return {"key": "m", "value": 1, "timestamp": 1, "step": 0} | fields


def many(kind: str, number: int) -> list[Json]:
    if kind == "metrics":
        return [metric(key=f"m{i}") for i in range(number)]
    return [{"key": f"{kind}{i}", "value": "v"} for i in range(number)]


def less(item: Json, field: str) -> Json:
    return {key: value for key, value in item.items() if key != field}


def chapter() -> Chapter:
    c = Chapter("batch")
    c.post("experiment", "experiments/create", {"name": "batch"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "b", "start_time": 1}
    for name in ("run", "limits", "wrong", "conflict"):
        c.post(f"run {name}", "runs/create", made, save={name: "run.info.run_id"})
    good(c)
    limits(c)
    wrong(c)
    conflicts(c)
    return c


def good(c: Chapter) -> None:
    path = "runs/log-batch"
    whole = {
        "run_id": "$run",
        "metrics": [
            metric(),
            metric(value=2, step=1, timestamp=2),
            metric(key="n", value="NaN", timestamp="3", step="4"),
        ],
        "params": [{"key": "p", "value": "1"}, {"key": "q", "value": ""}],
        "tags": [{"key": "t", "value": "1"}, {"key": "größe", "value": "λ"}],
    }
    c.post("all three", path, whole)
    c.post("all three again", path, whole)
    c.get("stored once", "metrics/get-history", {"run_id": "$run", "metric_key": "m"})
    c.post("empty", path, {"run_id": "$run"})
    c.post("empty lists", path, {"run_id": "$run", "metrics": [], "params": [], "tags": []})
    c.post("by run_uuid", path, {"run_uuid": "$limits", "metrics": [metric(step=7)]})
    c.post("the same point twice", path, {"run_id": "$run", "metrics": [metric(key="twice"), metric(key="twice")]})
    c.get("is stored once", "metrics/get-history", {"run_id": "$run", "metric_key": "twice"})
    c.post("several of a step", path, {"run_id": "$run", "metrics": [metric(key="s", value=v) for v in (3, 1, 2)]})
    c.get("are all stored", "metrics/get-history", {"run_id": "$run", "metric_key": "s"})
    c.post(
        "the same tag twice", path, {"run_id": "$run", "tags": [{"key": "d", "value": "1"}, {"key": "d", "value": "2"}]}
    )
    c.post("unknown fields", path, {"run_id": "$run", "metrics": [metric(key="u", colour="red")], "extra": [1]})
    c.post("step left out", path, {"run_id": "$run", "metrics": [less(metric(key="stepless"), "step")]})
    c.get("after the good", "runs/get", {"run_id": "$run"})


def limits(c: Chapter) -> None:
    path = "runs/log-batch"
    for kind, limit in (("metrics", 1000), ("params", 100), ("tags", 100)):
        c.post(f"{limit} {kind}", path, {"run_id": "$limits", kind: many(kind, limit)})
        c.post(f"{limit + 1} {kind}", path, {"run_id": "$limits", kind: many(kind, limit + 1)})
    mixed = {"run_id": "$limits", "params": many("params", 100), "tags": many("tags", 100)}
    c.post("1000 in all", path, mixed | {"metrics": many("metrics", 800)})
    c.post("1001 in all", path, mixed | {"metrics": many("metrics", 801)})
    c.post("param 6001 long", path, {"run_id": "$run", "params": [{"key": "long", "value": "v" * 6001}]})
    c.post("tag 8001 long", path, {"run_id": "$run", "tags": [{"key": "long", "value": "v" * 8001}]})
    c.get("lengths after", "runs/get", {"run_id": "$run"})


def wrong(c: Chapter) -> None:
    path = "runs/log-batch"
    bad: list[tuple[str, Json]] = [
        *((f"metric without {field}", {"metrics": [metric(), less(metric(), field)]}) for field in metric()),
        *((f"{kind[:-1]} without key", {kind: [{"value": "v"}]}) for kind in ("params", "tags")),
        *((f"{kind[:-1]} without value", {kind: [{"key": "k"}]}) for kind in ("params", "tags")),
        ("metric with a bad key", {"metrics": [metric(), metric(key="a%")]}),
        ("metric with dots", {"metrics": [metric(key="../m")]}),
        ("metric key too long", {"metrics": [metric(key="k" * 251)]}),
        ("param key too long", {"params": [{"key": "k" * 251, "value": "v"}]}),
        ("tag key too long", {"tags": [{"key": "k" * 251, "value": "v"}]}),
        ("param with a bad key", {"params": [{"key": "a%", "value": "v"}]}),
        ("tag with a bad key", {"tags": [{"key": "a%", "value": "v"}]}),
        ("metric with a word", {"metrics": [metric(value="x")]}),
        ("metric with null", {"metrics": [metric(value=None)]}),
        ("metric with a bool", {"metrics": [metric(value=True)]}),
        ("metric with a list", {"metrics": [metric(value=[1])]}),
        ("metric with a fraction of time", {"metrics": [metric(timestamp=1.5)]}),
        ("metric with a negative time", {"metrics": [metric(timestamp=-1)]}),
        ("metric is a number", {"metrics": [5]}),
        ("metric is null", {"metrics": [None]}),
        ("metrics is an object", {"metrics": metric()}),
        ("metrics is a word", {"metrics": "m"}),
        ("params is an object", {"params": {"p": "1"}}),
        (
            "good and bad",
            {"metrics": [metric(key="good"), metric(key="bad%")], "tags": [{"key": "good", "value": "1"}]},
        ),
        ("good metric, bad tag", {"metrics": [metric(key="good")], "tags": [{"key": "bad%", "value": "1"}]}),
    ]
    for name, body in bad:
        c.post(name, path, {"run_id": "$wrong"} | body)
    c.get("what the wrong ones stored", "runs/get", {"run_id": "$wrong"})
    c.post("without a run", path, {"metrics": [metric()]})
    c.post("unknown run", path, {"run_id": "0" * 32, "metrics": [metric()]})
    c.post("bad run id", path, {"run_id": "../x", "metrics": [metric()]})


def conflicts(c: Chapter) -> None:
    path = "runs/log-batch"
    c.post("param", path, {"run_id": "$conflict", "params": [{"key": "p", "value": "1"}]})
    changed = {"run_id": "$conflict", "params": [{"key": "p", "value": "2"}, {"key": "new", "value": "1"}]}
    c.post("param changed", path, changed | {"metrics": [metric()], "tags": [{"key": "t", "value": "1"}]})
    twice = [{"key": "d", "value": "1"}, {"key": "d", "value": "2"}]
    c.post("param twice in one", path, {"run_id": "$conflict", "params": twice})
    same = [{"key": "e", "value": "1"}, {"key": "e", "value": "1"}]
    c.post("param twice alike", path, {"run_id": "$conflict", "params": same})
    c.get("after the conflicts", "runs/get", {"run_id": "$conflict"})

"""log-metric: keys, values and times, and which value is the latest."""

from __future__ import annotations

from typing import Any

from replay import Chapter

KEYS = [
    "a", "a b", "a/b", "a.b", "a-b", "a:b", "a_b", "größe", "损失", "k" * 250, "k" * 251, "", " ", "/a", "a/",
    "a//b", "../b", "a/../b", "a/.", ".", "..", "a%", "a\\b", "a#b", "a'b", "a\"b", "a\u0000b", "🐎", "a(b)",
    "a@b", "a,b", "a=b",
]  # fmt: skip
VALUES: list[Any] = [
    1, -1, 0, 1.5, 1e308, -1e308, 5e-324, "1.5", "10", "NaN", "Infinity", "-Infinity", 2**53 + 1,
]  # fmt: skip
TIMES: list[Any] = [0, 1, "2", 3.0, 4 * 10**12]
STEPS: list[Any] = [0, 1, "2", -1, 3.0, 2**62, -(2**63)]
# MLflow stores other points than these say, or none; all go to a run of their own, which is not read.
ODD: dict[str, list[Any]] = {
    "value": [2**70, "nan", "inf", "x", "", None, True, False, [], [1], {}],
    "timestamp": [-1, 1.5, "x", "", None, True, 10**15, 10**18, 2**62, 2**63, -(2**63)],
    "step": [1.5, "x", None, True, 2**63],
}


def chapter() -> Chapter:
    c = Chapter("metrics")
    c.post("experiment", "experiments/create", {"name": "metrics"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "m", "start_time": 1}
    for name in ("keys", "values", "times", "odd", "latest"):
        c.post(f"run of {name}", "runs/create", made, save={name: "run.info.run_id"})
    path = "runs/log-metric"
    for key in KEYS:
        title = key if len(key) < 50 else f"{len(key)} long"
        c.post(f"key {title!r}", path, {"run_id": "$keys", "key": key, "value": 1, "timestamp": 1})
    for number, value in enumerate(VALUES):
        body = {"run_id": "$values", "key": f"v{number:02}", "value": value, "timestamp": 1}
        c.post(f"value {value!r}", path, body)
    fields = [("timestamp", time) for time in TIMES] + [("step", step) for step in STEPS]
    for number, (field, value) in enumerate(fields):
        body = {"run_id": "$times", "key": f"t{number:02}", "value": 1, "timestamp": 1} | {field: value}
        c.post(f"{field} {value!r}", path, body)
    for field, several in ODD.items():
        for value in several:
            body = {"run_id": "$odd", "key": "odd", "value": 1, "timestamp": 1} | {field: value}
            c.post(f"odd {field} {value!r}", path, body)
    for name in ("keys", "values", "times"):
        c.get(f"all {name}", "runs/get", {"run_id": f"${name}"})
    for number, value in enumerate(VALUES):
        c.get(f"history of {value!r}", "metrics/get-history", {"run_id": "$values", "metric_key": f"v{number:02}"})
    missing(c)
    latest(c)
    return c


def missing(c: Chapter) -> None:
    whole = {"run_id": "$keys", "key": "a", "value": 2, "timestamp": 2}
    for field in whole:
        body = {key: value for key, value in whole.items() if key != field}
        c.post(f"without {field}", "runs/log-metric", body)
    c.post("nothing at all", "runs/log-metric", {})
    c.post("by run_uuid", "runs/log-metric", {"run_uuid": "$keys", "key": "a", "value": 3, "timestamp": 3})
    c.post("of an unknown run", "runs/log-metric", whole | {"run_id": "0" * 32})
    c.post("with a model", "runs/log-metric", whole | {"key": "mm", "model_id": "m-" + "0" * 32})
    dataset = {"dataset_name": "d", "dataset_digest": "1"}
    c.post("with a dataset", "runs/log-metric", whole | {"key": "md"} | dataset)


def latest(c: Chapter) -> None:
    """The greatest (step, timestamp, value) is the latest, in whatever order they come."""
    points: list[tuple[str, list[tuple[int, int, Any]]]] = [
        ("step wins", [(5, 1, 1.0), (4, 9, 9.0)]),
        ("then time", [(5, 9, 1.0), (5, 8, 9.0)]),
        ("then value", [(5, 9, 9.0), (5, 9, 1.0)]),
        ("negative step", [(-5, 1, 1.0), (-6, 2, 2.0)]),
        ("nan does not win", [(1, 1, 3.0), (1, 1, "NaN")]),
        ("nan over a negative", [(1, 1, -3.0), (1, 1, "NaN")]),
        ("infinity wins", [(1, 1, 3.0), (1, 1, "Infinity")]),
        ("the same twice", [(1, 1, 3.0), (1, 1, 3.0)]),
    ]
    for name, several in points:
        for number, (step, time, value) in enumerate(several):
            body = {"run_id": "$latest", "key": name, "value": value, "timestamp": time, "step": step}
            c.post(f"{name} {number}", "runs/log-metric", body)
        c.get(f"{name}, history", "metrics/get-history", {"run_id": "$latest", "metric_key": name})
    c.get("the latest", "runs/get", {"run_id": "$latest"})

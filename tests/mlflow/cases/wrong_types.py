"""Every field of the common endpoints with a value of another type."""

from __future__ import annotations

from typing import Any

from replay import Chapter

WRONG: list[Any] = [5, 1.5, True, "x", [], ["x"], {}, {"a": 1}]
GOOD: dict[str, dict[str, Any]] = {
    "experiments/create": {
        "name": "wrong-a",
        "artifact_location": "s3://bucket/a",
        "tags": [{"key": "k", "value": "v"}],
    },
    "experiments/set-experiment-tag": {"experiment_id": "$exp", "key": "k", "value": "v"},
    "runs/create": {"experiment_id": "$exp", "user_id": "u", "run_name": "n", "start_time": 1, "tags": []},
    "runs/update": {"run_id": "$run", "status": "FINISHED", "end_time": 5, "run_name": "n"},
    "runs/log-parameter": {"run_id": "$run", "key": "p", "value": "v"},
    "runs/set-tag": {"run_id": "$run", "key": "t", "value": "v"},
    "runs/log-batch": {"run_id": "$run", "metrics": [], "params": [], "tags": []},
    "runs/search": {
        "experiment_ids": ["$empty"],
        "filter": "",
        "run_view_type": "ALL",
        "max_results": 1,
        "order_by": [],
    },
    "registered-models/create": {"name": "wrong-m", "description": "d", "tags": []},
}


def chapter() -> Chapter:
    c = Chapter("wrong_types")
    c.post("experiment", "experiments/create", {"name": "wrong-types"}, save={"exp": "experiment_id"})
    c.post(
        "empty experiment",
        "experiments/create",
        {"name": "wrong-empty"},
        save={"exp_empty": "experiment_id", "empty": "experiment_id"},
    )
    made = {"experiment_id": "$exp", "run_name": "w", "start_time": 1}
    c.post("run", "runs/create", made, save={"run": "run.info.run_id"})
    number = 0
    for path, good in GOOD.items():
        for field, right in good.items():
            for wrong in WRONG:
                if type(wrong) is type(right) and not isinstance(wrong, (list, dict)):
                    continue
                number += 1
                body = {key: distinct(key, value, number) for key, value in good.items()} | {field: wrong}
                c.post(f"{path} {field}={wrong!r}", path, body)
    return c


def distinct(key: str, value: Any, number: int) -> Any:
    """Names and keys that are taken would hide what is wrong."""
    return f"{value}{number}" if key in ("name", "key") else value

"""Histories of metrics: pages, the bulk endpoints and their limits."""

from __future__ import annotations

from replay import Chapter

BULK = "/ajax-api/2.0/mlflow/metrics/get-history-bulk"
INTERVAL = "metrics/get-history-bulk-interval"


def chapter() -> Chapter:
    c = Chapter("history")
    c.post("experiment", "experiments/create", {"name": "history"}, save={"exp": "experiment_id"})
    made = {"experiment_id": "$exp", "run_name": "h", "start_time": 1}
    for name in ("one", "two"):
        c.post(f"run {name}", "runs/create", made, save={name: "run.info.run_id"})
        points = [{"key": "m", "value": i * 0.5, "timestamp": 1000 + 10 * i, "step": i} for i in range(20)]
        points += [
            {"key": "nan", "value": "NaN", "timestamp": 1, "step": 0},
            {"key": "same", "value": 1, "timestamp": 1},
        ]
        points += [{"key": "back", "value": i, "timestamp": 100 - i, "step": i} for i in range(5)]
        c.post(f"points of {name}", "runs/log-batch", {"run_id": f"${name}", "metrics": points})
    one_run(c)
    bulk(c)
    interval(c)
    return c


def one_run(c: Chapter) -> None:
    path = "metrics/get-history"
    one = {"run_id": "$one", "metric_key": "m"}
    c.get("all", path, one)
    c.get("by time, not by step", path, one | {"metric_key": "back"})
    c.get("not a number", path, one | {"metric_key": "nan"})
    c.get("by run_uuid", path, {"run_uuid": "$one", "metric_key": "m", "max_results": 1})
    c.get("unknown key", path, one | {"metric_key": "nothing"})
    c.get("unknown run", path, one | {"run_id": "0" * 32})
    c.get("no key", path, {"run_id": "$one"})
    c.get("no run", path, {"metric_key": "m"})
    for number in ("0", "-1", "1", "20", "21", "x", "1.5", "50001", "100000"):
        c.get(f"max_results {number}", path, one | {"max_results": number})
    c.get("first page", path, one | {"max_results": "12"}, save={"next": "next_page_token"})
    c.get("last page", path, one | {"max_results": "12", "page_token": "$next"})
    c.get("rest without a number", path, one | {"page_token": "$next"})
    for token in ("x", "bm9uc2Vuc2U="):
        c.get(f"page_token {token}", path, one | {"max_results": "5", "page_token": token})


def bulk(c: Chapter) -> None:
    both = [("run_id", "$one"), ("run_id", "$two")]
    c.get("bulk of one", BULK, [("run_id", "$one"), ("metric_key", "back")])
    c.get("bulk of the same", BULK, [("run_id", "$one"), ("metric_key", "same")])
    c.get("bulk limited", BULK, [("run_id", "$one"), ("metric_key", "m"), ("max_results", "3")])
    c.get("bulk without key", BULK, both)
    c.get("bulk without run", BULK, [("metric_key", "m")])
    c.get("bulk of unknown run", BULK, [("run_id", "0" * 32), ("metric_key", "m")])
    c.get("bulk of unknown key", BULK, [*both, ("metric_key", "nothing")])
    c.get("bulk, bad number", BULK, [("run_id", "$one"), ("metric_key", "m"), ("max_results", "x")])
    c.get("bulk, zero", BULK, [("run_id", "$one"), ("metric_key", "m"), ("max_results", "0")])
    c.get("bulk of 101 runs", BULK, [("run_id", f"{i:032x}") for i in range(101)] + [("metric_key", "m")])


def interval(c: Chapter) -> None:
    one = [("run_ids", "$one"), ("metric_key", "m")]
    c.get("interval", INTERVAL, one)
    c.get("interval by ajax", "/ajax-api/2.0/mlflow/" + INTERVAL, one)
    c.get("interval of a part", INTERVAL, [*one, ("start_step", "5"), ("end_step", "8")])
    c.get("interval of one step", INTERVAL, [*one, ("start_step", "5"), ("end_step", "5")])
    c.get("interval beyond", INTERVAL, [*one, ("start_step", "500"), ("end_step", "600")])
    c.get("interval backwards", INTERVAL, [*one, ("start_step", "8"), ("end_step", "5")])
    c.get("interval without end", INTERVAL, [*one, ("start_step", "5")])
    c.get("interval without start", INTERVAL, [*one, ("end_step", "5")])
    c.get("interval of a word", INTERVAL, [*one, ("start_step", "x"), ("end_step", "8")])
    for number in ("0", "-1", "2500", "2501", "x"):
        c.get(f"interval, max_results {number}", INTERVAL, [*one, ("max_results", number)])
    c.get("interval of the same", INTERVAL, [("run_ids", "$one"), ("metric_key", "same")])
    c.get("interval of not a number", INTERVAL, [("run_ids", "$one"), ("metric_key", "nan")])
    c.get("interval of unknown key", INTERVAL, [("run_ids", "$one"), ("metric_key", "nothing")])
    c.get("interval of unknown run", INTERVAL, [("run_ids", "0" * 32), ("metric_key", "m")])
    c.get("interval without key", INTERVAL, [("run_ids", "$one")])
    c.get("interval without run", INTERVAL, [("metric_key", "m")])
    c.get("interval of 101 runs", INTERVAL, [("run_ids", f"{i:032x}") for i in range(101)] + [("metric_key", "m")])

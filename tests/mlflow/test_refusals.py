"""A refused request leaves nothing behind: MLflow's server stores parts of such requests, Corral none."""

from __future__ import annotations

from typing import Any

import pytest
from cases.batch import metric
from cases.metrics import ODD
from conftest import Server
from replay import Chapter, Json, Session

BATCHES: dict[str, Json] = {
    "a key that is none": {"metrics": [metric(key="good"), metric(key="bad%")]},
    "a value that is none": {"metrics": [metric(key="good"), metric(value="x")]},
    "a tag that is none": {"metrics": [metric(key="good")], "tags": [{"key": "bad%", "value": "1"}]},
    "a param that changes": {
        "metrics": [metric(key="good")],
        "params": [{"key": "new", "value": "1"}, {"key": "fixed", "value": "2"}],
        "tags": [{"key": "good", "value": "1"}],
    },
    "a param twice": {
        "metrics": [metric(key="good")],
        "params": [{"key": "twice", "value": "1"}, {"key": "twice", "value": "2"}],
    },
    "too many metrics": {"metrics": [metric(step=i) for i in range(1001)]},
}


def played(server: Server, requests: list[tuple[str, Any]]) -> tuple[list[int], Json]:
    """The statuses of the requests to a new run, and what the run holds afterwards."""
    c = Chapter("refusals")
    c.post(
        "run", "runs/create", {"experiment_id": "0", "run_name": "r", "start_time": 1}, save={"run": "run.info.run_id"}
    )
    c.post("param", "runs/log-parameter", {"run_id": "$run", "key": "fixed", "value": "1"})
    for number, (path, body) in enumerate(requests):
        c.post(f"request {number}", path, {"run_id": "$run"} | body)
    c.get("run after", "runs/get", {"run_id": "$run"})
    session = Session(server.url)
    answers = session.play(c)
    session.close()
    statuses = [answer.status for name, answer in answers.items() if name.startswith("request")]
    return statuses, answers["run after"].body["run"]["data"]


UNTOUCHED = {
    "params": [{"key": "fixed", "value": "1"}],
    "tags": [{"key": "mlflow.runName", "value": "r"}],
}


@pytest.mark.parametrize("name", list(BATCHES))
def test_a_batch_is_stored_whole_or_not_at_all(name: str, shared_server: Server) -> None:
    statuses, data = played(shared_server, [("runs/log-batch", BATCHES[name])])
    assert statuses == [400]
    assert data == UNTOUCHED


@pytest.mark.parametrize("field", list(ODD))
def test_a_metric_that_cannot_be_read_is_not_stored(field: str, shared_server: Server) -> None:
    bodies = [metric(**{field: value}) for value in ODD[field] if value is not None]
    statuses, data = played(shared_server, [("runs/log-metric", body) for body in bodies])
    assert statuses == [400] * len(bodies)
    assert data == UNTOUCHED


def test_a_batch_that_is_sent_again_changes_nothing(shared_server: Server) -> None:
    """Clients send again what they got no answer to."""
    body = {
        "metrics": [metric(step=i, timestamp=i, value=i * 0.5) for i in range(100)],
        "params": [{"key": "p", "value": "1"}],
        "tags": [{"key": "t", "value": "1"}],
    }
    statuses, data = played(shared_server, [("runs/log-batch", body)] * 3)
    assert statuses == [200] * 3
    assert data["metrics"] == [{"key": "m", "value": 49.5, "timestamp": 99, "step": 99}]

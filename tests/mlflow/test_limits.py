"""A value that a database cannot keep is refused by name beforehand, or kept as well as possible: on both storages
alike.
"""

from __future__ import annotations

import random
import string

import pytest
from conftest import Server
from replay import Chapter, Json, Session

# PostgreSQL compresses texts in its indexes: only what is random is too long for them.
HUGE = "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=5000))
WIDE = "".join(random.Random(6).choices([chr(c) for c in range(0x4E00, 0x9F00)], k=500))

RUN = {"run_id": "$run"}
POINT = {"key": "m", "value": 1, "timestamp": 1, "step": 1}
TRACE = {
    "trace_id": "tr-1",
    "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}},
    "request_time": "2026-11-21T19:10:20.606Z",
}

# path, body, the field that the refusal names
TOO_LONG: list[tuple[str, Json, str]] = [
    ("logged-models", {"experiment_id": "0", "params": [{"key": HUGE, "value": "v"}]}, "params[0].key"),
    ("runs/outputs", RUN | {"models": [{"model_id": HUGE, "step": 0}]}, "models[0].model_id"),
    ("runs/log-inputs", RUN | {"models": [{"model_id": HUGE}]}, "models[0].model_id"),
    (
        "runs/log-inputs",
        RUN | {"datasets": [{"dataset": {"name": "d", "digest": HUGE, "source_type": "s", "source": "s"}}]},
        "digest",
    ),
    ("runs/log-batch", RUN | {"metrics": [POINT | {"model_id": HUGE}]}, "metrics[0].model_id"),
    (
        "runs/log-batch",
        RUN | {"metrics": [POINT | {"model_id": "m-1", "dataset_name": "d", "dataset_digest": HUGE}]},
        "metrics[0].dataset_digest",
    ),
    ("runs/log-metric", RUN | POINT | {"model_id": "m-1", "dataset_name": HUGE}, "dataset_name"),
    ("runs/log-metric", RUN | POINT | {"key": HUGE}, "Metric name"),
    ("runs/log-parameter", RUN | {"key": HUGE, "value": "v"}, "key"),
    ("runs/set-tag", RUN | {"key": HUGE, "value": "v"}, "key"),
    ("experiments/create", {"name": HUGE}, "name"),
    ("experiments/set-experiment-tag", {"experiment_id": "0", "key": HUGE, "value": "v"}, "key"),
    ("registered-models/create", {"name": HUGE}, "name"),
    ("registered-models/set-tag", {"name": "net", "key": HUGE, "value": "v"}, "key"),
    ("registered-models/alias", {"name": "net", "alias": HUGE, "version": "1"}, "alias"),
    (
        "/api/3.0/mlflow/traces",
        {"trace": {"trace_info": TRACE | {"trace_metadata": {"mlflow.sourceRun": HUGE}}}},
        "mlflow.sourceRun",
    ),
    ("/api/3.0/mlflow/traces", {"trace": {"trace_info": TRACE | {"trace_id": HUGE}}}, "trace ID"),
]


def opened(server: Server) -> tuple[Session, Chapter]:
    c = Chapter("limits")
    c.post("run", "runs/create", {"experiment_id": "0", "start_time": 1}, save={"run": "run.info.run_id"})
    return Session(server.url), c


def test_what_an_index_cannot_hold_is_refused_by_name(shared_server: Server) -> None:
    session, c = opened(shared_server)
    c.post("model", "registered-models/create", {"name": "net"})
    for number, (path, body, _) in enumerate(TOO_LONG):
        c.post(f"{number} {path}", path, body)
    answers = session.play(c)
    session.close()
    for number, (path, _, field) in enumerate(TOO_LONG):
        answer = answers[f"{number} {path}"]
        assert answer.status == 400, (path, answer)
        assert field in answer.body["message"], (path, answer)


# The longest that is taken, of letters that have three bytes, is stored on both.
LONGEST: list[tuple[str, Json]] = [
    ("runs/outputs", RUN | {"models": [{"model_id": WIDE[:250], "step": 0}]}),
    (
        "runs/log-inputs",
        RUN | {"datasets": [{"dataset": {"name": WIDE, "digest": WIDE[:36], "source_type": "s", "source": "s"}}]},
    ),
    ("runs/log-parameter", RUN | {"key": WIDE[:250], "value": "v"}),
    ("experiments/create", {"name": WIDE}),
    ("registered-models/create", {"name": WIDE[:256]}),
    ("registered-models/set-tag", {"name": WIDE[:256], "key": WIDE[:250], "value": "v"}),
    (
        "/api/3.0/mlflow/traces",
        {
            "trace": {
                "trace_info": TRACE
                | {"trace_id": HUGE[:250], "trace_metadata": {"mlflow.sourceRun": WIDE[:250], WIDE[:250]: "v"}}
            }
        },
    ),
]


def test_the_longest_that_is_taken_fits(shared_server: Server) -> None:
    session, c = opened(shared_server)
    for number, (path, body) in enumerate(LONGEST):
        c.post(f"{number} {path}", path, body)
    answers = session.play(c)
    session.close()
    assert {name: answer.status for name, answer in answers.items() if answer.status != 200} == {}


@pytest.mark.parametrize("kind", ["name", "attribute", "tag", "session", "resource"])
def test_spans_with_nuls_are_kept(kind: str, shared_server: Server) -> None:
    number = ["name", "attribute", "tag", "session", "resource"].index(kind)
    trace = f"{number + 1:032x}"

    def text(key: str, odd: bool) -> Json:
        return {"key": key, "value": {"stringValue": "a\0b" if odd else "ab"}}

    span = {
        "traceId": trace,
        "spanId": "00000000000000ab",
        "name": "n\0" if kind == "name" else "n",
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000",
        "attributes": [
            text("mlflow.spanInputs", kind == "attribute"),
            text("mlflow.traceTag.t", kind == "tag"),
            text("session.id", kind == "session"),
        ],
    }
    resource = {"attributes": [text("service.name", kind == "resource")]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    session, c = opened(shared_server)
    c.post("spans", "/v1/traces", body, headers={"x-mlflow-experiment-id": "0", "Content-Type": "application/json"})
    c.get("trace", "/api/3.0/mlflow/traces/get", {"trace_id": f"tr-{trace}"})
    answers = session.play(c)
    session.close()
    assert answers["spans"].status == 200, answers["spans"]
    assert answers["trace"].status == 200, answers["trace"]
    assert len(answers["trace"].body["trace"]["spans"]) == 1

"""Traces: spans by decorator and by hand, search, tags, deletion, and the run that they belong to."""

import json
import os
import time
import urllib.request

import mlflow

NAME = os.environ["TEST_NAME"]
THREE = mlflow.__version__.startswith("3.")

experiment = mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()


@mlflow.trace(span_type="TOOL", attributes={"kind": "adder"})
def add(a: int, b: int) -> int:
    with mlflow.start_span("inner") as span:
        span.set_inputs({"a": a, "b": b})
        span.set_attribute("depth", 2)
        span.add_event(mlflow.entities.SpanEvent("half way"))
        span.set_outputs(a + b)
    return a + b


@mlflow.trace
def fail() -> None:
    raise ValueError("as planned")


with mlflow.start_run() as run:
    assert add(1, 2) == 3
time.sleep(0.005)  # traces are ordered by the millisecond
assert add(3, 4) == 7
time.sleep(0.005)
try:
    fail()
except ValueError:
    pass
if THREE:
    mlflow.flush_trace_async_logging()


def search(text: str = "", **options: object) -> list:
    """Asynchronous logging may still be under way."""
    options = {"order_by": ["timestamp_ms ASC"]} | options
    where = {"locations": [experiment.experiment_id]} if THREE else {"experiment_ids": [experiment.experiment_id]}
    return list(client.search_traces(**where, filter_string=text or None, **options))


deadline = time.monotonic() + 20
while len(search()) < 3 and time.monotonic() < deadline:
    time.sleep(0.05)
traces = search()
assert len(traces) == 3
trace = traces[0]
identity = trace.info.trace_id if THREE else trace.info.request_id
spans = {span.name: span for span in trace.data.spans}
assert set(spans) == {"add", "inner"}
assert spans["inner"].parent_id == spans["add"].span_id
assert spans["inner"].inputs == {"a": 1, "b": 2}
assert spans["inner"].outputs == 3
assert spans["inner"].get_attribute("depth") == 2
assert [event.name for event in spans["inner"].events] == ["half way"]
assert spans["add"].span_type == "TOOL"
assert spans["add"].attributes["kind"] == "adder"
assert (
    spans["add"].start_time_ns <= spans["inner"].start_time_ns <= spans["inner"].end_time_ns <= spans["add"].end_time_ns
)

failed = traces[2]
status = failed.info.state if THREE else failed.info.status
assert str(status).endswith("ERROR")
assert failed.data.spans[0].status.status_code.value == "ERROR" or "ERROR" in str(failed.data.spans[0].status)

whole = client.get_trace(identity)
assert {span.name for span in whole.data.spans} == {"add", "inner"}
ids = [t.info.trace_id if THREE else t.info.request_id for t in traces]


def found(text: str) -> list[int]:
    return [ids.index(t.info.trace_id if THREE else t.info.request_id) for t in search(text)]


if os.environ.get("TEST_STORAGE") != "peer":  # Corral shows a run's spans as its phases, whichever way they came
    with urllib.request.urlopen(f"{mlflow.get_tracking_uri()}/api/corral/v1/runs/{run.info.run_id}/phases") as answer:
        phases = {phase["name"]: phase for phase in json.load(answer)["phases"]}
    assert set(phases) == {"add", "inner"}
    assert phases["inner"]["parent"] == phases["add"]["id"]
    assert phases["add"]["attributes"]["trace_id"] == identity

client.set_trace_tag(identity, "colour", "red")
assert found("tags.colour = 'red'") == [0]
assert found("status = 'ERROR'") == [2]
assert found("status = 'OK'") == [0, 1]
assert found("name = 'fail'") == [2]
assert found(f"run_id = '{run.info.run_id}'") == [0]
assert [t.info.timestamp_ms for t in search(max_results=1)] == [trace.info.timestamp_ms]
client.delete_trace_tag(identity, "colour")
assert found("tags.colour = 'red'") == []

by_hand = {"trace_ids": [identity]} if THREE else {"request_ids": [identity]}
assert client.delete_traces(experiment.experiment_id, **by_hand) == 1
assert len(search()) == 2
assert client.delete_traces(experiment.experiment_id, max_timestamp_millis=int(time.time() * 1000) + 1000) == 2
assert search() == []

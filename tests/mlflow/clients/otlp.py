"""Spans by OpenTelemetry's own protocol, protobuf and JSON, plain and compressed; read back by MLflow's client."""

import gzip
import json
import os
import secrets
import time

import mlflow
import requests
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

NAME = os.environ["TEST_NAME"]
URL = os.environ["MLFLOW_TRACKING_URI"] + "/v1/traces"

experiment = mlflow.set_experiment(NAME)
client = mlflow.MlflowClient()


def request(service: str) -> tuple[str, ExportTraceServiceRequest]:
    """A trace of two spans, as an exporter sends it."""
    trace_id = secrets.token_bytes(16)
    root, child = secrets.token_bytes(8), secrets.token_bytes(8)
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add()
    spans.resource.attributes.add(key="service.name").value.string_value = service
    scope = spans.scope_spans.add()
    now = time.time_ns()  # traces are ordered by the millisecond
    time.sleep(0.005)
    for name, span_id, parent in (("root", root, b""), ("child", child, root)):
        span = scope.spans.add(name=name, trace_id=trace_id, span_id=span_id, parent_span_id=parent, kind=1)
        span.start_time_unix_nano, span.end_time_unix_nano = now, now + 5_000_000
        span.attributes.add(key="depth").value.int_value = 2 if parent else 1
    return f"tr-{trace_id.hex()}", message


def with_hex_ids(message: ExportTraceServiceRequest) -> dict:
    """OpenTelemetry's JSON has identifiers in hexadecimal, where protobuf's has base64."""
    body = MessageToDict(message)
    for span, proto in zip(
        body["resourceSpans"][0]["scopeSpans"][0]["spans"], message.resource_spans[0].scope_spans[0].spans, strict=True
    ):
        span["traceId"], span["spanId"] = proto.trace_id.hex(), proto.span_id.hex()
        if "parentSpanId" in span:
            span["parentSpanId"] = proto.parent_span_id.hex()
    return body


def send(body: bytes, kind: str, **headers: str) -> None:
    named = {"Content-Type": kind, "X-Mlflow-Experiment-Id": experiment.experiment_id} | headers
    answer = requests.post(URL, data=body, headers=named, timeout=20)
    assert answer.status_code == 200, (answer.status_code, answer.text)


sent = {}
sent["proto"], message = request("proto")
send(message.SerializeToString(), "application/x-protobuf")
sent["gzip"], message = request("gzip")
send(gzip.compress(message.SerializeToString()), "application/x-protobuf", **{"Content-Encoding": "gzip"})
sent["json"], message = request("json")
send(json.dumps(with_hex_ids(message)).encode(), "application/json")

deadline = time.monotonic() + 20
traces = []
while len(traces) < 3 and time.monotonic() < deadline:
    traces = client.search_traces(locations=[experiment.experiment_id], order_by=["timestamp_ms ASC"])
assert [t.info.trace_id for t in traces] == list(sent.values())
for trace in traces:
    spans = {span.name: span for span in trace.data.spans}
    assert set(spans) == {"root", "child"}
    assert spans["child"].parent_id == spans["root"].span_id
    assert spans["child"].attributes["depth"] == 2
    assert spans["root"].end_time_ns - spans["root"].start_time_ns == 5_000_000

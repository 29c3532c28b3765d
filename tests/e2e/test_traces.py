"""Spans over HTTP: OTLP with gzip, radT's batches, and what `export` and `show` make of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Postgres, programs
from support import Corral, Json

TRACE = "0102030405060708090a0b0c0d0e0f10"
FILES = "/api/2.0/mlflow-artifacts/artifacts/"
SECOND = 1_000_000_000


class Client:
    def __init__(self, corral: Corral) -> None:
        self.corral = corral

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self.corral.connection()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def post(self, path: str, message: Json) -> Json:
        status, body = self.send("POST", path, json.dumps(message).encode(), {"Content-Type": "application/json"})
        assert status == 200, body
        return json.loads(body)

    def run(self) -> str:
        made = self.post("/api/2.0/mlflow/runs/create", {"experiment_id": "0", "run_name": "traced", "start_time": 1})
        return str(made["run"]["info"]["run_id"])

    def end(self, run: str) -> None:
        self.post("/api/2.0/mlflow/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 9_000})

    def otlp(self, spans: list[Json], run: str) -> int:
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "loader"}}]}
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
        headers = {
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "X-Mlflow-Experiment-Id": "0",
            "X-Mlflow-Run-Id": run,
        }
        return self.send("POST", "/v1/traces", gzip.compress(json.dumps(request).encode()), headers)[0]

    def put(self, run: str, name: str, content: bytes) -> None:
        assert self.send("PUT", f"{FILES}0/{run}/artifacts/radt-trace/{name}", content, {})[0] == 200

    def phases(self, run: str) -> dict[str, Json]:
        return {phase["name"]: phase for phase in self.corral.get(f"/api/corral/v1/runs/{run}/phases")["phases"]}


@pytest.fixture(params=["sqlite", "postgres"])
def client(request: pytest.FixtureRequest, corral: Corral) -> Iterator[Client]:
    server = None
    if request.param == "postgres":
        bin_ = programs()
        if bin_ is None:
            pytest.skip("PostgreSQL is not installed")
        server = Postgres(bin_)
        corral.use_database(server.url("postgres", "postgres"))
    try:
        corral.serve("--artifacts", corral.home / "files")
        yield Client(corral)
    finally:
        corral.close()
        if server is not None:
            server.close()


def span(number: int, parent: int, begin: int, end: int) -> Json:
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span-{number}",
        "kind": 3,
        "startTimeUnixNano": str(begin * SECOND),
        "endTimeUnixNano": str(end * SECOND),
    }


def lines(*records: Json) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_spans_of_an_exporter_become_phases(client: Client) -> None:
    corral = client.corral
    run = client.run()
    for _ in range(2):  # an exporter that heard nothing sends again
        assert client.otlp([span(1, 0, 10, 20), span(2, 1, 11, 15)], run) == 200
    phases = client.phases(run)
    assert sorted(phases) == ["span-1", "span-2"]
    assert phases["span-2"]["parent"] == phases["span-1"]["id"]
    assert (phases["span-2"]["lane"], phases["span-2"]["kind"]) == ("loader", "io")
    assert phases["span-2"]["start_ns"] == str(11 * SECOND)
    found = client.post(
        "/api/3.0/mlflow/traces/search",
        {
            "locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}],
            "filter": f"attributes.run_id = '{run}'",
        },
    )
    assert [trace["trace_id"] for trace in found["traces"]] == [f"tr-{TRACE}"]
    whole = corral.get(f"/api/3.0/mlflow/traces/batchGet?trace_ids=tr-{TRACE}")["traces"][0]
    assert [span["name"] for span in whole["spans"]] == ["span-1", "span-2"]
    client.end(run)
    corral("show", run, "--check-trace")
    assert client.otlp([span(3, 77, 12, 30)], run) == 200
    report = json.loads(corral("show", run, "--check-trace", "--format", "json", status=1).stdout)
    assert (report["phases"], report["unknown_parents"], report["overlaps"], report["ok"]) == (3, 1, 1, False)
    removal = {"experiment_id": "0", "request_ids": [f"tr-{TRACE}"]}
    assert client.post("/api/3.0/mlflow/traces/delete-traces", removal) == {"traces_deleted": 1}
    assert client.post("/api/3.0/mlflow/traces/delete-traces", removal) == {"traces_deleted": 0}


def test_radts_batches_become_phases_as_they_arrive(client: Client) -> None:
    corral = client.corral
    run = client.run()
    first = lines(
        ["s", 1, None, 1, "epoch", {"thread_id": 7}, 10 * SECOND],
        ["s", 2, 1, 1, "batch", {"thread_id": 7, "n": 5}, 11 * SECOND],
        ["e", 2, 12 * SECOND],
    )
    client.put(run, "spans-000001.jsonl.gz", gzip.compress(first))
    phases = client.phases(run)
    assert phases["epoch"]["end_ns"] is None
    assert phases["batch"]["attributes"] == {"thread_id": 7, "n": 5}
    assert phases["batch"]["lane"] == "radt/thread 7"
    # The end comes in another batch, which a kill cut short.
    cut = gzip.compress(lines(["e", 1, 20 * SECOND]) + bytes(range(256)) * 1000)
    client.put(run, "spans-000002.jsonl.gz", cut[: len(cut) // 2])
    client.put(run, "spans-000003.jsonl.gz", b"no gzip")
    assert client.phases(run)["epoch"]["end_ns"] == str(20 * SECOND)
    # Lines that waited in a spool for a server arrive by the native interface.
    late = gzip.compress(lines(["s", 3, None, 1, "late", None, 30 * SECOND], ["e", 3, 31 * SECOND]))
    path = f"/api/corral/v1/runs/{run}/artifacts/radt-trace/spans-000004.jsonl.gz"
    assert client.send("PUT", path, late, {})[0] == 200
    assert client.phases(run)["late"]["end_ns"] == str(31 * SECOND)
    client.end(run)
    assert b"manifest.json is not there" in corral("show", run, "--check-trace", status=1).stdout
    manifest = {"schema_version": 1, "batches": ["spans-000001.jsonl.gz", "spans-000002.jsonl.gz"]}
    client.put(run, "manifest.json", json.dumps(manifest).encode())
    corral("show", run, "--check-trace")


def test_a_trace_for_perfetto(client: Client, tmp_path: Path) -> None:
    corral = client.corral
    run = client.run()
    assert client.otlp([span(1, 0, 10, 20), span(2, 1, 11, 15)], run) == 200
    metric = {"run_id": run, "key": "loss", "value": 0.5, "timestamp": 12_000}
    client.post("/api/2.0/mlflow/runs/log-metric", metric)
    file = tmp_path / "run.pftrace"
    corral("export", run, "--format", "perfetto", "--output", file)
    content = file.read_bytes()
    for text in (b"span-1", b"span-2", b"loader", b"loss", b"traced"):
        assert text in content
    assert content[:1] == b"\x0a"
    assert b"one run" in corral("export", run, run, "--format", "perfetto", status=2).stderr

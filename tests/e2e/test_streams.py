"""Metrics that arrive by themselves: OpenTelemetry, the statsd address, events of pressure."""

from __future__ import annotations

import os
import time

import pytest
from support import PYTHON, Corral, Json, until

GAP_S = 10  # between events of one name
EXPORTER = """
    import gzip, json, os, socket, urllib.error, urllib.request
    host, port = os.environ["CORRAL_STATSD"].rsplit(":", 1)
    statsd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    statsd.sendto(b"samples:32|c", (host, int(port)))
    assert os.environ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"] == "http/protobuf"

    def post(body, packed=False):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if packed:
            data, headers["Content-Encoding"] = gzip.compress(data), "gzip"
        url = os.environ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]
        request = urllib.request.Request(url, data=data, headers=headers)
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            return error.code

    def metric(name, **kind):
        return {"resourceMetrics": [{"resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "train"}}]},
            "scopeMetrics": [{"metrics": [{"name": name, "unit": "s", **kind}]}]}]}

    ranks = [{"key": "rank", "value": {"intValue": str(r)}} for r in (0, 1)]
    points = [{"asDouble": 0.5 + r, "attributes": [ranks[r]]} for r in (0, 1)]
    print("gauge", post(metric("step.time", gauge={"dataPoints": points})))
    for _ in range(3):
        total = {"isMonotonic": True, "aggregationTemporality": 1, "dataPoints": [{"asInt": "5"}]}
        print("sum", post(metric("tokens", sum=total), packed=True))
    print("bad", post(b"{"))
"""


def test_exporters_find_the_run(corral: Corral) -> None:
    script = corral.script("export.py", EXPORTER)
    corral.configure('[otlp.app]\n[statsd]\nlisten = "127.0.0.1:0"\n')
    done = corral("run", "--", PYTHON, "-S", script)
    assert done.stdout.decode().split("\n")[:5] == [
        "gauge 200",
        "sum 200",
        "sum 200",
        "sum 200",
        "bad 400",
    ]
    assert done.stderr.decode().count("source otlp.app: was sent what is not understood") == 1, done.stderr
    corral.wait_ended()
    points = corral.points()
    assert [p.value for p in points if (p.metric, p.source) == ("step.time", "rank=0")] == [0.5]
    assert [p.value for p in points if (p.metric, p.source) == ("step.time", "rank=1")] == [1.5]
    assert [p.value for p in points if p.metric == "tokens"] == [5, 10, 15]
    assert [p.value for p in points if p.metric == "samples"] == [32]
    metrics = {m["name"]: m for m in corral.json("ls", "metrics", "@1")}
    assert (metrics["tokens"]["kind"], metrics["tokens"]["unit"]) == ("counter", "s")


ATTACKER = """
    import os, socket, sys, urllib.parse
    for name in ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "MLFLOW_TRACKING_URI"):
        url = urllib.parse.urlsplit(os.environ[name])
        for path in (url.path or "/", url.path + "/api/2.0/mlflow/runs/log-batch"):
            with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
                connection.sendall(
                    f"POST {path} HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
                    "Transfer-Encoding: chunked\\r\\n\\r\\n2\\r\\n{}\\r\\n0\\r\\nX-A: ".encode()
                    + b"x" * 65600 + b"\\r\\n\\r\\n"
                )
                print(connection.recv(9).decode(), flush=True)
    sys.exit(7)
"""


def test_a_request_that_breaks_the_parser_ends_no_supervisor(corral: Corral) -> None:
    script = corral.script("attack.py", ATTACKER)
    corral.configure("[otlp.app]\n")
    done = corral("run", "--", PYTHON, "-S", script, status=7)
    assert done.stdout.decode().split("\n")[:4] == ["HTTP/1.1 "] * 4
    assert [run["status"] for run in corral.runs()] == ["failed"]


def test_pressure_is_an_event_of_the_run(corral: Corral) -> None:
    corral.configure('[pressure]\nresources = ["cpu"]\nstall = "20ms"\nwindow = "500ms"\n')
    watched = [line for line in corral.json("doctor", "--listeners") if line["listener"] == "events"]
    if not any(line["metric"].startswith("cpu pressure: ") for line in watched):
        pytest.skip(f"no triggers of PSI here: {watched}")
    burners = 2 * (os.cpu_count() or 1) + 1
    enough = corral.home / "enough"
    began = time.monotonic()
    burn = f"for i in $(seq {burners}); do while [ ! -e {enough} ]; do :; done & done; wait"
    run = corral.start("run", "sh", "-c", burn)

    def events() -> list[Json]:
        return [e for e in corral.events(pressure=True) if e["name"] == "cpu pressure"]

    try:
        until(
            lambda: corral.server_pid() and corral("show", "@1", status=None).returncode == 0 and events(),
            "the kernel tells of a stall",
        )
    finally:
        enough.touch()
    _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert len(events()) <= 2 + (time.monotonic() - began) / GAP_S, "and tells them at a bounded pace"
    first = events()[0]
    assert first["origin"] == "corral"
    assert first["attributes"]["count"] == 1
    assert first["attributes"]["threshold"].startswith("some ")
    assert first["attributes"]["stalled_seconds"] > 0.01

"""Prometheus in front of Corral: a real one asks through its remote read, and must answer what was logged."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PYTHON, Corral, Json, free_port, until

LOGS = """
import corral, time
values = []
for n in range(60):
    values.append(((n * 37) % 50) / 10)
    corral.log("train/loss", values[-1])
    time.sleep(0.02)
"""


class Prometheus:
    def __init__(self, home: Path, config: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        home.mkdir()
        (home / "prometheus.yml").write_text(config)
        command = ["prometheus", f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/data"]
        listen = f"--web.listen-address={self.url.removeprefix('http://')}"
        self.log = (home / "log").open("wb")
        self.process = subprocess.Popen([*command, listen], stdout=self.log, stderr=subprocess.STDOUT)
        until(self.ready, "Prometheus is ready")

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5) as answer:
                return int(answer.status) == 200
        except OSError:
            return False

    def ask(self, path: str, **query: Any) -> Json:
        address = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            told: Json = json.loads(answer.read())
        assert told["status"] == "success", told
        return told

    def value(self, query: str, at: float) -> dict[str, float]:
        """By the run's name."""
        found = self.ask("query", query=query, time=at)["data"]["result"]
        return {one["metric"].get("run_name", ""): float(one["value"][1]) for one in found}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def prometheus(corral: Corral) -> Iterator[Callable[..., Prometheus]]:
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")
    started: list[Prometheus] = []

    def start(*options: str) -> Prometheus:
        lines = ["global:", "  external_labels: {cluster: lab}", "remote_read:"]
        lines += [f"  - url: {corral.url()}/prom/api/v1/read", "    read_recent: true"]
        lines += ["    filter_external_labels: false", *options]
        started.append(Prometheus(corral.home / f"prometheus{len(started)}", "\n".join(lines) + "\n"))
        return started[-1]

    yield start
    for one in started:
        one.close()


def points_of(corral: Corral, run: str) -> list[tuple[int, float]]:
    """Milliseconds and values; of a millisecond the last."""
    lines = corral("export", run, "--metric", "train/loss", "--format", "jsonl").stdout.decode().splitlines()
    by_ms = {int(point["time_ns"]) // 1_000_000: float(point["value"]) for point in map(json.loads, lines)}
    return sorted(by_ms.items())


def test_it_answers_what_was_logged(corral: Corral, prometheus: Callable[..., Prometheus]) -> None:
    script = corral.script("train.py", LOGS)
    for name in ("otter", "lynx"):
        corral("run", "--quiet", "--experiment", "vision/net", "--name", name, str(PYTHON), str(script))
    corral.wait_ended()
    server = prometheus()
    points = points_of(corral, "otter")
    first, last = points[0][0] / 1000, points[-1][0] / 1000
    loss = 'train_loss{run_name="otter"}'
    step = 0.05
    answer = server.ask("query_range", query=loss, start=first, end=last, step=step)["data"]["result"]
    assert len(answer) == 1
    assert answer[0]["metric"]["experiment"] == "vision/net"
    told = [(round(float(at) * 1000), float(value)) for at, value in answer[0]["values"]]
    assert len(told) > 20
    assert told == [(at, [value for ms, value in points if ms <= at][-1]) for at, _ in told]
    values = [value for _, value in points]
    end = last + 0.001
    for function, expected in (
        ("count", len(values)),
        ("sum", sum(values)),
        ("min", min(values)),
        ("max", max(values)),
        ("avg", sum(values) / len(values)),
    ):
        got = server.value(f"{function}_over_time({loss}[1m])", end)
        assert got == {"otter": pytest.approx(expected)}, function
    both = server.value(
        'max by (run_name) (train_loss{experiment="vision/net"})', points_of(corral, "lynx")[-1][0] / 1000
    )
    assert set(both) == {"otter", "lynx"}
    assert set(server.value('train_loss{run_name=~"ot.*",run_name!="x"}', end)) == {"otter"}
    assert server.value('train_loss{run_name="tter"}', end) == {}
    hardware = server.ask("series", **{"match[]": '{run_name="otter"}', "start": first - 5, "end": end})["data"]
    names = {one["__name__"] for one in hardware}
    assert "train_loss" in names
    assert {name.split("_")[0] for name in names} >= {"train", "run", "host"}, names
    ratio = server.value(f"count_over_time({loss}[1m]) / count_over_time({loss}[1m])", end)
    assert ratio == {"otter": 1}
    assert set(server.value('{corral_metric="train/loss"}', end)) >= {"otter"}
    refused = server.ask("query", query='{source="x"}', time=end)
    assert "name a metric, or give a label run, run_name, experiment or workload" in json.dumps(refused["warnings"])


def test_it_sees_what_the_user_of_its_token_sees(corral: Corral, prometheus: Callable[..., Prometheus]) -> None:
    corral.serve("--auth", "users")
    files = {}
    for name, role in (("ada", "admin"), ("bob", "reader"), ("eve", "reader")):
        corral("user", "add", name, "--role", role)
        files[name] = corral.home / f"{name}.token"
        files[name].write_bytes(corral("token", "add", name).stdout)
        files[name].chmod(0o600)
    corral("space", "add", "vision", "--member", "bob")
    script = corral.script("train.py", LOGS)
    corral(
        "run", "--quiet", "--no-listeners", "--experiment", "vision/net", "--name", "otter", str(PYTHON), str(script)
    )
    corral.wait_spool_empty()
    end = points_of(corral, "otter")[-1][0] / 1000
    seen = {}
    for name in ("bob", "eve"):
        server = prometheus(f"    authorization: {{credentials_file: {files[name]}}}")
        seen[name] = set(server.value('{__name__="train_loss"}', end))
    assert seen == {"bob": {"otter"}, "eve": set()}
    stranger = prometheus().ask("query", query="train_loss", time=end)
    assert "401" in json.dumps(stranger["warnings"])

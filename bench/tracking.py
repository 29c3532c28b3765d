"""MLflow's interface: the same requests to Corral and to MLflow 3.17.2's server on SQLite, one after the other.

Requests over plain sockets come from one thread of corral_bench_tracking, whatever the number of connections: it takes
little from the server's processors. "Per CPU-second" counts what the server's processes used. The Python client's
figures are mlflow 3.17.2's own client, so that they hold its cost, too.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from figures import Figure, Peer
from home import Home
from store_peers import PYTHON

import store

API = "/api/2.0/mlflow/"
CONNECTIONS = 8
BATCH = 1000

# Prints seconds by name; run with mlflow's client.
CLIENT = """
import json, sys, time
import mlflow
from mlflow.entities import Metric
url, singles, batches, history = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
mlflow.set_tracking_uri(url)
client = mlflow.MlflowClient()
run = client.create_run("0").info.run_id
def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
def one_by_one():
    for i in range(singles):
        client.log_metric(run, "loss", 1.0 / (i + 1), timestamp=1_790_000_000_000 + i, step=i)
def in_batches():
    for b in range(batches):
        client.log_batch(run, [Metric(f"m{k}", 0.5 * k, 1_790_000_000_000 + b, b) for k in range(1000)])
out = {"log_metric": timed(one_by_one), "log_batch": timed(in_batches)}
if history:
    out["history"] = timed(lambda: len(client.get_metric_history(history, "long")))
print(json.dumps(out))
"""


@dataclass(frozen=True)
class Size:
    singles: int
    client_batches: int
    raw_batches: int  # on each connection
    creates: int  # on each connection
    gets: int  # from one connection, in a row
    runs: int  # beside the 300 that are searched first
    history: int = 100_000


CORRAL = Size(singles=1500, client_batches=40, raw_batches=120, creates=500, gets=50, runs=9_700)
PEER = Size(singles=60, client_batches=8, raw_batches=2, creates=4, gets=5, runs=0)
QUICK = Size(singles=100, client_batches=3, raw_batches=5, creates=10, gets=5, runs=100, history=5_000)


@dataclass
class Server:
    url: str
    pid: int
    started_s: float

    def processes(self) -> list[int]:
        """The server and its children, whose session it leads."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.pid:
                found.append(int(stat.parent.name))
        return found

    def cpu_s(self) -> float:
        total = 0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def memory_mib(self) -> float:
        """Shared pages are counted by share."""
        total = 0
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024


class Client:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
        self.used = time.monotonic()

    def __call__(self, method: str, path: str, body: bytes | None = None) -> bytes:
        if time.monotonic() - self.used > 2:  # MLflow's server closes idle connections after five
            self.connection.close()
        self.used = time.monotonic()
        self.connection.request(method, API + path, body, {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        answer = reply.read()
        assert reply.status == 200, (path, answer[:300])
        return answer

    def post(self, path: str, **fields: Any) -> Any:
        return json.loads(self("POST", path, json.dumps(fields).encode()))

    def new_run(self, name: str = "r") -> str:
        made = self.post("runs/create", experiment_id="0", start_time=1_790_000_000_000, run_name=name)
        return str(made["run"]["info"]["run_id"])


def wait_for(url: str, began: float) -> float:
    while True:
        try:
            Client(url)("GET", "experiments/get?experiment_id=0")
            return time.perf_counter() - began
        except (OSError, AssertionError, http.client.HTTPException):
            if time.perf_counter() - began > 120:
                raise
            time.sleep(0.002)


@contextmanager
def running(command: list[str | Path], url: str, directory: Path, environment: dict[str, str]) -> Iterator[Server]:
    with (directory / "log").open("wb") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, cwd=directory, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield Server(url, process.pid, wait_for(url, began))
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def send(build: Path, server: Server, part: str, token: str = "", **flags: int | str) -> dict[str, float]:
    """Sends requests with corral_bench_tracking, with that token, and returns its figures."""
    command = [str(build / "bench" / "corral_bench_tracking"), part, "--port", str(urlsplit(server.url).port)]
    for name, value in flags.items():
        command += [f"--{name}", str(value)]
    environment = os.environ | ({"CORRAL_BENCH_TOKEN": token} if token else {})
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def median_ms(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] * 1e3


def long_history(client: Client, points: int) -> str:
    run = client.new_run("long")
    for first in range(0, points, BATCH):
        metrics = [
            {"key": "long", "value": 1 / (1 + step), "timestamp": 1_790_000_000_000 + step, "step": step}
            for step in range(first, first + BATCH)
        ]
        client.post("runs/log-batch", run_id=run, metrics=metrics)
    return run


def fill_runs(client: Client, first: int, count: int) -> None:
    for i in range(first, first + count):
        run = client.new_run(f"run-{i}")
        metrics = [{"key": f"m{k}", "value": (i * 7 + k) % 1000, "timestamp": 1, "step": 1} for k in range(20)]
        params = [{"key": f"p{k}", "value": str(i % 10)} for k in range(10)]
        client.post("runs/log-batch", run_id=run, metrics=metrics, params=params)


def settle(server: Server) -> None:
    """Until the server has done what it does with points behind the answers."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        before = server.cpu_s()
        time.sleep(1.5)
        if server.cpu_s() - before < 0.05:
            return


def measure(server: Server, size: Size, build: Path) -> dict[str, float]:
    client = Client(server.url)
    out = {"start_ms": server.started_s * 1e3, "memory": server.memory_mib()}
    singles = send(build, server, "singles", requests=size.singles)
    out["single"] = singles["requests"] / singles["seconds"]
    out["single_p50"], out["single_p99"] = singles["p50_ms"], singles["p99_ms"]
    cpu = server.cpu_s()
    batches = send(build, server, "batches", connections=CONNECTIONS, requests=size.raw_batches)
    points = batches["requests"] * BATCH
    out["raw"] = points / batches["seconds"]
    out["raw_cpu"] = points / max(server.cpu_s() - cpu, 0.01)
    creates = send(build, server, "creates", connections=CONNECTIONS, requests=size.creates)
    out["creates"] = creates["requests"] / 2 / creates["seconds"]
    settle(server)
    run = long_history(client, size.history)
    settle(server)
    page = f"{API}metrics/get-history?run_id={run}&metric_key=long&max_results=25000"
    out["page_ms"] = send(build, server, "get", path=page, requests=size.gets)["p50_ms"]
    interval = f"{API}metrics/get-history-bulk-interval?run_ids={run}&metric_key=long&max_results=320"
    out["interval_ms"] = send(build, server, "get", path=interval, requests=size.gets)["p50_ms"]
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    command = [str(PYTHON), "-c", CLIENT, server.url, str(size.singles), str(size.client_batches), run]
    done = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    out["log_metric"] = size.singles / done["log_metric"]
    out["client_batch"] = size.client_batches * BATCH / done["log_batch"]
    out["history_s"] = done["history"]
    return out


def search(server: Server, size: Size, _build: Path) -> dict[str, float]:
    """In an experiment of its own store: 300 runs whole, then all of them by a metric."""
    client = Client(server.url)
    fill_runs(client, 0, 300)
    everything = json.dumps({"experiment_ids": ["0"], "max_results": 300}).encode()
    out = {"search_300_ms": median_ms(lambda: client("POST", "runs/search", everything), 5)}
    if size.runs:
        fill_runs(client, 300, size.runs)
        some = {"experiment_ids": ["0"], "filter": "metrics.m3 < 5", "max_results": 100}
        body = json.dumps(some).encode()
        began = time.perf_counter()
        client("POST", "runs/search", body)
        out["search_first_ms"] = (time.perf_counter() - began) * 1e3
        out["search_all_ms"] = median_ms(lambda: client("POST", "runs/search", body), 9)
    return out


@contextmanager
def serving(build: Path, port: int, place: str = "") -> Iterator[Server]:
    """Corral's server on the named store, or on one of its own on disk."""
    with Home(build) as home:
        command: list[str | Path] = [home.binary, "serve", "--store", place or home.store]
        command += ["--listen", f"127.0.0.1:{port}"]
        with running(command, f"http://127.0.0.1:{port}", home.directory, home.environment) as server:
            yield server


def corral(build: Path, size: Size) -> dict[str, float]:
    out: dict[str, float] = {}
    for work in (measure, search):
        with serving(build, 5890) as server:
            out |= work(server, size, build)
    return out


def mlflow(build: Path, size: Size) -> dict[str, float]:
    out: dict[str, float] = {}
    for work in (measure, search):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "HOME": name}
            command = [PYTHON, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", "5891"]
            command += ["--backend-store-uri", f"sqlite:///{name}/mlflow.db", "--artifacts-destination", name]
            with running(command, "http://127.0.0.1:5891", directory, environment) as server:
                out |= work(server, size, build)
    return out


def figures(build: Path) -> list[Figure]:
    ours = corral(build, QUICK if store.quick else CORRAL)
    theirs = mlflow(build, QUICK if store.quick else PEER)

    def figure(what: str, key: str, unit: str, **target: float) -> Figure:
        peer = Peer("MLflow 3.17.2", theirs.get(key)) if key in theirs else None
        return Figure(what, ours[key], unit, peer=peer, **target)

    return [
        figure("log_metric, Python client, one thread", "log_metric", "calls/s", least=600),
        figure("log_metric, one connection", "single", "calls/s"),
        figure("the same, p50", "single_p50", "ms"),
        figure("the same, p99", "single_p99", "ms"),
        figure("log_batch of 1,000, Python client", "client_batch", "points/s", least=40_000),
        figure("log_batch of 1,000, 8 connections", "raw", "points/s"),
        figure("the same, of the server's CPU", "raw_cpu", "points/CPU-s", least=1_500_000),
        figure("create_run + log_batch(20 metrics, 10 params), 8 connections", "creates", "runs/s", least=2000),
        figure("get_metric_history of 100,000 points, Python client", "history_s", "s", target=1.3),
        figure("a page of 25,000 of them", "page_ms", "ms", target=15),
        figure("bulk interval, 320 of 100,000", "interval_ms", "ms", target=2),
        figure("search of 300 runs (20 metrics, 10 params)", "search_300_ms", "ms", target=15),
        figure("search of 10,000 runs by a metric", "search_all_ms", "ms", target=50),
        figure("the same for the first time", "search_first_ms", "ms"),
        figure("memory of the idle server", "memory", "MiB", target=40),
        figure("from start to first answer", "start_ms", "ms", target=100),
    ]

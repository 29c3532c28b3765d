"""Measures the cost of a log call: MLflow's client through the relay of `corral run`, and bare requests.

    python bench/relay.py --mlflow .venv-mlflow3/bin/python

Prints calls per second, latencies, and the CPU time of a call in the training and in the supervisor. `raw` is a
keep-alive connection without a client.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = Path(os.environ.get("CORRAL_BUILD", ROOT / "build" / "release")) / "corral"

FIGURES = r"""
import json, os, time
def supervisor_cpu():
    fields = open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
def measure(name, call, calls, points):
    cpu, own = supervisor_cpu(), time.process_time()
    times = sorted(call(i) for i in range(calls))
    cpu, own = supervisor_cpu() - cpu, time.process_time() - own
    print(json.dumps({"what": name, "calls_per_s": round(calls / sum(times)),
                      "points_per_s": round(calls * points / sum(times)),
                      "p50_ms": round(times[calls // 2] * 1e3, 3), "p99_ms": round(times[calls * 99 // 100] * 1e3, 3),
                      "max_ms": round(times[-1] * 1e3, 3), "own_cpu_us": round(own / calls * 1e6),
                      "supervisor_cpu_us": round(cpu / calls * 1e6)}))
"""

RAW = r"""
import http.client, urllib.parse
uri = urllib.parse.urlsplit(os.environ["MLFLOW_TRACKING_URI"])
connection = http.client.HTTPConnection(uri.hostname, uri.port)
run = os.environ["CORRAL_RUN_ID"]
def post(call, body):
    text = json.dumps({"run_id": run} | body)
    began = time.perf_counter()
    connection.request("POST", uri.path + "/api/2.0/mlflow/runs/" + call, text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    return time.perf_counter() - began
post("log-metric", {"key": "m", "value": 1, "timestamp": 1})
now = int(time.time() * 1000)
point = lambda i: {"key": "m", "value": i, "timestamp": now, "step": i}
measure("raw log-metric", lambda i: post("log-metric", point(i)), 3000, 1)
batch = lambda i: {"metrics": [{"key": f"k{k}", "value": k, "timestamp": now, "step": i} for k in range(1000)]}
measure("raw log-batch of 1,000", lambda i: post("log-batch", batch(i)), 100, 1000)
"""

CLIENT = r"""
import mlflow
def timed(call, *arguments, **named):
    began = time.perf_counter()
    call(*arguments, **named)
    return time.perf_counter() - began
with mlflow.start_run():
    mlflow.log_metric("m", 0)
    measure("client log_metric", lambda i: timed(mlflow.log_metric, "m", i, step=i), 1000, 1)
    values = {f"k{k}": float(k) for k in range(100)}
    measure("client log_metrics of 100", lambda i: timed(mlflow.log_metrics, values, step=i), 100, 100)
"""


def run(python: str, program: str, extra: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as home:
        script = Path(home) / "program.py"
        script.write_text(FIGURES + program)
        where = extra or ["--store", f"{home}/store"]
        command = [BINARY, "run", "--quiet", "--spool", f"{home}/spool", *where, python, script]
        subprocess.run(
            command,
            check=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("CORRAL_")}
            | {"HOME": home, "MLFLOW_DISABLE_TELEMETRY": "true"},
            cwd=home,
        )
        if not extra:
            subprocess.run([BINARY, "serve", "--store", f"{home}/store", "--stop"], check=False, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mlflow", help="a Python that has MLflow; without it only raw requests are measured")
    options = parser.parse_args()
    for where, extra in (("server up", []), ("server unreachable", ["--server", "http://127.0.0.1:9"])):
        print(json.dumps({"with": where}), flush=True)
        run(sys.executable, RAW, extra)
        if options.mlflow:
            run(str(Path(options.mlflow).absolute()), CLIENT, extra)


if __name__ == "__main__":
    main()

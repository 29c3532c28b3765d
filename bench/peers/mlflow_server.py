"""MLflow's tracking server on its own SQLite: log-batch of 1,000 metrics, and the history of one."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import Data, Report, free_port, http, main, peak_rss_mib, tree_cpu, wait_for

POINTS = 50_000
BATCH = 1000


def bodies(data: Data, run: str) -> list[bytes]:
    metrics = [
        {"key": name, "value": float(data.values[s, row]), "timestamp": int(data.times[row]) // 1_000_000, "step": row}
        for row in range(len(data.times))
        for s, name in enumerate(data.names)
    ]
    return [
        json.dumps({"run_id": run, "metrics": metrics[i : i + BATCH]}).encode() for i in range(0, len(metrics), BATCH)
    ]


def measure(data: Data) -> None:
    data = data.first(POINTS)
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        api = f"http://127.0.0.1:{port}/api/2.0/mlflow"
        environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "HOME": directory}
        command = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--workers",
            "1",
        ]
        command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{directory}/mlflow.db"]
        command += ["--artifacts-destination", directory]
        with (
            open(Path(directory) / "log", "wb") as log,
            subprocess.Popen(
                command, env=environment, cwd=directory, stdout=log, stderr=log, start_new_session=True
            ) as server,
        ):
            try:
                wait_for(f"http://127.0.0.1:{port}/health", server, 120)
                answer = http(f"{api}/runs/create", json.dumps({"experiment_id": "0", "start_time": 0}).encode())
                run = json.loads(answer)["run"]["info"]["run_id"]
                version = importlib.metadata.version("mlflow")
                report = Report("MLflow's server, log-batch", data.points, {"version": version})
                work = bodies(data, run)
                began, cpu = time.perf_counter(), tree_cpu(server.pid)
                for body in work:
                    http(f"{api}/runs/log-batch", body)
                report.wrote(time.perf_counter() - began, tree_cpu(server.pid) - cpu)
                path = f"{api}/metrics/get-history?run_id={run}&max_results=25000&metric_key="
                report.query("series", lambda i: http(path + data.names[i % len(data.names)]))
                report.facts |= {"series_points": len(data.times), "peak_rss_mib": peak_rss_mib(server.pid)}
                report.size(Path(directory) / "mlflow.db")
                report.print()
            finally:
                os.killpg(server.pid, signal.SIGTERM)


if __name__ == "__main__":
    main("MLflow's server, log-batch", measure)

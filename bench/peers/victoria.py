"""VictoriaMetrics (Debian's package): JSON import, range queries, size after a merge and a stop.

Its clock has milliseconds, and its import answers before anything is on disk: both make its work less than Corral's.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

from support import Data, Report, bytes_of, free_port, http, main, peak_rss_mib, skip, tree_cpu, wait_for

ROWS = 1000  # for each series in a request


def bodies(data: Data) -> list[bytes]:
    """All series, `ROWS` values a line."""
    times = (data.times // 1_000_000).tolist()
    out = []
    for first in range(0, len(times), ROWS):
        lines = []
        for s, name in enumerate(data.names):
            values = data.values[s, first : first + ROWS].tolist()
            line = {
                "metric": {"__name__": name, "run": "0"},
                "values": values,
                "timestamps": times[first : first + ROWS],
            }
            lines.append(json.dumps(line))
        out.append("\n".join(lines).encode())
    return out


def version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    packaged = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "victoria-metrics"], capture_output=True, text=True, check=False
    )
    return packaged.stdout.strip() or (done.stdout + done.stderr).strip().splitlines()[-1]


def measure(data: Data) -> None:
    program = shutil.which("victoria-metrics")
    if program is None:
        skip("VictoriaMetrics", "Debian's package victoria-metrics is not installed")
        return
    work = bodies(data)
    with tempfile.TemporaryDirectory() as directory:
        base = f"http://127.0.0.1:{(port := free_port())}"
        command = [program, f"-storageDataPath={directory}/data", "-retentionPeriod=100y"]
        command += [f"-httpListenAddr=127.0.0.1:{port}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                wait_for(f"{base}/health", server, 60)
                report = Report("VictoriaMetrics, JSON import", data.points, {"version": version(program)})
                began, cpu = time.perf_counter(), tree_cpu(server.pid)
                for body in work:
                    http(f"{base}/api/v1/import", body)
                report.wrote(time.perf_counter() - began, tree_cpu(server.pid) - cpu)
                report.facts["peak_rss_mib"] = peak_rss_mib(server.pid)
                http(f"{base}/internal/force_flush")
                time.sleep(1)
                queries(report, base, data)
                settle(Path(directory))
                http(f"{base}/internal/force_merge")
                settle(Path(directory))
            finally:
                server.send_signal(signal.SIGINT)
                server.wait()
        report.size(Path(directory) / "data")
        report.print()


def queries(report: Report, base: str, data: Data) -> None:
    def selector(i: int) -> str:
        return f'{{__name__="{data.names[i % len(data.names)]}"}}'

    def export(i: int) -> None:
        match = urllib.parse.urlencode({"match[]": selector(i), "start": start, "end": end})
        answers[:] = [http(f"{base}/api/v1/export?{match}")]

    def chart(i: int) -> None:
        query = f"max_over_time({selector(i)}[{step}s])"
        asked = urllib.parse.urlencode({"query": query, "start": start, "end": end, "step": step, "nocache": 1})
        http(f"{base}/api/v1/query_range?{asked}")

    start, end = data.times[0] / 1e9, data.times[-1] / 1e9 + 1
    step = max((end - start) / 1500, 0.1)
    answers: list[bytes] = []
    report.query("series", export)
    report.query("chart", chart)
    report.facts["series_points"] = len(json.loads(answers[0])["values"])


def settle(directory: Path) -> None:
    """Until the size has not changed for two seconds."""
    before, same = -1, 0
    while same < 4:
        time.sleep(0.5)
        now = bytes_of(directory)
        same = same + 1 if now == before else 0
        before = now


if __name__ == "__main__":
    main("VictoriaMetrics, JSON import", measure)

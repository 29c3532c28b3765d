"""Parts that every peer's program needs: the generated data, the cost of a server, and the line it prints.

Peers run in the benchmarks' own environment (tools/pip-bench-packages.txt), with bench/ on the PYTHONPATH. Each is
called as `PEER.py DATA`, DATA a folder of `corral_bench_store dump`; it prints one JSON object per variant, or why
there is none.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Data:
    """One run: `values[s]` of series `names[s]` at `times` (UTC, ns)."""

    names: list[str]
    times: Any
    values: Any

    @property
    def points(self) -> int:
        return int(self.values.size)

    def first(self, points: int) -> Data:
        rows = max(1, min(points // len(self.names), len(self.times)))
        return Data(self.names, self.times[:rows], self.values[:, :rows])


def load(directory: Path) -> Data:
    names = json.loads((directory / "names.json").read_text())
    times = np.fromfile(directory / "times.bin", dtype=np.int64)
    values = np.fromfile(directory / "values.bin", dtype=np.float64).reshape(len(names), len(times))
    return Data(names, times, values)


@dataclass
class Report:
    peer: str
    points: int
    facts: dict[str, Any] = field(default_factory=dict)

    def wrote(self, seconds: float, cpu: float) -> None:
        self.facts |= {"points_per_s": self.points / seconds, "points_per_cpu_s": self.points / max(cpu, 0.01)}

    def size(self, *paths: Path) -> None:
        self.facts["bytes_per_point"] = sum(bytes_of(path) for path in paths) / self.points

    def query(self, name: str, ask: Callable[[int], object], rounds: int = 20) -> None:
        took = []
        for i in range(rounds):
            began = time.perf_counter()
            ask(i)
            took.append((time.perf_counter() - began) * 1e3)
        self.facts[f"{name}_p50_ms"] = sorted(took)[len(took) // 2]

    def print(self) -> None:
        print(json.dumps({"peer": self.peer, "points": self.points} | self.facts), flush=True)


def skip(peer: str, reason: object) -> None:
    print(json.dumps({"peer": peer, "skipped": str(reason)}), flush=True)


def bytes_of(path: Path) -> int:
    """On disk, of a file or of everything below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and its descendants, those that ended included."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
            except OSError:
                continue
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            total += sum(map(int, _stat(one)[11:15])) / TICKS
        except OSError:
            continue
        waiting += children.get(one, [])
    return total


def peak_rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def http(url: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return bytes(answer.read())


def wait_for(url: str, process: subprocess.Popen[Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            http(url)
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"ended with status {process.returncode}") from None
            time.sleep(0.1)
    raise TimeoutError(f"no answer after {seconds:.0f} s")


def main(peer: str, measure: Callable[[Data], None]) -> None:
    try:
        measure(load(Path(sys.argv[1])))
    except Exception as error:  # a peer that fails here must not stop the others
        skip(peer, f"{type(error).__name__}: {error}")

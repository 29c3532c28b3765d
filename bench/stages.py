"""CPU time of ingest by stage: call stacks sampled by `perf`, for frames and for MLflow's log-batch.

A sample belongs to the innermost function of its stack that STAGES knows; the kernel's are named by their system call.
Needs Debian's linux-perf, and the right to use it (root, or kernel.perf_event_paranoid <= 1).
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Figure
from tracking import BATCH, CONNECTIONS, send, serving

import store

RATE = 997  # samples per second of CPU time; prime, so that nothing periodic hides
# The first pattern that fits; a library stands in brackets.
STAGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (stage, re.compile(pattern))
    for stage, pattern in (
        ("zstd", r"\[libzstd|ZSTD_|HUF_|FSE_"),
        ("SQLite", r"\[libsqlite3|sqlite3"),
        ("parse of JSON and HTTP", r"simdjson|parse_log|http::|beast::|asio::|wire::|JsonBudget"),
        ("pyramid", r"[Pp]yramid|bucket"),
        ("statistics", r"[Ss]tatistics|SeriesDelta|add_column|add_groups"),
        ("encode", r"codec::.*(encode|write|pack|[Ww]riter)|crc32c"),
        ("merge", r"merge|levels|SliceRows|gather"),
        ("row group", r"row_group|RowGroup"),
        ("decode", r"codec::.*(decode|sections|read|[Rr]eader)"),
        ("sealer", r"Sealer|seal|plan"),
        ("append", r"Ingest|ingest|Writer"),
        ("benchmark", r"corral::bench|FrameFileReader"),
    )
)


def samples(data: Path, pid: int) -> Iterator[list[str]]:
    """Stacks of a process, innermost first: "function [library]"."""
    command = ["perf", "script", "-i", str(data), "--pid", str(pid), "-F", "ip,sym,dso"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    line = re.compile(r"\s*[0-9a-f]+ (.*) \((.*)\)$")
    for block in text.split("\n\n"):
        stack = [f"{found[1]} [{Path(found[2]).name}]" for one in block.splitlines() if (found := line.match(one))]
        if stack:
            yield stack


def stage_of(stack: list[str]) -> str:
    for frame in stack:
        if "kernel" in frame:
            if call := re.match(r"__x64_sys_(\w+)", frame):
                return f"kernel: {call[1]}"
            if frame.startswith(("exc_page_fault", "asm_exc_page_fault")):
                return "kernel: page faults"
            continue
        for stage, pattern in STAGES:
            if pattern.search(frame):
                return stage
    return "other"


PERF = ["perf", "record", "--quiet", "-F", str(RATE), "-e", "cpu-clock", "--call-graph", "fp", "-o"]


def recorded(command: list[str], data: Path) -> tuple[int, str]:
    """Runs the command; gives its process and what it prints."""
    own = data.with_suffix(".pid")
    shell = ["sh", "-c", f'echo $$ >"{own}"; exec "$@"', "sh", *command]
    done = subprocess.run([*PERF, data, "--", *shell], check=True, capture_output=True, text=True)
    return int(own.read_text()), done.stdout


@contextmanager
def sampling(pid: int, data: Path) -> Iterator[None]:
    """Samples a process that runs already."""
    perf = subprocess.Popen([*PERF, data, "-p", str(pid)])
    try:
        while not data.exists() and perf.poll() is None:
            time.sleep(0.01)
        yield
    finally:
        perf.send_signal(signal.SIGINT)
        perf.wait()


def by_stage(data: Path, pid: int, points: float) -> list[tuple[str, float]]:
    """ns of CPU per point, the dearest stage first."""
    counts = Counter(stage_of(stack) for stack in samples(data, pid))
    counts.pop("benchmark", None)
    return [(stage, count / RATE / points * 1e9) for stage, count in counts.most_common()]


def table(what: str, stages: list[tuple[str, float]]) -> list[Figure]:
    whole = sum(ns for _, ns in stages)
    shown = [(stage, ns) for stage, ns in stages if ns >= 0.005 * whole]
    rest = whole - sum(ns for _, ns in shown)
    return [
        Figure(f"{what}: CPU of a point", whole, "ns"),
        *(Figure(f"  {stage} ({ns / whole:.0%})", ns, "ns") for stage, ns in [*shown, ("stages below 0.5 %", rest)]),
    ]


def of_frames(build: Path, work: Path) -> list[Figure]:
    seconds = "60" if store.quick else "1200"
    command = [str(build / "bench" / "corral_bench_store"), "ingest", "--seconds", seconds]
    pid, printed = recorded(command, work / "frames.data")
    return table("frames, 4 runs x 500 series", by_stage(work / "frames.data", pid, json.loads(printed)["points"]))


def of_batches(build: Path, work: Path) -> list[Figure]:
    requests = 20 if store.quick else 400
    data = work / "batches.data"
    with serving(build, 5894) as server:
        with sampling(server.pid, data):
            send(build, server, "batches", connections=CONNECTIONS, requests=requests)
        stages = by_stage(data, server.pid, CONNECTIONS * requests * BATCH)
    return table("MLflow's log-batch of 1,000", stages)


def figures(build: Path) -> list[Figure]:
    if shutil.which("perf") is None:
        print("  no figures: perf is not installed (Debian: linux-perf)")
        return []
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as work:
        return [*of_frames(build, Path(work)), *of_batches(build, Path(work))]

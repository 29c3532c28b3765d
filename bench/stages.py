"""CPU time and written bytes of ingest by stage, for frames and for MLflow's log-batch.

CPU time is that of call stacks sampled by `perf`. A sample belongs to the innermost function of its stack that STAGES
knows; the kernel's are named by their system call. Needs Debian's linux-perf, and the right to use it (root, or
kernel.perf_event_paranoid <= 1).

Written bytes are those of SQLite's writes, seen by `strace`. In its log a transaction belongs to a stage with all its
pages: most pages change hands too often to tell by them.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
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


def table(what: str, stages: list[tuple[str, float]], unit: str) -> list[Figure]:
    whole = sum(cost for _, cost in stages)
    shown = [(stage, cost) for stage, cost in stages if cost >= 0.005 * whole]
    rest = whole - sum(cost for _, cost in shown)
    rows = [*shown, ("stages below 0.5 %", rest)]
    return [
        Figure(f"{what} of a point", whole, unit),
        *(Figure(f"  {stage} ({cost / whole:.0%})", cost, unit) for stage, cost in rows),
    ]


def of_frames(build: Path, work: Path) -> list[Figure]:
    seconds = "60" if store.quick else "1200"
    command = [str(build / "bench" / "corral_bench_store"), "ingest", "--seconds", seconds]
    pid, printed = recorded(command, work / "frames.data")
    return table(
        "frames, 4 runs x 500 series: CPU",
        by_stage(work / "frames.data", pid, json.loads(printed)["points"]),
        "ns",
    )


def of_batches(build: Path, work: Path) -> list[Figure]:
    requests = 20 if store.quick else 400
    data = work / "batches.data"
    with serving(build, 5894) as server:
        with sampling(server.pid, data):
            send(build, server, "batches", connections=CONNECTIONS, requests=requests)
        stages = by_stage(data, server.pid, CONNECTIONS * requests * BATCH)
    return table("MLflow's log-batch of 1,000: CPU", stages, "ns")


# The calls of SQLite that write, with the eight first bytes: in the header of a page in the log, the page's number, and
# in the last header of a transaction the size of the database.
STRACE = ["strace", "-f", "-y", "--seccomp-bpf", "-xx", "-s", "8", "-e", "trace=pwrite64", "-o"]
WRITE = re.compile(r'pwrite64\(\d+<(\S+)>, "(\S+)"\.*, (\d+),')
PAGE_HEADER = 24  # bytes
# The stage of a transaction by a table that it changes: one whose pages have no other owner before or after.
WRITING = (("points of frames", "sessions"), ("points to blocks", "series"))


def owners(database: Path) -> dict[int, str]:
    """Tables by the pages of their and their indexes' trees; not those that only continue a long row."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        of_index = dict(opened.execute("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index'"))
        pages = opened.execute("SELECT pageno, name FROM dbstat WHERE pagetype <> 'overflow'")
        return {number: of_index.get(name, name) for number, name in pages}


def writes(trace: Path) -> Iterator[tuple[str, bytes, int]]:
    """Path, first bytes and size of each write."""
    for line in trace.read_text().splitlines():
        if found := WRITE.search(line):
            path, first = (bytes.fromhex(one.replace("\\x", "")) for one in (found[1], found[2]))
            yield path.decode(), first, int(found[3])


def written(trace: Path, database: Path, points: float) -> list[tuple[str, float]]:
    """Bytes per point, most first: transactions in the log, and what is copied from there into the database."""
    table_of = owners(database)
    counts: Counter[str] = Counter()
    tables: set[str] = set()
    in_log, header = 0, b""
    for path, first, size in writes(trace):
        if path == str(database):
            counts["copied from the log into the database"] += size
        if path != f"{database}-wal":
            continue
        in_log += size
        if size == PAGE_HEADER:  # The page is written next, or is written once more alone.
            header = first
            continue
        tables.add(table_of.get(int.from_bytes(header[:4], "big"), ""))
        if any(header[4:]):
            stage = next((stage for stage, changed in WRITING if changed in tables), "points to row groups")
            counts[f"log: {stage}"] += in_log
            tables, in_log = set(), 0
        header = b""
    return [(stage, count / points) for stage, count in counts.most_common()]


def bytes_of_frames(build: Path, work: Path) -> list[Figure]:
    trace, place = work / "frames.trace", work / "frames"
    ingest = ["ingest", "--work", str(place), "--seconds", "60" if store.quick else "1200"]
    command = [*STRACE, str(trace), str(build / "bench" / "corral_bench_store"), *ingest]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    points = json.loads(done.stdout)["points"]
    stages = written(trace, place / "store" / "corral.db", points)
    return table("frames, 4 runs x 500 series: bytes written", stages, "B")


def figures(build: Path) -> list[Figure]:
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as work:
        if shutil.which("perf") is None:
            print("  no CPU times: perf is not installed (Debian: linux-perf)")
        else:
            found += [*of_frames(build, Path(work)), *of_batches(build, Path(work))]
        if shutil.which("strace") is None:
            print("  no written bytes: strace is not installed")
        else:
            found += bytes_of_frames(build, Path(work))
    return found

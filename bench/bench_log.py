"""Measures the cost of a log call: Corral beside radT's queue and tensorboardX, in one run on one machine.

    PYTHONPATH=build/release/python python bench/bench_log.py [--json] [--directory DIR] [--calls N]

Each contestant runs in a process of its own. Mean: over all calls, the empty loop taken off. p99.9 and max: each call
timed by perf_counter_ns, whose own cost is taken off. radT 0.2.30 logs by putting a dict on a multiprocessing.Queue
that a logger process drains every five seconds (radt/run/benchmark.py, log_metric); here that queue and that loop run
without MLflow behind them. tensorboardX (pinned 2.6.5) takes part where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from queue import Empty
from typing import Any


def measure(call: Callable[[int], object], calls: int) -> dict[str, float]:
    for i in range(1000):
        call(i)
    start = time.perf_counter_ns()
    for _ in range(calls):
        pass
    loop = time.perf_counter_ns() - start
    start = time.perf_counter_ns()
    for i in range(calls):
        call(i)
    mean = (time.perf_counter_ns() - start - loop) / calls
    clock = time.perf_counter_ns
    empty = sorted(-clock() + clock() for _ in range(10_000))[5_000]
    times = [0] * calls
    for i in range(calls):
        before = clock()
        call(i)
        times[i] = clock() - before - empty
    times.sort()
    return {"mean_ns": mean, "p999_ns": times[int(calls * 0.999)], "max_ns": times[-1], "clock_ns": empty}


def corral_public(calls: int) -> dict[str, float]:
    """As a script calls it: an attribute of the module, a constant name, a step."""
    import corral

    return measure(lambda i: corral.log("train/loss", 0.5, step=i), calls)


def corral_native(calls: int) -> dict[str, float]:
    """The function alone: a local name, positional arguments."""
    import timeit

    from corral import _native

    timer = timeit.Timer('log("train/loss", 0.5, 7)', globals={"log": _native.log})
    empty = timeit.Timer("pass")
    timer.timeit(1000)
    mean = (min(timer.repeat(5, calls // 5)) - min(empty.repeat(5, calls // 5))) / (calls // 5) * 1e9
    log = _native.log
    return measure(lambda i: log("train/loss", 0.5, i), calls) | {"mean_ns": mean}


def _drain(queue: Any, stop: Any) -> None:
    """As radT's logger process, less the upload."""
    while not stop.is_set():
        try:
            while True:
                queue.get_nowait()
        except Empty:
            stop.wait(5.0)


def radt_queue(calls: int) -> dict[str, float]:
    queue: Any = multiprocessing.Queue()
    stop = multiprocessing.Event()
    logger = multiprocessing.Process(target=_drain, args=(queue, stop), daemon=True)
    logger.start()

    def log_metric(step: int) -> None:
        queue.put({"key": "train/loss", "value": 0.5, "timestamp": int(time.time() * 1000), "step": step})

    result = measure(log_metric, calls)
    stop.set()
    queue.cancel_join_thread()
    logger.terminate()
    return result


def tensorboardx(calls: int) -> dict[str, float]:
    from tensorboardX import SummaryWriter

    directory = tempfile.mkdtemp()
    writer = SummaryWriter(directory)
    try:
        return measure(lambda i: writer.add_scalar("train/loss", 0.5, i), calls)
    finally:
        writer.close()
        shutil.rmtree(directory, ignore_errors=True)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def contestants() -> dict[str, tuple[str, int]]:
    """Label -> function and share of the calls (slow ones make fewer)."""
    table = {
        "corral.log": ("corral_public", 1),
        "corral._native.log": ("corral_native", 1),
        "corral.log, pure Python": ("corral_public", 10),
        "corral.log outside a run": ("corral_public", 1),
    }
    table["radT 0.2.30 log_metric's queue put"] = ("radt_queue", 5)
    if _version("tensorboardX"):
        table[f"tensorboardX {_version('tensorboardX')} add_scalar"] = ("tensorboardx", 20)
    return table


def run_one(label: str, function: str, calls: int, directory: str) -> dict[str, float]:
    segments = tempfile.mkdtemp(prefix="corral-bench-", dir=directory)
    environment = os.environ | {
        "CORRAL_SEGMENT_DIR": "" if "outside" in label else segments,
        "CORRAL_RUN_ID": "0" * 31 + "1",
        "CORRAL_PURE_PYTHON": "1" if "pure" in label else "",
    }
    command = [sys.executable, __file__, "--one", function, "--calls", str(calls)]
    try:
        out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    finally:
        shutil.rmtree(segments)
    result: dict[str, float] = json.loads(out)
    return result


def print_table(results: dict[str, dict[str, float]]) -> None:
    base = results["corral.log"]["mean_ns"]
    width = max(map(len, results))
    print(f"{'':{width}}  {'mean us':>9}  {'p99.9 us':>9}  {'max us':>9}  {'x corral.log':>12}")
    for label, result in results.items():
        numbers = [result[key] / 1000 for key in ("mean_ns", "p999_ns", "max_ns")]
        print(f"{label:{width}}  " + "  ".join(f"{n:9.3f}" for n in numbers) + f"  {result['mean_ns'] / base:12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--directory", help="where segments go: a directory on the disk of the spool")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(globals()[options.one](options.calls)))
        return
    results = {}
    for label, (function, share) in contestants().items():
        results[label] = run_one(label, function, options.calls // share, options.directory or tempfile.gettempdir())
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print_table(results)


if __name__ == "__main__":
    main()

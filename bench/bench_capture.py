"""Measures the overhead of the capture in a training: each wrapped call of a step, the step, and the start of Python.

    PYTHONPATH=build/release/python python bench/bench_capture.py [--steps N]

The wrapped functions do nothing themselves, so that what is measured is the wrapping. CPU time of the thread; the least
of many short rounds, because the machine may have other work.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROUND = 500


class Batches:
    """As a DataLoader's iterator; a batch is a pair of what looks like tensors."""

    batch = (SimpleNamespace(shape=(32, 64)), SimpleNamespace(shape=(32,)))

    def __next__(self) -> Any:
        return self.batch


def calls() -> list[tuple[str, Any, Any]]:
    """Name, call as it is, call as it is captured; in the order of a step."""
    sys.modules["torch"] = SimpleNamespace(is_grad_enabled=lambda: True)  # type: ignore[assignment]
    from corral import _capture_loader, _capture_torch

    def backward() -> None:
        pass

    def step(optimizer: object) -> None:
        pass

    captured = type("Captured", (Batches,), {"__next__": _capture_loader.wrap_next(Batches.__next__)})()
    _capture_loader.attach(captured, None)
    optimizer = object()
    stepping = _capture_torch.wrap_step(step)
    return [
        ("fetch (ends a step and its metrics, begins the next, data wait)", Batches().__next__, captured.__next__),
        ("backward", backward, _capture_torch.wrap_backward(backward)),
        ("optimizer", lambda: step(optimizer), lambda: stepping(optimizer)),
    ]


def cost(steps: int) -> list[tuple[str, float]]:
    """Returns the cost of each call and of the step, in ns."""
    kinds = calls()
    clock = time.thread_time_ns
    best = [[10**9] * len(kinds), [10**9] * len(kinds)]
    for _ in range(steps // ROUND):
        for which, least in enumerate(best):
            spent = [0] * len(kinds)
            for _ in range(ROUND):
                for n, kind in enumerate(kinds):
                    call = kind[1 + which]
                    before = clock()
                    call()
                    spent[n] += clock() - before
            for n, total in enumerate(spent):
                least[n] = min(least[n], total // ROUND)
    each = [(name, float(best[1][n] - best[0][n])) for n, (name, _, _) in enumerate(kinds)]
    return [*each, ("step", sum(time for _, time in each))]


def start_ms(package: Path, captured: bool) -> float:
    """CPU of `python -c pass`."""
    path = f"{package}/corral/_startup:{package}" if captured else str(package)
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--starts", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CORRAL_SEGMENT_DIR": folder, "CORRAL_RUN_ID": "0" * 32, "CORRAL_SPOOL_LIMIT": str(4 << 30)}
        for name, time_ns in cost(options.steps):
            print(f"{name}: {time_ns / 1000:.2f} us")
        import corral

        package = Path(corral.__file__).parents[1]
        pairs = [(start_ms(package, False), start_ms(package, True)) for _ in range(options.starts)]
        least = [min(pair[which] for pair in pairs) for which in (0, 1)]
        median = statistics.median(after - before for before, after in pairs)
        print(f"start of Python: {least[0]:.1f} ms, captured {least[1]:.1f} ms; median of the pairs {median:+.2f} ms")


if __name__ == "__main__":
    main()

"""A training that only computes, or only moves memory, and logs how fast: python collocated_load.py --kind cpu|memory

Started with others at the same moment by a plan; the first and the last half second are not logged, so that whatever
is logged was measured beside them. `--bare` prints the rates and logs nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

SECONDS = 3.0
EDGE_S = 0.5
WINDOW_S = 0.2  # many slices of the scheduler: a single piece of work has a core for itself or waits for it
COPIED = 32 << 20  # more than caches hold


def compute() -> None:
    sum(i * i for i in range(100_000))


def mover() -> tuple[memoryview, memoryview]:
    return memoryview(bytearray(COPIED)), memoryview(bytearray(b"\1" * COPIED))


def rates(moves: bool) -> Iterator[float]:
    """Pieces of work per second, of one window after the other."""
    target, source = mover()
    began = time.monotonic()
    start, done = began, 0
    while (now := time.monotonic()) < began + SECONDS:
        if now >= start + WINDOW_S:
            if began + EDGE_S < start and now < began + SECONDS - EDGE_S:
                yield done / (now - start)
            start, done = now, 0
        if moves:
            target[:] = source
        else:
            compute()
        done += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["cpu", "memory"], required=True)
    parser.add_argument("--bare", action="store_true")
    arguments = parser.parse_args()
    measured = rates(arguments.kind == "memory")
    if arguments.bare:
        print("\n".join(map(str, measured)))
        return
    import corral

    for step, rate in enumerate(measured):
        corral.log({"work_per_second": rate}, step=step)


main()

"""A training that only computes, or only moves memory, and logs how fast: python collocated_load.py --kind cpu|memory

Started with others at the same moment by a plan; the first and the last half second are not logged, so that whatever
is logged was measured beside them.
"""

from __future__ import annotations

import argparse
import time

import corral

SECONDS = 3.0
EDGE_S = 0.5
COPIED = 32 << 20  # more than caches hold


def compute() -> None:
    sum(i * i for i in range(100_000))


def mover() -> tuple[memoryview, memoryview]:
    return memoryview(bytearray(COPIED)), memoryview(bytearray(b"\1" * COPIED))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["cpu", "memory"], required=True)
    moves = parser.parse_args().kind == "memory"
    target, source = mover()
    began = time.monotonic()
    step = 0
    while (now := time.monotonic()) < began + SECONDS:
        if moves:
            target[:] = source
        else:
            compute()
        if began + EDGE_S < now < began + SECONDS - EDGE_S:
            corral.log({"work_per_second": 1 / (time.monotonic() - now)}, step=step)
            step += 1


main()

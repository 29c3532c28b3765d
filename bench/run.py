"""Benchmarks: `./dev bench [NAME]`. Every figure stands beside a peer or a limit that was measured in the same run.

    python bench/run.py --build build/release-bench [NAME ...]

Nothing is kept: docs/benchmarks.md holds the figures that were worth keeping.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import build_times
import demo
import ingest
import page
import read
import start
import store_peers
import supervisor
import tick
from figures import Figure, print_table

import store

HERE = Path(__file__).resolve().parent


def log(build: Path) -> list[Figure]:
    """bench_log.py prints a table of its own: its contestants are peers of one another."""
    environment = os.environ | {"PYTHONPATH": str(build / "python")}
    subprocess.run([store_peers.PYTHON, HERE / "bench_log.py"], env=environment, check=True)
    return []


BENCHMARKS: dict[str, tuple[str, Callable[[Path], list[Figure]]]] = {
    "log": ("what a log call costs the training", log),
    "start": ("from `corral run` to the command's first instruction, server up", start.figures),
    "tick": ("CPU of the sampler", tick.figures),
    "supervisor": ("memory and CPU of supervisor and server during 20 s at 10 Hz", supervisor.figures),
    "demo": ("CPU of everything that Corral runs during the two trainings of `./dev demo`", demo.figures),
    "ingest": ("points that a server takes in and makes durable", ingest.figures),
    "store": ("what the store takes in and answers", store.figures),
    "peers": ("the same points in Corral and in its peers (how many times better Corral is)", store_peers.figures),
    "read": ("points of a run of 24 M into Python and into files, by the store's Unix socket", read.figures),
    "page": ("size of the page and time to its first chart", page.figures),
    "build": ("release build from nothing without ccache, one-file rebuilds", build_times.figures),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release-bench"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for store and peers")
    arguments = parser.parse_args()
    store.quick = arguments.quick
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    for name in arguments.names or BENCHMARKS:
        summary, measure = BENCHMARKS[name]
        print(f"{name}: {summary} (./dev bench {name})", flush=True)
        print_table(measure(arguments.build.resolve()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
import calls
import collocation
import demo
import explain
import https
import importing
import ingest
import page
import peer_pages
import plan_file
import plans
import read
import runs
import stages
import start
import store_peers
import supervisor
import tick
import tracking
import truth
from figures import Figure, print_table

import store
import web

HERE = Path(__file__).resolve().parent


def log(build: Path) -> list[Figure]:
    """bench_log.py prints a table of its own: its contestants are peers of one another."""
    environment = os.environ | {"PYTHONPATH": str(build / "python")}
    subprocess.run([store_peers.PYTHON, HERE / "bench_log.py"], env=environment, check=True)
    return []


def capture(build: Path) -> list[Figure]:
    """Measures the cost of each wrapped call of a training step, and of the start of Python."""
    environment = os.environ | {"PYTHONPATH": str(build / "python")}
    subprocess.run([store_peers.PYTHON, HERE / "bench_capture.py"], env=environment, check=True)
    return []


def listeners(build: Path) -> list[Figure]:
    """`corral bench listeners` with all that is there; its own table and raw pairs."""
    command = [build / "corral", "bench", "listeners", "--listeners", "each", "--planted", "5%"]
    peers = ["--peers", "all", "--peer-python", store_peers.PYTHON]
    environment = os.environ | {"CORRAL_PYTHON": sys.executable}
    subprocess.run(
        [*command, *peers, "--out", build / "overhead", "--format", "markdown"], env=environment, check=False
    )
    return []


def ground_truth(build: Path) -> list[Figure]:
    """A table of its own: errors, not costs."""
    unexplained = truth.measure(build, docs)
    if unexplained:
        print(f"{unexplained} errors of more than {truth.LARGE:g} % have no reason", file=sys.stderr)
    return []


docs = False  # write the table of `truth` into its page

BENCHMARKS: dict[str, tuple[str, Callable[[Path], list[Figure]]]] = {
    "log": ("what a log call costs the training", log),
    "capture": ("what the capture of training loops costs a step and a start", capture),
    "start": ("from `corral run` to the command's first instruction, server up", start.figures),
    "plans": (
        "an experiment file: to the release of four runs, how far apart they start, the scheduler's CPU",
        plans.figures,
    ),
    "tick": ("CPU of the sampler", tick.figures),
    "supervisor": ("memory and CPU of supervisor and server during 20 s at 10 Hz", supervisor.figures),
    "collocation": ("runs beside each other on CPU sets, and planted interference", collocation.figures),
    "plan-file": ("an experiment file of 10,000 rows read and written back", plan_file.figures),
    "demo": ("CPU of everything that Corral runs during two trainings of examples/digits at once", demo.figures),
    "ingest": ("points that a server takes in and makes durable", ingest.figures),
    "https": ("what HTTPS costs, and a certificate that changes", https.figures),
    "store": ("what the store takes in and answers", store.figures),
    "profile": ("where the CPU time and the writes of a point go, from its arrival to its block", stages.figures),
    "peers": ("the same points in Corral and in its peers (how many times better Corral is)", store_peers.figures),
    "import": ("an MLflow database taken in by `corral import`", importing.figures),
    "tracking": ("MLflow's interface, against MLflow's own server", tracking.figures),
    "call": ("one log-metric beside GET /health, in memory and on disk", calls.figures),
    "runs": ("the page's list over 10,000 runs, on both databases", runs.figures),
    "explain": ("what explaining a run of 10 h with 10^6 phases costs", explain.figures),
    "read": ("points of a run of 24 M into Python and into files, by the store's Unix socket", read.figures),
    "page": ("size of the page and time to its first chart", page.figures),
    "web": ("24 charts, 10,000 runs and a live board in Chromium, beside uPlot and ECharts", web.figures),
    "pages": ("the page beside those of MLflow, TensorBoard and Aim, on the same runs", peer_pages.figures),
    "listeners": ("what recording costs a training, each listener and its peers; hours", listeners),
    "truth": ("what is recorded of known loads, beside what they measured themselves", ground_truth),
    "build": ("builds from nothing, in a second clone, and after a change of one source", build_times.figures),
}

BY_NAME_ONLY = {"listeners", "pages"}  # hours; needs peers that nothing else needs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release-bench"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for store and peers")
    parser.add_argument("--docs", action="store_true", help="write the table of truth into docs/truth.md")
    arguments = parser.parse_args()
    global docs
    docs = arguments.docs
    store.quick = arguments.quick
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    for name in arguments.names or [name for name in BENCHMARKS if name not in BY_NAME_ONLY]:
        summary, measure = BENCHMARKS[name]
        print(f"{name}: {summary} (./dev bench {name})", flush=True)
        print_table(measure(arguments.build.resolve()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""CPU of everything that Corral runs during the demo: two digits trainings at once, their supervisors and the server.

The trainings are the peer: what Corral's processes take beside them. The page is not open.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from pathlib import Path

from figures import Figure, Peer, cpu_seconds
from home import Home

TRAINING = Path(__file__).resolve().parent.parent / "examples" / "digits" / "train.py"
WIDTHS = (32, 48)


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Watch:
    """The newest CPU time of processes that end by themselves."""

    def __init__(self, pids: list[int]) -> None:
        self.seconds = dict.fromkeys(pids, 0.0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._loop)
        self._thread.start()

    def _loop(self) -> None:
        while not self._done.wait(0.02):
            for pid in self.seconds:
                try:
                    self.seconds[pid] = cpu_seconds(pid)
                except OSError:  # ended
                    continue

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return sum(self.seconds.values())


def figures(build: Path) -> list[Figure]:
    epochs = os.environ.get("DEMO_EPOCHS", "40")
    with Home(build) as home:
        home.environment["CORRAL_PYTHON"] = sys.executable
        server = home.serve()["pid"]
        before, served, began = children_cpu(), cpu_seconds(server), time.monotonic()
        runs = [
            home.popen(
                "run",
                "--quiet",
                "--experiment",
                "digits",
                "--workload",
                "demo",
                TRAINING,
                "--epochs",
                epochs,
                "--width",
                str(width),
            )
            for width in WIDTHS
        ]
        watch = Watch([run.pid for run in runs])
        failed = [status for status in [run.wait() for run in runs] if status != 0]
        supervisors = watch.stop()
        elapsed = time.monotonic() - began
        served = cpu_seconds(server) - served
        all_of_runs = children_cpu() - before  # supervisors, trainings and the helpers that asked git
        if failed:
            raise RuntimeError(f"a training ended with status {failed[0]}")
    peer = Peer("CPU of the trainings", all_of_runs - supervisors)
    return [
        Figure("both supervisors", supervisors, "s", peer=peer),
        Figure("server", served, "s", peer=peer),
        Figure("everything that Corral ran", supervisors + served, "s", peer=peer),
        Figure("the demo on the clock", elapsed, "s"),
    ]

"""Runs ../train.py beside or inside one tool, and logs what the two took together: time, CPU time, memory, disk space.

The tool is measured from outside, the same way for all: by the kernel's accounts of every process that comes of it.
Daemons that it leaves behind are ended, and counted, before the measurement ends.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.util
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import corral

TRAIN = [sys.executable, str(Path(__file__).parent.parent / "train.py")]
# Started beside the training, writing to a file as one would.
MONITORS = {
    "top": ["top", "-b", "-d", "0.1"],
    "vmstat": ["vmstat", "-n", "1"],
    "nvidia-smi": ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw", "--format=csv", "-lms", "100"],
    "dcgmi": ["dcgmi", "dmon", "-e", "1001,1002,1003,1004,1005,155", "-d", "100"],
}
# Put around the training.
WRAPPERS = {
    "corral": ["corral", "run", "--quiet", "--store", "{out}/store", "--spool", "{out}/spool", "--"],
    "nsys": ["nsys", "profile", "--output", "{out}/report"],
}
# Options of the training.
OPTIONS = {"mlflow": ["--log", "mlflow"], "tensorboard": ["--log", "tensorboard"], "profiler": ["--profile"]}
TOOLS = ("none", *MONITORS, *WRAPPERS, *OPTIONS)
PR_SET_CHILD_SUBREAPER = 36
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE_S = 30


def children() -> list[int]:
    """The children of this process, and theirs."""
    found: list[int] = []
    ahead = [os.getpid()]
    while ahead:
        one = ahead.pop()
        for tasks in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                ahead += [int(pid) for pid in tasks.read_text().split()]
        found.append(one)
    return found[1:]


def resident() -> int:
    total = 0
    for pid in children():
        with contextlib.suppress(OSError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    return total


@contextlib.contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most bytes that all had at once: pages that two share count twice."""
    peak = [0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            peak[0] = max(peak[0], resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def end_all() -> None:
    """Ends what is left, such as servers, and waits for it, so that the kernel counts it."""
    by = time.monotonic() + PATIENCE_S
    for wanted in (signal.SIGTERM, signal.SIGKILL):
        for pid in children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, wanted)
        while children() and time.monotonic() < by:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
            time.sleep(0.02)
        by += PATIENCE_S


def bytes_in(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def outer_environment() -> dict[str, str]:
    """Without what the run of this script has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("CORRAL_", "MLFLOW_"))}


def measure(tool: str, options: list[str], out: Path) -> dict[str, float]:
    command = [*(word.format(out=out) for word in WRAPPERS.get(tool, [])), *TRAIN, "--out", str(out)]
    with peak_memory() as peak, (out / "monitor.txt").open("wb") as written:
        command += [*OPTIONS.get(tool, []), *options]
        began = time.monotonic()
        if tool in MONITORS:
            subprocess.Popen(MONITORS[tool], stdout=written)
        done = subprocess.run(command, env=outer_environment(), stdout=subprocess.PIPE, text=True, check=False)
        if tool == "corral":  # its data are in the store before its server ends
            subprocess.run(["corral", "serve", "--stop", "--store", out / "store"], env=outer_environment(), check=True)
        end_all()
        whole = time.monotonic() - began
    print(done.stdout, end="")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}")
    trained = re.search(r"trained ([0-9.]+) s", done.stdout)
    if trained is None:
        sys.exit(f"{TRAIN[1]} did not say how long it trained")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "training_s": float(trained[1]),
        "whole_s": whole,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_mb": peak[0] / 1e6,
        "disk_mb": bytes_in(out) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", choices=TOOLS, required=True)
    parser.epilog = "Other options are those of ../train.py."
    own, options = parser.parse_known_args()
    for words in (MONITORS, WRAPPERS):
        if own.tool in words and shutil.which(words[own.tool][0]) is None:
            sys.exit(f"{words[own.tool][0]} is not installed here")
    for module in ("torch", *(name for name in ("mlflow", "tensorboard") if name == own.tool)):
        if importlib.util.find_spec(module) is None:
            sys.exit(f"{module} is not installed for {sys.executable}")
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("this kernel does not hand over the daemons of a tool")
    with tempfile.TemporaryDirectory() as out:
        for name, value in measure(own.tool, options, Path(out)).items():
            corral.log(name, value)
            print(f"{name} {value:.3f}")


if __name__ == "__main__":
    main()

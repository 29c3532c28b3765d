"""Points of a run of 20 M and more, read by corral.read over the store's Unix socket, and what that costs the server.

    python bench/read.py --build build/release [--points 24000000]

Beside each figure stands what a plain copy of the same bytes through a Unix socket takes here.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from figures import Figure, Peer, cpu_seconds, print_table
from home import Home

COLUMNS = 4
ROUNDS = 3
FILL = """
import sys, corral
noise = [(i * 2654435761 % 4096) / 4096 for i in range(4096)]
for i in range(int(sys.argv[1])):
    x = noise[i & 4095]
    watts = 200 + int(x * 500) / 10
    corral.log({"loss": 1 / (1 + i * 1e-5) + x * 0.01, "watts": watts, "util": int(x * 100), "mhz": 1410.0})
"""


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmRSS")


class Memory:
    """The greatest resident size of a process during a `with`, beyond that at its beginning."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._first = self.most = resident(pid)

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.most = max(self.most, resident(self._pid))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def growth_mib(self) -> float:
        return (self.most - self._first) / (1 << 20)


def copy_seconds(size: int) -> float:
    """So many bytes through a Unix socket, from another process, into memory that is used again."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        block = memoryview(bytearray(1 << 18))
        for _ in range(size >> 18):
            theirs.sendall(block)
        os._exit(0)
    theirs.close()
    began, block = time.perf_counter(), memoryview(bytearray(1 << 18))
    while ours.recv_into(block):
        pass
    took = time.perf_counter() - began
    os.waitpid(pid, 0)
    ours.close()
    return took


def best(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def fill(home: Home, points: int) -> None:
    script = home.directory / "fill.py"
    script.write_text(FILL)
    home.environment["CORRAL_PYTHON"] = "/usr/bin/python3"
    home.corral("run", "--quiet", "--no-listeners", "--interval", "1s", script, str(points // COLUMNS))


def figures(build: Path, points: int = 24_000_000) -> list[Figure]:
    sys.path.insert(0, str(build / "python"))
    import corral
    from corral._modules import installed

    metrics = ["loss", "watts", "util", "mhz"]
    found = []
    with Home(build) as home:
        pid = int(home.serve()["pid"])  # not at idle priority, as `corral run` would start it
        fill(home, points)

        def read(kind: Any) -> Any:
            return corral.read("@1", metrics, as_=kind, store=home.store)

        count = sum(map(len, read("numpy")))
        cpu, mine = cpu_seconds(pid), time.process_time()
        with Memory(pid) as peak:
            seconds = best(lambda: read("numpy"))
        cpu, mine = ((cpu_seconds(pid) - cpu) / ROUNDS, (time.process_time() - mine) / ROUNDS)
        found += [
            Figure(
                f"corral.read of {count / 1e6:.0f} M points into NumPy",
                count / seconds,
                "points/s",
                least=2e7,
                peer=Peer("the bytes alone through a Unix socket", count / copy_seconds(count * 16)),
            ),
            Figure("  per CPU-second of the server", count / cpu, "points"),
            Figure("  per CPU-second of the reader", count / mine, "points"),
            Figure("  growth of the server's memory", peak.growth_mib, "MiB", 64),
        ]
        for kind, package in {"pandas": "pandas", "arrow": "pyarrow"}.items():
            if installed(package):
                found.append(Figure(f"  into {kind}", count / best(lambda kind=kind: read(kind)), "points/s"))
        with tempfile.NamedTemporaryFile(dir=home.directory) as file:
            for kind in ["csv", "jsonl"]:
                with Memory(pid) as peak:
                    seconds = best(
                        lambda kind=kind, file=file: home.corral(
                            "export", "@1", "--format", kind, "--output", file.name
                        )
                    )
                found.append(Figure(f"corral export to {kind}", count / seconds, "points/s"))
                found.append(Figure("  growth of the server's memory", peak.growth_mib, "MiB", 64))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--points", type=int, default=24_000_000)
    arguments = parser.parse_args()
    try:
        print_table(figures(arguments.build.resolve(), arguments.points))
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

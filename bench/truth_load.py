"""A load that knows what it used: python truth_load.py NAME FILE, under `corral run`.

It writes to FILE, as JSON, when its work began and ended (UTC, ns) and what it measured itself. Before and after the
work it rests for longer than a second, so that a walk of the slow listeners falls into each rest.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import corral

REST_S = 1.5
MIB = 1 << 20
DAEMONS = 100
EPOCHS, STEPS, BATCH, WAIT_S, STEP_S = 3, 40, 64, 0.006, 0.012


def burn(seconds: float) -> None:
    """So much CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))


def used() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def cpu() -> dict[str, float]:
    """This process, two threads, and 40 children of 25 ms."""
    before = used()
    threads = [threading.Thread(target=burn, args=(0.5,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    burn(0.5)
    for thread in threads:
        thread.join()
    for _ in range(40):
        child = os.fork()
        if child == 0:
            burn(0.025)
            os._exit(0)
        os.waitpid(child, 0)
    return {"cpu": used() - before}


def orphans() -> dict[str, float]:
    """A hundred daemons of 20 ms, whose parents have ended; each adds its own clock to a shared page."""
    page = mmap.mmap(-1, mmap.PAGESIZE * DAEMONS)
    before = used()
    read, write = os.pipe()
    for i in range(DAEMONS):
        middle = os.fork()
        if middle == 0:
            os.setsid()
            if os.fork() == 0:
                burn(0.02)
                spent = repr(time.process_time()).encode()
                page[i * mmap.PAGESIZE : i * mmap.PAGESIZE + len(spent)] = spent
            os._exit(0)
        os.waitpid(middle, 0)
    os.close(write)
    os.read(read, 1)  # until the last of them has closed its end
    own = [float(page[i * mmap.PAGESIZE : i * mmap.PAGESIZE + 32].split(b"\0")[0]) for i in range(DAEMONS)]
    return {"cpu": used() - before + sum(own)}


def memory() -> dict[str, float]:
    """256 MiB held for 2.5 s, and a child that holds 512 MiB for a moment."""
    held = bytearray(b"x") * (256 * MIB)
    time.sleep(2.5)
    now = int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    until = time.time_ns()
    del held
    child = os.fork()
    if child == 0:
        spike = bytearray(b"x") * (512 * MIB)
        os._exit(0 if spike[0] else 1)
    os.waitpid(child, 0)
    return {"rss": now, "until": until, "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}


def disk() -> dict[str, float]:
    """64 MiB written and synced, dropped from the page cache, and read."""
    piece = os.urandom(MIB)
    with tempfile.NamedTemporaryFile(dir=Path(sys.argv[2]).parent) as file:
        number = file.fileno()
        for _ in range(64):
            os.write(number, piece)
        os.fsync(number)
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        os.lseek(number, 0, os.SEEK_SET)
        read = sum(len(os.read(number, MIB)) for _ in range(64))
    return {"written": 64 * MIB, "read": read}


def network() -> dict[str, float]:
    """64 MiB by TCP over the loopback."""
    server = socket.create_server(("127.0.0.1", 0))
    sender = threading.Thread(target=lambda: socket.create_connection(server.getsockname()).sendall(bytes(64 * MIB)))
    sender.start()
    peer, _ = server.accept()
    received = 0
    while received < 64 * MIB:
        received += len(peer.recv(MIB))
    sender.join()
    return {"received": received}


class Loader:
    """Takes its time for each batch, and adds up how long that was."""

    def __init__(self) -> None:
        self.waited = 0.0

    def __iter__(self) -> Iterator[int]:
        for batch in range(STEPS):
            began = time.perf_counter()
            time.sleep(WAIT_S)
            self.waited += time.perf_counter() - began
            yield batch


def steps() -> dict[str, float]:
    """Epochs of steps over a loader that makes them wait."""
    loader, stepped = Loader(), 0
    began = time.perf_counter()
    for _ in corral.epochs(EPOCHS):
        for _ in corral.steps(loader, samples=BATCH):
            burn(STEP_S)
            stepped += 1
    took = time.perf_counter() - began
    return {
        "steps": stepped,
        "epochs": EPOCHS,
        "step time": took,
        "data wait": loader.waited,
        "samples per second": stepped * BATCH / took,
    }


def values() -> dict[str, float]:
    """10,000 logged values."""
    total = 0.0
    for i in range(10_000):
        corral.log("truth/value", float(i), step=i)
        total += i
    return {"count": 10_000, "sum": total}


LOADS: dict[str, Callable[[], dict[str, float]]] = {
    load.__name__: load for load in (cpu, orphans, memory, disk, network, steps, values)
}


def main() -> None:
    time.sleep(REST_S)
    began = time.time_ns()
    measured = LOADS[sys.argv[1]]()
    ended = time.time_ns()
    time.sleep(REST_S)
    Path(sys.argv[2]).write_text(json.dumps({"began": began, "ended": ended, "measured": measured}))


if __name__ == "__main__":
    main()

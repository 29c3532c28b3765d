"""Memory and CPU of supervisor and server while a command sleeps for 20 s, beside procps' top at 1 Hz for as long."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from figures import Figure, Peer, cpu_seconds, peak_rss_mib
from home import Home

SECONDS = 20
SETTLE_S = 2
MEMORY_MIB = round(20e6 / 2**20, 2)


def top_cpu(seconds: float) -> float | None:
    top = shutil.which("top")
    if top is None:
        return None
    process = subprocess.Popen([top, "-b", "-i", "-d", "1"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(seconds)
        return cpu_seconds(process.pid)
    finally:
        process.kill()
        process.wait()


def figures(build: Path) -> list[Figure]:
    with Home(build) as home:
        server = home.serve()["pid"]
        server_before = cpu_seconds(server)
        run = home.popen("run", "--quiet", "/bin/sleep", str(SECONDS))
        time.sleep(SETTLE_S)
        early = cpu_seconds(run.pid)
        began = time.monotonic()
        time.sleep(SECONDS - 2 * SETTLE_S)
        steady = (cpu_seconds(run.pid) - early) / (time.monotonic() - began)
        time.sleep(SETTLE_S / 2)
        memory, supervisor = peak_rss_mib(run.pid), cpu_seconds(run.pid)
        run.wait()
        served, server_memory = cpu_seconds(server) - server_before, peak_rss_mib(server)
    top = top_cpu(SECONDS)
    peer = Peer("top -b -i at 1 Hz", top)
    return [
        Figure("supervisor, peak RSS", memory, "MiB", MEMORY_MIB),
        Figure("server, peak RSS", server_memory, "MiB"),
        Figure(
            "supervisor, CPU of one core once it runs",
            steady * 100,
            "%",
            0.5,
            peer=Peer("top -b -i at 1 Hz", None if top is None else top / SECONDS * 100),
        ),
        Figure(f"supervisor, CPU in {SECONDS} s with its start", supervisor, "s", peer=peer),
        Figure(f"server, CPU in {SECONDS} s", served, "s", peer=peer),
        Figure("both together", supervisor + served, "s", peer=peer),
    ]

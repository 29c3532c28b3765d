"""From `corral run` to the command's first instruction, beside what starts the same command without Corral; and from
`corral serve` to its first answer."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import time
from pathlib import Path

from figures import Figure, Peer, percentile
from home import Home

ROUNDS = 50


def latency_ms(command: list[str], environment: dict[str, str]) -> float:
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1)]
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    os.close(write_end)
    with os.fdopen(read_end) as output:
        started = int(output.read())
    os.waitpid(pid, 0)
    return (started - began) / 1e6


def first_answer(home: Home) -> tuple[float, float]:
    """Milliseconds to the first answer of a server with a store in memory, and its resident MiB then."""
    began = time.monotonic()
    command = [str(home.binary), "serve", "--store", ":memory:", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, env=home.environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = re.search(rb"http://([\d.]+):(\d+)", server.stdout.readline())
        assert address is not None
        connection = http.client.HTTPConnection(address[1].decode(), int(address[2]))
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        took = (time.monotonic() - began) * 1e3
        connection.close()
        pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
        server.terminate()
    return took, pages * os.sysconf("SC_PAGESIZE") / 2**20


def figures(build: Path) -> list[Figure]:
    child = str(build / "bench" / "corral_bench_exec_clock")
    with Home(build) as home:
        commands = {
            "corral run": [str(home.binary), "run", "--quiet", child],
            "corral run --no-listeners": [str(home.binary), "run", "--quiet", "--no-listeners", child],
            "sh -c": ["/bin/sh", "-c", f"{child}; exit"],  # with something after it, so that the shell forks
            "env": ["/usr/bin/env", child],
        }
        home.serve()
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):  # in turns: what disturbs one disturbs all
            for name, command in commands.items():
                times[name].append(latency_ms(command, home.environment))
        answers = [first_answer(home) for _ in range(ROUNDS)]
    shell = percentile(times["sh -c"], 0.5)
    table = [
        Figure("corral run, median", percentile(times["corral run"], 0.5), "ms", 50, peer=Peer("sh -c", shell)),
        Figure(
            "corral run, p95",
            percentile(times["corral run"], 0.95),
            "ms",
            50,
            peer=Peer("sh -c, p95", percentile(times["sh -c"], 0.95)),
        ),
        Figure(
            "corral run --no-listeners, median",
            percentile(times["corral run --no-listeners"], 0.5),
            "ms",
            peer=Peer("sh -c", shell),
        ),
        Figure(
            "corral serve --store :memory:, first answer, median", percentile([a for a, _ in answers], 0.5), "ms", 50
        ),
        Figure("corral serve --store :memory:, resident", percentile([r for _, r in answers], 0.5), "MiB", 40),
        Figure("env, median", percentile(times["env"], 0.5), "ms", peer=Peer("sh -c", shell)),
    ]
    return table

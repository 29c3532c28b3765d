"""From `corral run` to the command's first instruction, beside what starts the same command without Corral."""

from __future__ import annotations

import os
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
        Figure("env, median", percentile(times["env"], 0.5), "ms", peer=Peer("sh -c", shell)),
    ]
    return table

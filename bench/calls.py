"""One small call: MLflow's log-metric beside `GET /health` on the same kind of connection, in memory and on disk.

The rounds of all kinds are taken in turns. CPU is the server's alone. The limit is the smallest durable write of this
disk: one page by `pwrite` and `fdatasync`, one after another. Three further servers acknowledge before data is on the
disk. One of them has users, and each of its calls carries a token; a third also has a space that its user does not see.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from figures import Figure, Peer, percentile
from home import Home
from tracking import Server, send, serving

import store

ROUNDS = 7
CONNECTIONS = (1, 8, 200)
CALLS = 4000  # per round, on all connections together
PAGE = bytes(4096)


def exchange(build: Path, server: Server, part: str, connections: int, token: str = "") -> dict[str, float]:
    """Calls per second and the server's CPU and answer time of a call, in ms."""
    calls = max(1, (100 if store.quick else CALLS) // connections)
    done = send(build, server, part, token, connections=connections, requests=calls, pid=server.pid)
    return {
        "rate": done["requests"] / done["seconds"],
        "cpu_ms": done["cpu_s"] * 1e3 / done["requests"],
        "p50_ms": done["p50_ms"],
    }


def relaxed(home: Home, *options: str) -> Server:
    """A server that acknowledges before data is on the disk."""
    home.popen("serve", "--listen", "127.0.0.1:0", "--durability", "relaxed", *options)
    record = home.server()
    return Server(record["url"], record["pid"], 0)


def synchronised(directory: Path) -> float:
    """Durable writes per second of one writer."""
    count = 20 if store.quick else 300
    file = os.open(directory / "pages", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        began = time.perf_counter()
        for i in range(count):
            os.pwrite(file, PAGE, i * len(PAGE))
            os.fdatasync(file)
        return count / (time.perf_counter() - began)
    finally:
        os.close(file)


def median(rounds: list[dict[str, float]], name: str) -> float:
    return percentile([one[name] for one in rounds], 0.5)


def figures(build: Path) -> list[Figure]:
    rounds: dict[tuple[str, str, int], list[dict[str, float]]] = {}
    bare: list[dict[str, float]] = []
    with ExitStack() as stack:
        servers = {
            "memory": stack.enter_context(serving(build, 5892, ":memory:")),
            "disk": stack.enter_context(serving(build, 5893)),
        }
        homes = [stack.enter_context(Home(build)) for _ in range(3)]
        relaxed_servers = [("no users", relaxed(homes[0]), "")]
        for name, home in zip(("users", "a foreign space"), homes[1:], strict=True):
            served = relaxed(home, "--auth", "users")
            home.corral("user", "add", "bench", "--role", "writer")
            relaxed_servers.append((name, served, home.corral("token", "add", "bench").strip()))
        homes[2].corral("space", "add", "elsewhere")
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="corral-bench-")))
        for _ in range(1 if store.quick else ROUNDS):
            for where, server in servers.items():
                for connections in CONNECTIONS:
                    for part in ("get", "singles"):
                        got = exchange(build, server, part, connections)
                        rounds.setdefault((where, part, connections), []).append(got)
            for name, server, sent in relaxed_servers:
                rounds.setdefault((name, "singles", 1), []).append(exchange(build, server, "singles", 1, sent))
            bare.append({"rate": synchronised(directory)})
    return [*in_memory(rounds), *on_disk(rounds, median(bare, "rate")), *with_a_token(rounds)]


def with_a_token(rounds: dict[tuple[str, str, int], list[dict[str, float]]]) -> list[Figure]:
    peer = median(rounds["no users", "singles", 1], "rate")
    words = "log-metric with a user's token, 1 connection: calls per second"
    return [
        Figure(what, median(rounds[name, "singles", 1], "rate"), "/s", least=0.95 * peer, peer=Peer("no users", peer))
        for what, name in ((words, "users"), ("  beside a foreign space", "a foreign space"))
    ]


def in_memory(rounds: dict[tuple[str, str, int], list[dict[str, float]]]) -> list[Figure]:
    shown = []
    for connections in CONNECTIONS:
        calls, health = rounds["memory", "singles", connections], rounds["memory", "get", connections]
        words = f"log-metric in memory, {connections} connection{'s' if connections > 1 else ''}"
        goal = 1.5 * median(health, "p50_ms") if connections == 1 else None
        peer = Peer("GET /health", median(health, "p50_ms"))
        cpu = Peer("GET /health", median(health, "cpu_ms"))
        shown += [
            Figure(f"{words}: answer, p50", median(calls, "p50_ms"), "ms", goal, peer=peer),
            Figure("  CPU of the server, a call", median(calls, "cpu_ms"), "ms", 0.12, peer=cpu),
            Figure("  calls per second", median(calls, "rate"), "/s"),
        ]
    return shown


def on_disk(rounds: dict[tuple[str, str, int], list[dict[str, float]]], bare: float) -> list[Figure]:
    shown = []
    for connections in CONNECTIONS:
        calls = rounds["disk", "singles", connections]
        words = f"log-metric on disk, {connections} connection{'s' if connections > 1 else ''}"
        peer = Peer("bare fdatasync", bare)
        least = 0.6 * bare if connections == 1 else None
        shown += [
            Figure(f"{words}: calls per second", median(calls, "rate"), "/s", least=least, peer=peer),
            Figure("  answer, p50", median(calls, "p50_ms"), "ms"),
            Figure("  CPU of the server, a call", median(calls, "cpu_ms"), "ms"),
        ]
    return shown

"""Two hundred clients at once, mixing everything: no error, no lost point, bounded memory.

CORRAL_SOAK is for how many minutes; ten seconds without it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import CLOUD, FILES, Server
from replay import Json
from support import alive

CLIENTS = 200
SECONDS = 60 * float(os.environ["CORRAL_SOAK"]) if "CORRAL_SOAK" in os.environ else 10.0
MEMORY_MIB = 400
API = "/api/2.0/mlflow/"
PAGE = 25_000  # points; a longer history comes in chunks


@dataclass
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, url: str) -> Connection:
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port))

    async def send(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        self.writer.write(head.encode() + b"\r\n" + body)
        await self.writer.drain()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
        answer = await self.reader.readexactly(length)
        assert lines[0].split()[1] == "200", (method, path, lines[0], answer[:300])
        return answer

    async def post(self, path: str, **fields: Json) -> Json:
        return json.loads(await self.send("POST", API + path, json.dumps(fields).encode()))

    async def get(self, path: str) -> Json:
        return json.loads(await self.send("GET", API + path))


@dataclass
class Script:
    """The log calls of one training script; `points` counts the acknowledged ones."""

    connection: Connection
    rng: random.Random
    run: str = ""
    points: int = 0
    files: dict[str, bytes] = field(default_factory=dict)

    async def begin(self) -> None:
        made = await self.connection.post("runs/create", experiment_id="0", start_time=1)
        self.run = made["run"]["info"]["run_id"]

    def point(self) -> Json:
        self.points += 1
        return {
            "key": "loss",
            "value": 1 / self.points,
            "timestamp": 1_790_000_000_000 + self.points,
            "step": self.points,
        }

    async def batch(self) -> None:
        await self.connection.post("runs/log-batch", run_id=self.run, metrics=[self.point() for _ in range(50)])

    async def metric(self) -> None:
        await self.connection.post("runs/log-metric", run_id=self.run, **self.point())

    async def tag(self) -> None:
        await self.connection.post("runs/set-tag", run_id=self.run, key="note", value=str(self.points))

    async def history(self) -> None:
        answer = await self.connection.get(f"metrics/get-history?run_id={self.run}&metric_key=loss&max_results={PAGE}")
        assert len(answer.get("metrics", [])) == min(self.points, PAGE)

    async def search(self) -> None:
        await self.connection.post(
            "runs/search", experiment_ids=["0"], filter=f"metrics.loss < {self.rng.random()}", max_results=20
        )

    async def file(self) -> None:
        content = self.rng.randbytes(self.rng.randrange(20_000))
        path = f"/api/2.0/mlflow-artifacts/artifacts/0/{self.run}/artifacts/part-{self.points}"
        await self.connection.send("PUT", path, content, "application/octet-stream")
        self.files[path] = content

    async def work(self, until: float) -> None:
        steps = [self.batch, self.batch, self.metric, self.metric, self.tag, self.history, self.search, self.file]
        while asyncio.get_running_loop().time() < until:
            await self.rng.choice(steps)()

    async def verify(self) -> None:
        await self.history()
        run = (await self.connection.get(f"runs/get?run_id={self.run}"))["run"]
        if self.points:
            assert run["data"]["metrics"][0]["step"] == self.points
        for path, content in self.files.items():
            assert await self.connection.send("GET", path) == content


async def run_all(url: str, rng: random.Random) -> int:
    scripts = [Script(await Connection.open(url), random.Random(rng.random())) for _ in range(CLIENTS)]
    await asyncio.gather(*(script.begin() for script in scripts))
    until = asyncio.get_running_loop().time() + SECONDS
    await asyncio.gather(*(script.work(until) for script in scripts))
    await asyncio.gather(*(script.verify() for script in scripts))
    for script in scripts:
        script.connection.writer.close()
    return sum(script.points for script in scripts)


@pytest.mark.timeout(480 + 3 * SECONDS)
@pytest.mark.parametrize("server", [FILES, CLOUD], indirect=True)
def test_two_hundred_clients_lose_nothing(server: Server) -> None:
    rng = random.Random(7)
    assert asyncio.run(run_all(server.url, rng)) > CLIENTS
    assert alive(server.pid)
    status = Path(f"/proc/{server.pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
    assert peak < MEMORY_MIB, f"{peak:.0f} MiB"

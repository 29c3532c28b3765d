"""Suffers from a server that takes long to answer; the two workers that ask it wait, and nothing computes.

Required: the phases. Expected: data waits, by an unknown resource: no CPU, disk or network is busy, and no metric tells
that the other side is slow.
"""

from __future__ import annotations

import argparse
import http.server
import multiprocessing
import time
import urllib.request
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

EXPECTED = ("wait", "unknown")
WIDTH, ROWS = 64, 256
LATENCY = 0.12  # seconds per shard; each of the two workers asks for one at a time


class Store(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(LATENCY)
        shard = np.full((ROWS, WIDTH), int(self.path[1:]) % 5, np.float32).tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(shard)))
        self.end_headers()
        self.wfile.write(shard)

    def log_message(self, *_: Any) -> None:
        pass


class Shards(Dataset[torch.Tensor]):
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def __len__(self) -> int:
        return 80

    def __getitem__(self, index: int) -> torch.Tensor:
        with urllib.request.urlopen(f"{self.address}/{index}") as answer:
            return torch.from_numpy(np.frombuffer(bytearray(answer.read()), np.float32).reshape(ROWS, WIDTH))


def learn(loader: DataLoader[torch.Tensor], seconds: float) -> None:
    net = nn.Sequential(nn.Linear(WIDTH, 160), nn.GELU(), nn.Linear(160, 160), nn.GELU(), nn.Linear(160, WIDTH))
    optimizer = torch.optim.AdamW(net.parameters())
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for shard in loader:
            loss = (net(shard) - shard).abs().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    remote = multiprocessing.Process(target=server.serve_forever)
    remote.start()
    try:
        shards = Shards(server.server_port)
        learn(DataLoader(shards, batch_size=None, num_workers=2, persistent_workers=True), chosen.seconds)
    finally:
        remote.terminate()
        remote.join()


if __name__ == "__main__":
    main()

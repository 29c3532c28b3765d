"""Suffers from a checkpoint of a large embedding and of its optimizer after every fifth step.

Required: the phases. Expected: I/O. The thread that saves computes checksums and copies into the page cache, so "one
thread" is true; "storage" is, where the kernel makes it wait for the disk.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import torch
from torch import nn

EXPECTED = ("io", "one thread", "storage")
EVERY = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds

    words = 60_000
    model = nn.Sequential(nn.EmbeddingBag(words, 128, sparse=True), nn.Linear(128, 8))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    text, topics = torch.randint(0, words, (2000, 30)), torch.arange(2000) % 8
    steps = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        while time.monotonic() - started < seconds:
            batch = torch.randint(0, len(text), (128,))
            loss = nn.functional.cross_entropy(model(text[batch]), topics[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps % EVERY == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, os.path.join(folder, "last.pt"))
    print(f"{steps} steps, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

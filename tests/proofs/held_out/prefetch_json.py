"""Suffers from a prefetch process of its own that decodes JSON more slowly than a small NumPy model learns from it.

Required counter: run.thread.cpu. Expected: data waits. The one thread of that process computes all the time, so both
"loaders" and "one thread" are true.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time

import corral
import numpy as np

EXPECTED = ("wait", "loaders", "one thread")
WORDS, BATCH = 512, 64
Batch = tuple[np.ndarray, np.ndarray]


def documents() -> list[str]:
    generator = random.Random(7)
    return [
        json.dumps({"id": number, "stars": number % 2, "words": generator.choices(range(WORDS), k=2000)})
        for number in range(400)
    ]


def decoded(lines: list[str]) -> Batch:
    counts, labels = np.zeros((len(lines), WORDS)), np.zeros(len(lines))
    for row, line in enumerate(lines):
        document = json.loads(line)
        labels[row] = document["stars"]
        for word in document["words"]:
            counts[row, word] += 1
    return np.log1p(counts), labels


def fill(ready: multiprocessing.Queue[Batch], lines: list[str]) -> None:
    generator = random.Random(11)
    while True:
        ready.put(decoded(generator.sample(lines, BATCH)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    end = time.monotonic() + parser.parse_args().seconds

    ready: multiprocessing.Queue[Batch] = multiprocessing.Queue(2)
    prefetch = multiprocessing.Process(target=fill, args=(ready, documents()), daemon=True)
    prefetch.start()
    weights = np.zeros(WORDS)
    for counts, labels in corral.steps(iter(ready.get, None), samples=BATCH):
        for _ in range(10):
            wrong = 1 / (1 + np.exp(-counts @ weights)) - labels
            weights -= 0.01 * counts.T @ wrong / BATCH
        if time.monotonic() >= end:
            break
    prefetch.terminate()
    print(f"error {np.abs(wrong).mean():.3f}")


if __name__ == "__main__":
    main()

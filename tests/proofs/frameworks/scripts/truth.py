"""A script's own counts, and the values that it expects to be logged: written to a file when it ends."""

from __future__ import annotations

import atexit
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

counts: Counter[str] = Counter()
points: dict[str, list[tuple[int, float]]] = {}  # metric -> steps and values, in order
params: dict[str, str | None] = {}  # None: must not be recorded
tags: dict[str, str] = {}


def logged(metric: str, step: int, value: Any) -> None:
    points.setdefault(metric, []).append((step, float(value)))


def wait(batches: Iterable[Any], share: str = "waited") -> Iterator[Any]:
    """Yields the batches, and adds up how long it waits for them, the start of workers included."""
    began = time.monotonic()
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            return
        counts[share] += time.monotonic_ns() - round(began * 1e9)  # type: ignore[assignment]
        yield batch
        began = time.monotonic()


@atexit.register
def _write() -> None:
    path = os.environ.pop("PROOF_TRUTH", None)  # not in workers
    if path and (counts or points):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"counts": counts, "points": points, "params": params, "tags": tags}, file)

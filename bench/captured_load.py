"""A load that changes, for a recording of the listeners: python captured_load.py SECONDS

Rounds of 40 s: one busy process, file writes with fsync, memory that grows and goes, rest.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time


def burn(until: float) -> None:
    while time.monotonic() < until:
        sum(i * i for i in range(20_000))


def write(until: float) -> None:
    piece = os.urandom(1 << 20)
    with tempfile.TemporaryFile() as file:
        while time.monotonic() < until:
            for _ in range(random.randrange(1, 16)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            if file.tell() > 256 << 20:
                file.seek(0)
            time.sleep(random.random() / 5)


def allocate(until: float) -> None:
    held: list[bytearray] = []
    while time.monotonic() < until:
        held.append(bytearray(os.urandom(1 << 12) * 1024))
        if len(held) > 100:
            held.clear()
        time.sleep(0.05)


def rest(until: float) -> None:
    time.sleep(max(0.0, until - time.monotonic()))


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        for part in (burn, write, allocate, rest):
            part(min(end, time.monotonic() + 10))


if __name__ == "__main__":
    main()

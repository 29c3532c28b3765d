"""Suffers from a lock that two threads of the process need all the time. Cured, each has its own.

Required counter: run.thread.waited.lock. Expected: the steps, by threads in turn.
"""

from __future__ import annotations

import os
import threading
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # else a product takes all CPUs

import common
import numpy as np
import torch

EXPECTED = ("work", "threads in turn")


class Turns:
    """A lock that is given to the other thread each time."""

    def __init__(self) -> None:
        self.condition, self.turn, self.ended = threading.Condition(), 0, False

    def work(self, own: int) -> None:
        with self.condition:
            self.condition.wait_for(lambda: self.turn == own or self.ended)
            multiply()
            self.turn = 1 - own
            self.condition.notify_all()


def multiply() -> None:
    """About 30 ms without the interpreter's lock."""
    end = time.monotonic() + 0.03
    matrix = np.ones((192, 192))
    while time.monotonic() < end:
        matrix @ matrix


def main() -> None:
    chosen = common.options(__doc__)
    torch.set_num_threads(1)  # more of them wait for work in a loop
    turns = Turns()

    def prepare() -> None:
        while not turns.ended:
            multiply() if chosen.cure else turns.work(1)

    other = threading.Thread(target=prepare)
    other.start()
    batches = [torch.rand(16, common.WIDTH) for _ in range(64)]
    work = (lambda _: multiply()) if chosen.cure else (lambda _: turns.work(0))
    common.train(common.model(), batches, chosen.seconds, after_step=work)
    with turns.condition:
        turns.ended = True
        turns.condition.notify_all()
    other.join()


if __name__ == "__main__":
    main()

"""Suffers from a checkpoint after every tenth step. Cured, it writes one after every ten thousandth.

Required: the phases. Expected: I/O.
"""

from __future__ import annotations

import os
import tempfile

import common
import torch

EXPECTED = ("io", "unknown", "storage", "one thread")


def main() -> None:
    chosen = common.options(__doc__)
    net = common.model()
    net.register_buffer("statistics", torch.zeros(16 << 20))  # 64 MiB
    batches = [torch.rand(16, common.WIDTH) for _ in range(40)]
    with tempfile.TemporaryDirectory(dir=".") as folder:

        def save() -> None:
            path = os.path.join(folder, "last.pt")
            torch.save(net.state_dict(), path)

        def after_step(step: int) -> None:
            if step % (10_000 if chosen.cure else 10) == 0:
                save()

        common.train(net, batches, chosen.seconds, after_step)


if __name__ == "__main__":
    main()

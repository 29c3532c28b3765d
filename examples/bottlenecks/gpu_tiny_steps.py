"""Suffers from kernels so small that one thread of Python cannot start them fast enough. Cured, they are greater.

Required counters: run.thread.cpu, host.gpu.sm.active. Expected: the steps, by one thread; the GPU has often no work.
"""

from __future__ import annotations

import common

EXPECTED = ("work", "one thread")
NEEDS = "GPU"


def main() -> None:
    chosen = common.options(__doc__)
    common.multiply_on_gpu(8192 if chosen.cure else 64, 8, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from products of large matrices, which keep the cores of a GPU busy. Cured, they are small.

Required metrics: host.gpu.sm.active, host.gpu.throttle.power. Expected: the steps, by the GPU's cores; by their clocks,
where power holds these down.
"""

from __future__ import annotations

import common

EXPECTED = ("work", "GPU cores", "GPU clocks")
NEEDS = "GPU"


def main() -> None:
    chosen = common.options(__doc__)
    common.multiply_on_gpu(512 if chosen.cure else 8192, 4, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from another program on the same GPU. Cured, nothing is changed: end the other program.

Required metrics: host.gpu.busy, run.gpu.busy, host.gpu.sm.active. Expected: the steps, by other programs on the GPU.
"""

from __future__ import annotations

import common

EXPECTED = ("work", "other programs on the GPU")
NEEDS = "busy GPU"


def main() -> None:
    chosen = common.options(__doc__)
    common.multiply_on_gpu(4096, 4, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from one worker that cannot keep a GPU busy. Cured, there is one for each CPU; four or more are enough.

Required metrics: run.thread.cpu, host.gpu.sm.active. Expected: data waits, by the loaders, while the GPU idles.
"""

from __future__ import annotations

import common
from torch.utils.data import DataLoader

EXPECTED = ("wait", "loaders")
NEEDS = "GPU"


def main() -> None:
    chosen = common.options(__doc__)
    workers = common.CPUS if chosen.cure else 1
    data = common.Samples(lambda: common.burn(0.002))
    loader = DataLoader(data, batch_size=16, num_workers=workers, persistent_workers=True, pin_memory=True)
    common.train(common.model().to("cuda"), loader, chosen.seconds)


if __name__ == "__main__":
    main()

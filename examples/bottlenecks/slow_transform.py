"""Suffers from transforms that keep every worker computing. Cured, they are cheap.

Required counter: run.thread.cpu. Expected: data waits, by the loaders, for which no CPU is free; or by all CPUs.
"""

from __future__ import annotations

import common
from torch.utils.data import DataLoader

EXPECTED = ("wait", "loaders", "CPUs")


def main() -> None:
    chosen = common.options(__doc__)
    cost = 0.0001 if chosen.cure else 0.005
    data = common.Samples(lambda: common.burn(cost))
    loader = DataLoader(data, batch_size=16, num_workers=common.CPUS, persistent_workers=True)
    common.train(common.model(), loader, chosen.seconds)


if __name__ == "__main__":
    main()

"""Suffers from one worker that cannot keep up. Cured, there is one for each CPU; four or more are enough.

Required counter: run.thread.cpu. Expected: data waits, by the loaders; more workers would help.
"""

from __future__ import annotations

import common
from torch.utils.data import DataLoader

EXPECTED = ("wait", "loaders")


def main() -> None:
    chosen = common.options(__doc__)
    workers = common.CPUS if chosen.cure else 1
    data = common.Samples(lambda: common.burn(0.002))
    loader = DataLoader(data, batch_size=16, num_workers=workers, persistent_workers=True)
    common.train(common.model(), loader, chosen.seconds)


if __name__ == "__main__":
    main()

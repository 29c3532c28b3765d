"""Suffers from data that comes from afar: the loader waits for a reply, and computes nothing. Cured, it is near.

Required: the phases. Expected: data waits, by an unknown resource: no metric tells which server is slow.
"""

from __future__ import annotations

import time

import common
from torch.utils.data import DataLoader

EXPECTED = ("wait", "unknown")


def main() -> None:
    chosen = common.options(__doc__)
    delay = 0 if chosen.cure else 0.003
    loader = DataLoader(common.Samples(lambda: time.sleep(delay)), batch_size=16)
    common.train(common.model(), loader, chosen.seconds, after_step=lambda _: common.burn(0.04))


if __name__ == "__main__":
    main()

"""Suffers from an evaluation after every epoch that takes longer than the epoch. Cured, it is short.

Required: the phases. Expected: evaluation.
"""

from __future__ import annotations

import common
import torch
from torch.utils.data import DataLoader, TensorDataset

EXPECTED = ("evaluation", "one thread", "CPUs")


def main() -> None:
    chosen = common.options(__doc__)
    net = common.model()
    training = DataLoader(torch.rand(2048, common.WIDTH), batch_size=64)
    test = DataLoader(TensorDataset(torch.rand(512 if chosen.cure else 32_768, common.WIDTH)), batch_size=64)

    def evaluate() -> None:
        net.eval()
        with torch.no_grad():
            for (batch,) in test:
                net(batch)
        net.train()

    common.train(net, training, chosen.seconds, after_epoch=evaluate)


if __name__ == "__main__":
    main()

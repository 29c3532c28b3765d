"""Hugging Face's Trainer, whose one worker waits for a server that answers late. Cured, the texts are in memory.

Required: the phases. Expected: data waits, by an unknown resource: nothing on this machine is busy. Cured: the steps.
"""

from __future__ import annotations

import time
from typing import Any

import huggingface_net
import numpy as np
from common import LATENCY, options
from torch.utils.data import Dataset

EXPECTED = ("wait", "unknown")
CURED = ("work", "one thread", "CPUs")


class Far(Dataset):
    def __init__(self, cure: bool) -> None:
        self.cure = cure

    def __len__(self) -> int:
        return 20_000

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not self.cure:
            time.sleep(LATENCY)
        return {"input_ids": np.full(huggingface_net.LENGTH, index % 1000), "labels": index % 2}


if __name__ == "__main__":
    chosen = options(__doc__)
    huggingface_net.train(Far(chosen.cure), chosen.seconds, batch=64)

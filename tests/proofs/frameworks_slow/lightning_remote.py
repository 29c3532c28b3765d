"""Lightning, whose one worker waits for a server that answers late. Cured, the pictures are in memory.

Required: the phases. Expected: data waits, by an unknown resource: nothing on this machine is busy. Cured: the steps.
"""

from __future__ import annotations

import lightning_net
import numpy as np
from common import fetched, options
from torch.utils.data import Dataset

EXPECTED = ("wait", "unknown")
CURED = ("work", "one thread", "CPUs")


class Far(Dataset):
    def __init__(self, cure: bool) -> None:
        self.cure = cure

    def __len__(self) -> int:
        return 8000

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return fetched(index, self.cure), index % 10


if __name__ == "__main__":
    chosen = options(__doc__)
    lightning_net.train(Far(chosen.cure), chosen.seconds, batch=64)

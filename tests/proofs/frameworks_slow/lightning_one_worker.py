"""Lightning, whose one worker augments pictures slowly, for a small network. Cured, it crops them.

Required counter: run.thread.cpu. Expected: data waits, by the loaders. Cured: the steps, by the training thread.
"""

from __future__ import annotations

import lightning_net
import numpy as np
from common import augmented, cropped, options, picture
from torch.utils.data import Dataset

EXPECTED = ("wait", "loaders")
CURED = ("work", "one thread", "CPUs")


class Pictures(Dataset):
    def __init__(self, cure: bool) -> None:
        self.cure = cure
        self.pixels = [picture(index) for index in range(64)]

    def __len__(self) -> int:
        return 8000

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        pixels = self.pixels[index % 64]
        return cropped(pixels) if self.cure else augmented(pixels, index), index % 10


if __name__ == "__main__":
    chosen = options(__doc__)
    lightning_net.train(Pictures(chosen.cure), chosen.seconds, batch=16)

"""Hugging Face's Trainer, whose one worker tokenizes long texts. Cured, they were tokenized before.

Required counter: run.thread.cpu. Expected: data waits, by the loaders. Cured: the steps, by the training thread.
"""

from __future__ import annotations

from typing import Any

import huggingface_net
from common import options, text, tokenized
from torch.utils.data import Dataset

EXPECTED = ("wait", "loaders")
CURED = ("work", "one thread", "CPUs")


class Texts(Dataset):
    def __init__(self, cure: bool) -> None:
        documents = [text(index) for index in range(64)]
        self.texts = [tokenized(one, huggingface_net.LENGTH) if cure else one for one in documents]

    def __len__(self) -> int:
        return 20_000

    def __getitem__(self, index: int) -> dict[str, Any]:
        found = self.texts[index % 64]
        numbers = tokenized(found, huggingface_net.LENGTH) if isinstance(found, str) else found
        return {"input_ids": numbers, "labels": index % 2}


if __name__ == "__main__":
    chosen = options(__doc__)
    huggingface_net.train(Texts(chosen.cure), chosen.seconds, batch=16)

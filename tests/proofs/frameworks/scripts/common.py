"""A small regression in PyTorch."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

rows = TensorDataset(torch.randn(100, 4), torch.randn(100, 1))
loader = DataLoader(rows, batch_size=16, shuffle=True)
held_out = DataLoader(rows, batch_size=50)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


class Slow(Dataset):
    """Takes 2 ms for each sample."""

    def __len__(self) -> int:
        return 100

    def __getitem__(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(0.002)
        return rows[n]


def loss_of(batch: list[torch.Tensor]) -> torch.Tensor:
    return ((model(batch[0].reshape(-1, 4)) - batch[1].reshape(-1, 1)) ** 2).mean()

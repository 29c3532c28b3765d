"""A small convolutional network of Lightning, trained by its Trainer with one worker for a time."""

from __future__ import annotations

import tempfile

import lightning
import torch
from common import SIDE
from torch.utils.data import DataLoader, Dataset


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(32 * (SIDE // 2) ** 2, 10),
        )

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def train(data: Dataset, seconds: float, batch: int) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=1000,
            max_time={"seconds": round(seconds)},
            accelerator="cpu",
            default_root_dir=folder,
            enable_progress_bar=False,
            enable_model_summary=False,
            logger=False,
        )
        trainer.fit(Net(), DataLoader(data, batch_size=batch, num_workers=1, persistent_workers=True))
        print(f"{trainer.global_step} steps")

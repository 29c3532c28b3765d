"""A small BERT of Hugging Face's transformers, trained by their Trainer with one worker for a time."""

from __future__ import annotations

import tempfile
import time

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

LENGTH = 32


class Until(TrainerCallback):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def on_train_begin(self, args, state, control, **kwargs):
        self.end = time.monotonic() + self.seconds

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = time.monotonic() >= self.end


def train(data: Dataset, seconds: float, batch: int) -> None:
    torch.set_num_threads(1)
    config = BertConfig(
        vocab_size=1000, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, num_labels=2
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=1000,
            per_device_train_batch_size=batch,
            dataloader_num_workers=1,
            dataloader_persistent_workers=True,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        trainer = Trainer(
            BertForSequenceClassification(config), arguments, train_dataset=data, callbacks=[Until(seconds)]
        )
        trainer.train()
        print(f"{trainer.state.global_step} steps")

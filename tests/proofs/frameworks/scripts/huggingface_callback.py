"""Hugging Face's Trainer: its own history says what is to be recorded."""

import tempfile

import truth
from common import rows, torch
from corral.transformers import CorralCallback
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments


class Regression(PreTrainedModel):
    config_class = PretrainedConfig
    main_input_name = "x"

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 1)
        self.post_init()

    def forward(self, x=None, labels=None):
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}


data = [{"x": x, "labels": y} for x, y in rows]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=0.02,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        logging_steps=2,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        hub_token="do not record",
    )
    trainer = Trainer(
        Regression(PretrainedConfig()), arguments, train_dataset=data, eval_dataset=data, callbacks=[CorralCallback()]
    )
    trainer.train()
    state = trainer.state

for entry in state.log_history:
    for name, value in entry.items():
        if name != "step":
            truth.logged(f"eval/{name[5:]}" if name.startswith("eval_") else f"train/{name}", entry["step"], value)
assert len(truth.points["train/loss"]) == 14
assert len(truth.points["eval/loss"]) == 4
truth.params |= {"learning_rate": "0.02", "num_train_epochs": "4", "eval_strategy": "epoch", "hub_token": None}
truth.tags |= {"best_metric": str(state.best_metric), "best_model_checkpoint": state.best_model_checkpoint}

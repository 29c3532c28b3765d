import tempfile

from common import rows, torch
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainerCallback, TrainingArguments
from truth import counts


class Regression(PreTrainedModel):
    config_class = PretrainedConfig
    main_input_name = "x"

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 1)
        self.post_init()

    def forward(self, x=None, labels=None):
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}


class Counting(TrainerCallback):
    def on_epoch_begin(self, *args, **kwargs):
        counts["epochs"] += 1

    def on_step_end(self, *args, **kwargs):
        counts["steps"] += 1

    def on_evaluate(self, *args, **kwargs):
        counts["evaluations"] += 1

    def on_save(self, *args, **kwargs):
        counts["checkpoints"] += 1


data = [{"x": x, "labels": y} for x, y in rows]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=5,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=50,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    Trainer(
        Regression(PretrainedConfig()), arguments, train_dataset=data, eval_dataset=data, callbacks=[Counting()]
    ).train()

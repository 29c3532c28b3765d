import tempfile

import lightning
from common import held_out, loader, torch
from truth import counts


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        return ((self.layer(batch[0]) - batch[1]) ** 2).mean()

    def validation_step(self, batch, _):
        self.log("loss", self.training_step(batch, 0))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def on_train_epoch_start(self):
        counts["epochs"] += 1

    def optimizer_step(self, *args, **kwargs):
        super().optimizer_step(*args, **kwargs)
        counts["steps"] += 1

    def on_validation_epoch_start(self):
        counts["evaluations"] += 1

    def on_save_checkpoint(self, checkpoint):
        counts["checkpoints"] += 1

    def on_train_batch_start(self, batch, _):
        counts["samples"] += len(batch[0])


with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        num_sanity_val_steps=0,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regression(), loader, held_out)

"""Lightning with two loggers: its own CSV file says what is to be recorded."""

import csv
import importlib
import os
import sys
import tempfile
from pathlib import Path

import truth
from common import held_out, loader, torch
from corral.lightning import CorralLogger

package = "pytorch_lightning" if "pytorch_lightning" in sys.argv else "lightning.pytorch"
lightning = importlib.import_module(package)
CSVLogger = importlib.import_module(f"{package}.loggers").CSVLogger


class Regression(lightning.LightningModule):
    def __init__(self, lr, layers, api_key):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("train/loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val/loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def test_step(self, batch, index):
        self.log("test/loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


with tempfile.TemporaryDirectory() as folder:
    file = CSVLogger(folder, name="", version="csv")
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        devices=2 if "ddp" in sys.argv else 1,
        strategy="ddp" if "ddp" in sys.argv else "auto",
        default_root_dir=folder,
        logger=[CorralLogger(log_model=True), file],
        callbacks=[importlib.import_module(f"{package}.callbacks").ModelCheckpoint(folder, "best", "val/loss")],
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regression(0.01, {"width": 4, "names": ["a", "b"]}, "do not record"), loader, held_out)
    trainer.test(dataloaders=held_out, verbose=False)
    if trainer.is_global_zero:
        for row in csv.DictReader((Path(folder) / "csv" / "metrics.csv").open()):
            for name, value in row.items():
                if name != "step" and value:
                    truth.logged(name, int(row["step"]), value)
    else:
        del os.environ["PROOF_TRUTH"]

kept = (Path(os.environ["CORRAL_SEGMENT_DIR"]).parent / "artifacts").glob("*/name")
assert [path.read_text().split("\n")[1] for path in kept] == ["checkpoints/best.ckpt"] or not trainer.is_global_zero
assert len(truth.points["train/loss_step"]) == (6 if "ddp" in sys.argv else 10) or not trainer.is_global_zero
truth.params |= {"lr": "0.01", "layers/width": "4", "layers/names": "['a', 'b']", "api_key": None}
truth.tags["lightning.status"] = "success"

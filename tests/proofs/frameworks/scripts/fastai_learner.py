import fastai.callback.progress  # noqa: F401 - gives a learner no_bar()
from common import rows, torch
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from truth import counts


class Counting(Callback):
    def before_train(self):
        counts["epochs"] += 1

    def after_step(self):
        counts["steps"] += 1

    def before_validate(self):
        counts["evaluations"] += 1


loaders = DataLoaders(DataLoader(rows, bs=10, shuffle=True), DataLoader(rows, bs=50))
learner = Learner(loaders, torch.nn.Linear(4, 1), torch.nn.functional.mse_loss, cbs=[Counting()])
with learner.no_bar(), learner.no_logging():
    learner.fit(2)

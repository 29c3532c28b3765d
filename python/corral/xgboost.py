"""A callback for XGBoost: `xgboost.train(..., callbacks=[CorralCallback()])`, also for its scikit-learn classes."""

from __future__ import annotations

import json

import xgboost

import corral
from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


class CorralCallback(xgboost.callback.TrainingCallback):
    """Records evaluation results by round as `DATA/METRIC`, the booster's parameters, and the best iteration as a tag.

    `xgboost.cv` gives means and standard deviations: `test/rmse-mean` and `test/rmse-std`. In distributed training,
    where all workers have the same results, the first records them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first = 0  # rounds of the model that the training continues
        self._recorded = 0  # rounds
        self._results: Mapping[str, Mapping[str, list[Any]]] = {}

    def before_training(self, model: Any) -> Any:
        self._begin(model)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self._record(evals_log)
        return False

    def after_training(self, model: Any) -> Any:
        self._end(model)
        return model

    @harmless
    def _begin(self, model: Any) -> None:
        self._first, self._recorded, self._results = model.num_boosted_rounds(), 0, {}
        if _is_first() and hasattr(model, "save_config"):
            learner = json.loads(model.save_config())["learner"]
            _callback.params(dict(_parameters(learner)))
            _callback.params({"eval_metric": ", ".join(metric["name"] for metric in learner.get("metrics", ()))})

    @harmless
    def _record(self, results: Mapping[str, Mapping[str, list[Any]]]) -> None:
        """XGBoost keeps the results of all rounds: those that this was not called for are recorded, too."""
        self._results = results
        rounds = max((len(scores) for metrics in results.values() for scores in metrics.values()), default=0)
        begin, self._recorded = self._recorded, rounds
        for n in range(begin, rounds) if _is_first() else ():
            _callback.log(dict(_scores(results, n)), self._first + n)

    @harmless
    def _end(self, model: Any) -> None:
        self._record(self._results)  # a callback before this one may have stopped the training
        best = model.attr("best_iteration")
        if best is not None and _is_first():
            corral.tag("best_iteration", best)
            corral.tag("best_score", model.attr("best_score"))


def _is_first() -> bool:
    return int(xgboost.collective.get_rank()) == 0


def _parameters(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of the training among a booster's configuration, which has them in nested sections."""
    for name, value in section.items():
        if name.endswith("_param") and not name.endswith("_model_param"):
            yield from value.items()
        elif isinstance(value, dict):
            yield from _parameters(value)


def _scores(results: Mapping[str, Mapping[str, list[Any]]], n: int) -> Iterator[tuple[str, Any]]:
    for data, metrics in results.items():
        for metric, scores in metrics.items():
            if n < len(scores) and isinstance(scores[n], tuple):
                yield f"{data}/{metric}-mean", scores[n][0]
                yield f"{data}/{metric}-std", scores[n][1]
            elif n < len(scores):
                yield f"{data}/{metric}", scores[n]

"""A callback for LightGBM: `lightgbm.train(..., callbacks=[corral_callback()])`, also for its scikit-learn classes."""

from __future__ import annotations

import lightgbm  # noqa: F401  # absent, it is what the error names

from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_ORDER = 25  # after LightGBM's log_evaluation and record_evaluation, before early_stopping, which ends the round


def corral_callback() -> Callable[[Any], None]:
    """Records evaluation results by round as `DATA/METRIC`, and the parameters that the training was given.

    `lightgbm.cv` gives means and standard deviations: `valid/l2-mean` and `valid/l2-stdv`.
    """
    return _Callback()


class _Callback:
    order = _ORDER
    before_iteration = False

    @harmless
    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration:
            _callback.params(env.params)
        _callback.log(dict(_results(env.evaluation_result_list or ())), env.iteration)


def _results(results: Any) -> Iterator[tuple[str, float]]:
    for data, metric, value, _, *deviation in results:
        if data == "cv_agg":  # lightgbm.cv before 4.7 puts both into the metric's name
            data, _, metric = metric.partition(" ")
        if deviation:
            yield f"{data}/{metric}-mean", value
            yield f"{data}/{metric}-stdv", deviation[0]
        else:
            yield f"{data}/{metric}", value

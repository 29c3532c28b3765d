"""Libraries that train by calls: each round of XGBoost and LightGBM, each partial_fit of scikit-learn, is a step.

So is each fit of an estimator with warm_start. Calls within such a call are part of it. While batches of a DataLoader
are read such a call is what an optimizer step is: the pass is an epoch.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _capture, _loop
from corral._capture import Part
from corral._capture_loader import TRAINING
from corral._capture_save import argument, close, wrap_save
from corral._capture_torch import begin_update
from corral._loop import COMPUTE, Loop, now
from corral._samples import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_XGBOOST = Part("xgboost.train")
_LIGHTGBM = Part("lightgbm.train")
_SKLEARN = Part("sklearn.fit")


def _always(args: tuple[Any, ...]) -> int:
    """A call that is a step; the number of its samples is not counted."""
    return 0


def _rows(args: tuple[Any, ...]) -> int:
    return rows_of(args[1]) if len(args) > 1 else 0


def _partial_fit(args: tuple[Any, ...]) -> int | None:
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return None if caller.startswith("sklearn.") else _rows(args)  # some estimators' fit calls it


def _warm_fit(args: tuple[Any, ...]) -> int | None:
    return _rows(args) if getattr(args[0], "warm_start", False) is True else None


def wrap_round(
    original: Callable[..., Any], part: Part, samples: Callable[[tuple[Any, ...]], int | None] = _always
) -> Callable[..., Any]:
    """Wraps a function that trains on each call; `samples` returns the size of the call's batch, or None if the call is
    not a step.
    """

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not part.on:
            return original(*args, **kwargs)
        loop = _loop.current()
        if loop.busy or loop.fitting:
            return original(*args, **kwargs)
        began: bool | None = None
        try:
            count = samples(args)
            began = None if count is None else _begin(loop, count)
        except Exception:
            part.give_up()
        if began is None:
            return _run_fit(loop, original, args, kwargs)
        loop.busy = True
        depth = len(loop.open)
        try:
            result = original(*args, **kwargs)
        except BaseException:
            loop.busy = False
            close(loop, depth if began else 0, part)
            raise
        loop.busy = False
        try:
            _end(loop, began)
        except Exception:
            part.give_up()
        return result

    return call


def _run_fit(loop: Loop, fit: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A fit that is no step: some call partial_fit."""
    loop.fitting = True
    try:
        return fit(*args, **kwargs)
    finally:
        loop.fitting = False


def _begin(loop: Loop, samples: int) -> bool:
    """Returns true if the call is a step of its own."""
    main = begin_update(loop)
    if loop.explicit or loop.tangled or loop.in_step >= 0 or (main is not None and main.kind == TRAINING):
        return False
    loop.begin_step(now())
    loop.samples = samples
    return True


def _end(loop: Loop, began: bool) -> None:
    if began:
        loop.updates.append(0)
        loop.end_step(now())
    elif loop.in_step >= 0 and not loop.explicit:
        loop.updates.append(0)


def wrap_evaluation(
    original: Callable[..., Any], part: Part, evaluated: Callable[[tuple[Any, ...], Any], bool]
) -> Callable[..., Any]:
    """`evaluated` says whether the call did anything, by its arguments and result: it is also called without data."""

    @wraps(original)
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        began = now()
        result = original(*args, **kwargs)
        loop = _loop.existing()
        if part.on and loop is not None and not loop.busy:
            try:
                if evaluated(args, result) and not loop.is_inside("evaluation"):
                    loop.leaf("evaluation", COMPUTE, began, now())
            except Exception:
                part.give_up()
        return result

    return evaluate


def _has_sets(args: tuple[Any, ...], _: Any) -> bool:
    return len(args) < 2 or bool(args[1])


def _hook_xgboost(module: Any) -> None:
    booster = module.Booster
    booster.update = wrap_round(booster.update, _XGBOOST)
    booster.boost = wrap_round(booster.boost, _XGBOOST)
    booster.eval_set = wrap_evaluation(booster.eval_set, _XGBOOST, _has_sets)
    booster.save_model = wrap_save(booster.save_model, _XGBOOST, argument(1, "fname"))


def _hook_lightgbm(module: Any) -> None:
    booster = module.Booster
    booster.update = wrap_round(booster.update, _LIGHTGBM)
    booster.eval_valid = wrap_evaluation(booster.eval_valid, _LIGHTGBM, lambda _, result: bool(result))
    booster.save_model = wrap_save(booster.save_model, _LIGHTGBM, argument(1, "filename"))


def _hook_sklearn(module: Any) -> None:
    """Its own decorator of fit and partial_fit, before the estimators are defined."""
    original = module._fit_context

    @wraps(original)
    def _fit_context(*args: Any, **kwargs: Any) -> Any:
        decorate = original(*args, **kwargs)

        def decorator(method: Any) -> Any:
            decorated = decorate(method)
            if method.__name__ == "partial_fit":
                return wrap_round(decorated, _SKLEARN, _partial_fit)
            return wrap_round(decorated, _SKLEARN, _warm_fit) if method.__name__ == "fit" else decorated

        return decorator

    module._fit_context = _fit_context


_HOOKS = {
    "lightgbm.basic": (_LIGHTGBM, _hook_lightgbm),
    "sklearn.base": (_SKLEARN, _hook_sklearn),
    "xgboost.core": (_XGBOOST, _hook_xgboost),
}


def wrap(name: str, module: Any) -> None:
    _capture.place(_HOOKS, name, module)

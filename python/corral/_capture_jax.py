"""JAX has no training loop of its own: each region that a script marks with jax.profiler.StepTraceAnnotation is a step.

So is a call of optax.apply_updates, unless it is within a compiled function: that is not run by Python.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _capture, _loop
from corral._capture import Part
from corral._capture_save import close
from corral._capture_torch import stepped, stepping
from corral._loop import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_STEP = Part("jax.step")
_OPTAX = Part("optax.update")


def _hook_annotation(module: Any) -> None:
    annotation = module.StepTraceAnnotation
    enter, leave = annotation.__enter__, annotation.__exit__

    def __enter__(self: Any) -> Any:  # noqa: N807
        result = enter(self)
        if _STEP.on:
            try:
                loop = _loop.current()
                if loop.in_step < 0:
                    loop.begin_step(now())
                    loop.explicit += 1
                    self._corral = True
            except Exception:
                _give_up()
        return result

    def __exit__(self: Any, *error: Any) -> Any:  # noqa: N807
        if _STEP.on:
            try:
                loop = _loop.current()
                if self.__dict__.pop("_corral", False):
                    loop.explicit = max(loop.explicit - 1, 0)
                    loop.updates.append(0)
                    loop.end_step(now())
            except Exception:
                _give_up()
        return leave(self, *error)

    annotation.__enter__ = __enter__
    annotation.__exit__ = __exit__
    _loop.at_finish(_tell_unseen)


def _give_up() -> None:
    _STEP.give_up()
    _loop.abandon()


def _tell_unseen() -> None:
    if not any(loop.steps for loop in _loop.all_loops()):
        _STEP.tell(
            "not captured",
            "JAX has no training loop to hook: mark steps with jax.profiler.StepTraceAnnotation or corral.steps()",
        )


def _wrap_update(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def apply_updates(*args: Any, **kwargs: Any) -> Any:
        if not _OPTAX.on:
            return original(*args, **kwargs)
        loop, runs = _loop.current(), False
        try:
            runs = not loop.busy and not _is_traced((*args, *kwargs.values()))
            if runs:
                stepping(loop, _OPTAX)
        except Exception:
            _OPTAX.give_up()
        try:
            result = original(*args, **kwargs)
        except BaseException:
            close(loop, len(loop.open) if runs and loop.innermost() == "optimizer" else 0, _OPTAX)
            raise
        if runs and _OPTAX.on:
            try:
                stepped(loop, _OPTAX)
            except Exception:
                _OPTAX.give_up()
        return result

    return apply_updates


def _is_traced(trees: tuple[Any, ...]) -> bool:
    jax = sys.modules["jax"]
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(trees)):
        return False
    _OPTAX.tell(
        "partial",
        "updates within jax.jit are no steps here: mark steps with jax.profiler.StepTraceAnnotation or corral.steps()",
    )
    return True


def _hook_optax(module: Any) -> None:
    module.apply_updates = _wrap_update(module.apply_updates)


_HOOKS = {"jax._src.profiler": (_STEP, _hook_annotation), "optax._src.update": (_OPTAX, _hook_optax)}


def wrap(name: str, module: Any) -> None:
    _capture.place(_HOOKS, name, module)

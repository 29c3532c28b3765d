"""For optax: `optimizer = record(optax.adam(1e-3))` records its updates, also those inside `jax.jit`."""

from __future__ import annotations

import jax
import optax

from corral import _callback
from corral._callback import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def record(transformation: optax.GradientTransformation, every: int = 1) -> optax.GradientTransformation:
    """Returns a transformation with the same updates and the same state that records `grad_norm` and `update_norm`.

    Also `learning_rate`, where `optax.inject_hyperparams` keeps it in the state. The step is the state's `count` before
    the update; without one (plain SGD) updates are counted as they arrive. Only steps that `every` divides are
    recorded. Outside a run the transformation itself is returned.
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, not {every}")
    if not _callback.enabled():
        return transformation
    inner = optax.with_extra_args_support(transformation)
    recorder = _Recorder(every)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        changed, after = inner.update(updates, state, params, **extra)
        recorder.observe(updates, changed, state, after)
        return changed, after

    return optax.GradientTransformationExtraArgs(transformation.init, update)


class _Recorder:
    def __init__(self, every: int) -> None:
        self._every = every
        self._updates = 0  # that were seen where the state does not count them

    @harmless
    def observe(self, gradients: Any, updates: Any, before: Any, after: Any) -> None:
        """Called when Python runs the update: while JAX traces a function, or at each update outside of one."""
        count, rates = _first(before, "count"), _first(after, "learning_rate")

        def emit() -> None:
            norms = {"grad_norm": optax.global_norm(gradients), "update_norm": optax.global_norm(updates)}
            jax.debug.callback(self._write, norms if rates is None else norms | {"learning_rate": rates}, count)

        if count is None or self._every == 1:
            emit()
        elif isinstance(count, jax.core.Tracer):
            jax.lax.cond(count % self._every == 0, emit, lambda: None)
        elif int(count) % self._every == 0:
            emit()

    @harmless
    def _write(self, values: Any, count: Any) -> None:
        """Called with the values, in a thread of JAX."""
        if count is None:
            step, self._updates = self._updates, self._updates + 1
        else:
            step = int(count)
        if step % self._every == 0:
            _callback.log(values, step)


def _first(state: Any, name: str) -> Any:
    """The first scalar of this name in a transformation's state; None if it has none."""
    found = (value for _, value in optax.tree_utils.tree_get_all_with_path(state, name))
    return next((value for value in found if getattr(value, "ndim", None) == 0), None)

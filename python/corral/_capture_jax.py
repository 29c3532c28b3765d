"""JAX has no training loop of its own: what a script marks with jax.profiler.StepTraceAnnotation is a step."""

from __future__ import annotations

from corral import _loop
from corral._capture import Switch, give_up
from corral._loop import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def wrap(name: str, module: Any) -> None:
    annotation = module.StepTraceAnnotation
    enter, leave = annotation.__enter__, annotation.__exit__

    def __enter__(self: Any) -> Any:  # noqa: N807
        result = enter(self)
        if Switch.on:
            try:
                loop = _loop.current()
                if loop.in_step < 0:
                    loop.begin_step(now())
                    loop.explicit += 1
                    self._corral = True
            except Exception:
                give_up()
        return result

    def __exit__(self: Any, *error: Any) -> Any:  # noqa: N807
        if Switch.on:
            try:
                loop = _loop.current()
                if self.__dict__.pop("_corral", False):
                    loop.explicit -= 1
                    loop.updates.append(0)
                    loop.end_step(now())
            except Exception:
                give_up()
        return leave(self, *error)

    annotation.__enter__ = __enter__
    annotation.__exit__ = __exit__

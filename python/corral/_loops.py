"""epochs() and steps(): a training loop that declares its own epochs and steps, in the phases that the capture would
see.
"""

from __future__ import annotations

import os
import sys

from corral._samples import samples_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from corral import _native as _impl
    from corral._loop import Loop

    Batch = TypeVar("Batch")
else:
    _impl = sys.modules["corral"]._impl

_END = object()


def _limit(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


class _Done:
    """Counts of this process, by these helpers."""

    epochs = 0
    steps = 0


def _reached(option: str, limit: int) -> bool:
    """True. Notifies the supervisor why the script ends as if it had done all: the file exists when it looks."""
    if _impl.enabled():
        try:
            with open(os.path.join(os.environ["CORRAL_SEGMENT_DIR"], "..", "limit"), "x") as file:
                file.write(f"{option} {limit}\n")
        except (OSError, KeyError):  # said already, or nowhere to say it
            pass
    return True


def _is_enough() -> bool:
    epochs = _limit("CORRAL_MAX_EPOCHS")
    if epochs is not None and _Done.epochs >= epochs:
        return _reached("--max-epochs", epochs)
    return _is_enough_steps()


def epochs(n: int, start: int = 0) -> Iterator[int]:
    """`for e in corral.epochs(n)`: as range(start, n), each an epoch; ends early at --max-epochs and --max-steps."""
    from corral import _loop

    for index in range(start, n):
        if _is_enough():
            return
        if not _impl.enabled():
            _Done.epochs += 1
            yield index
            continue
        loop = _loop.current()
        depth = len(loop.open)
        loop.settle(_loop.now())
        loop.begin_epoch(_loop.now(), index)
        _Done.epochs += 1
        try:
            yield index
        finally:
            if len(loop.open) > depth and _loop.existing() is loop:  # not in a forked child
                loop.unwind(depth, _loop.now())


def steps(loader: Iterable[Batch], samples: int | Callable[[Batch], int] | None = None) -> Iterator[Batch]:
    """`for batch in corral.steps(loader)`: each batch a step phase with its data wait; ends early at --max-steps.

    `samples` says how many there are in a batch, as a number or as a function of the batch; left out, the batch's first
    dimension.
    """
    if not _impl.enabled():
        yield from _counted(iter(loader))
    else:
        yield from _recorded(loader, samples)


def _is_enough_steps() -> bool:
    limit = _limit("CORRAL_MAX_STEPS")
    return limit is not None and _Done.steps >= limit and _reached("--max-steps", limit)


def _counted(iterator: Iterator[Batch]) -> Iterator[Batch]:
    while not _is_enough_steps():
        batch: Any = next(iterator, _END)
        if batch is _END:
            return
        _Done.steps += 1
        yield batch


def _recorded(loader: Iterable[Batch], samples: int | Callable[[Batch], int] | None) -> Iterator[Batch]:
    from corral import _loop

    loop = _loop.current()
    size = getattr(loader, "batch_size", None)
    known = size if type(size) is int else 0
    depth = len(loop.open)
    loop.settle(_loop.now())
    loop.explicit += 1
    began = _loop.now()
    try:
        if not loop.is_inside("epoch"):
            loop.begin_epoch(began)
        iterator = iter(loader)
        while not _is_enough_steps():
            began = _loop.now()
            batch = _next(loop, iterator)
            if batch is _END:
                break
            ended = _loop.now()
            loop.begin_step(began)
            loop.wait(began, ended)
            loop.samples = _counted_samples(iterator, batch, known) if samples is None else _given(samples, batch)
            _Done.steps += 1
            yield batch
            if _loop.existing() is not loop:  # a forked child: it has no part in its parent's phases
                yield from _counted(iterator)
                return
            loop.updates.append(0)
            if loop.in_step >= 0:
                loop.end_step(_loop.now())
    finally:
        if _loop.existing() is loop:
            loop.explicit = max(loop.explicit - 1, 0)
            if loop.in_step >= depth:  # left by a break
                loop.end_step(_loop.now())
            if len(loop.open) > depth:
                loop.unwind(depth, _loop.now())


def _next(loop: Loop, iterator: Iterator[Batch]) -> Any:
    loop.busy = True  # the loader may be one that is captured
    try:
        return next(iterator, _END)
    finally:
        loop.busy = False


def _counted_samples(iterator: Iterator[Any], batch: object, size: int) -> int:
    """A captured DataLoader knows; of other batches the first dimension is taken."""
    if "_corral_sizes" in getattr(iterator, "__dict__", ()):
        from corral import _capture_loader

        return _capture_loader.take_samples(iterator, batch)
    return samples_of(batch, size)


def _given(samples: int | Callable[[Any], int], batch: object) -> int:
    return int(samples(batch)) if callable(samples) else int(samples)

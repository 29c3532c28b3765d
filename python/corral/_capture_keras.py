"""Keras, on any backend: its CallbackList is notified of the begin and end of epochs, batches and evaluations.

The list's own methods are wrapped, and no callback is added to it: one more would change how Keras calls the others.
"""

from __future__ import annotations

from functools import wraps

from corral import _capture, _loop
from corral._capture import Part
from corral._capture_save import argument, wrap_save
from corral._loop import COMPUTE, Loop, now
from corral._samples import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


_FIT = Part("keras.fit")
_DATA = Part("keras.data")
_SAVE = Part("keras.save")


class Fit:
    """State of the current fit in a thread."""

    __slots__ = (
        *("batches", "begun", "ended", "executed", "explicit", "fetched", "fetches_before", "next", "outer"),
        *("partial", "size", "telling"),
    )

    def __init__(self) -> None:
        self.ended = 0  # end of the batch, or of the work before the epoch's first
        self.size = 0  # samples of a batch; 0: not known
        self.fetched = 0  # samples of the batches of this step; counted where `size` is not known
        self.partial = 0  # samples of an epoch's last batch, if it has fewer
        self.batches = 0  # batches in an epoch; 0: not known
        self.executed = 1  # batches between two calls of the callbacks (steps_per_execution)
        self.fetches_before = False  # the batch is fetched before Keras announces it
        self.begun = False  # and not ended
        self.explicit = 0  # loop.explicit before it
        self.telling = 0  # methods of its callbacks that are under way
        self.outer: Fit | None = None  # in one of whose callbacks it was begun
        self.next: Fit | None = None  # belongs to the latest iterator: the next fit's, if one begins


def _fit(loop: Loop) -> Fit:
    if loop.fit is None:
        loop.fit = Fit()
    return loop.fit  # type: ignore[no-any-return]


def _count(value: object) -> int:
    return value if type(value) is int else 0


def _train_begin(loop: Loop, *_: Any) -> None:
    time = now()
    before = _fit(loop)
    if before.begun and not before.telling:  # an exception has ended it
        before.begun = False
        loop.end_epoch(time)
        loop.explicit = before.explicit
    loop.settle(time)
    fit = loop.fit = before.next or Fit()
    before.next = None
    fit.begun, fit.explicit, fit.outer = True, loop.explicit, before if before.begun else None
    loop.explicit += 1


def _train_end(loop: Loop, *_: Any) -> None:
    loop.explicit = max(loop.explicit - 1, 0)
    fit = _fit(loop)
    fit.begun = False
    if fit.outer is not None:
        loop.fit, fit.outer = fit.outer, None


def _epoch_begin(loop: Loop, epoch: Any = None, *_: Any) -> None:
    time = now()
    loop.end_epoch(time)  # one that an exception left open
    loop.begin_epoch(time, epoch if type(epoch) is int else None)


def _epoch_end(loop: Loop, *_: Any) -> None:
    loop.end_epoch(now())


def _callbacks_done(loop: Loop, *_: Any) -> None:
    _fit(loop).ended = now()


def _batch_begin(loop: Loop, *_: Any) -> None:
    fit = _fit(loop)
    loop.begin_step(fit.ended)
    if fit.fetches_before:
        loop.wait(fit.ended, now())


def _batch_end(loop: Loop, batch: Any = 0, *_: Any) -> None:
    if loop.in_step < 0:
        return
    fit = _fit(loop)
    loop.samples = fit.size * fit.executed if fit.size else fit.fetched
    fit.fetched = 0
    if loop.samples == 0:
        _DATA.tell("partial", "the number of samples in a batch is not known: no samples_per_second")
    if fit.partial and fit.batches and _count(batch) + fit.executed >= fit.batches:
        loop.samples = fit.size * (fit.batches - 1 - _count(batch)) + fit.partial
    loop.updates.append(0)
    loop.end_step(now())


def _test_begin(loop: Loop, *_: Any) -> None:
    time = now()
    loop.settle(time)
    loop.push("evaluation", COMPUTE, time)
    loop.explicit += 1


def _test_end(loop: Loop, *_: Any) -> None:
    if loop.innermost() == "evaluation":
        loop.pop(now())
    loop.explicit = max(loop.explicit - 1, 0)


# Method -> notifications before and after it. Callbacks of the script are part of the epoch or evaluation, of no step.
_METHODS: dict[str, tuple[Callable[..., None] | None, Callable[..., None] | None]] = {
    "on_train_begin": (_train_begin, None),
    "on_train_end": (None, _train_end),
    "on_epoch_begin": (_epoch_begin, _callbacks_done),
    "on_epoch_end": (None, _epoch_end),
    "on_train_batch_begin": (None, _batch_begin),
    "on_train_batch_end": (_batch_end, _callbacks_done),
    "on_test_begin": (_test_begin, None),
    "on_test_end": (None, _test_end),
}


def _tell(part: Part, told: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    if part.on:
        try:
            told(_loop.current(), *arguments)
        except Exception:
            part.give_up()
            if part is _FIT:
                _loop.abandon()


def _wrap_method(
    original: Callable[..., Any], before: Callable[..., None] | None, after: Callable[..., None] | None
) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if before is not None:
            _tell(_FIT, before, given)
        fit = _told()
        try:
            result = original(self, *args, **kwargs)
        finally:
            if fit is not None:
                fit.telling -= 1
        if after is not None:
            _tell(_FIT, after, given)
        return result

    return method


def _told() -> Fit | None:
    """The fit whose callbacks are being notified; the function that takes it counts that down again."""
    loop = _loop.existing()
    fit: Fit | None = None if loop is None else loop.fit
    if fit is not None:
        fit.telling += 1
    return fit


def _learn(loop: Loop, iterator: Any) -> None:
    """The last iterator before a fit begins is its own; those of validations are made later."""
    fit = Fit()
    adapter = iterator.data_adapter
    fit.size = _asked(adapter, "batch_size")
    if fit.size and _asked(adapter, "has_partial_batch"):
        fit.partial = _asked(adapter, "partial_batch_size")
    fit.batches = _asked(iterator, "num_batches")
    fit.executed = _asked(iterator, "steps_per_execution") or 1
    fit.fetches_before = ".backend.torch." in type(iterator).__module__
    _fit(loop).next = fit


def _asked(object: object, name: str) -> int:
    """0 if unknown; some adapters raise then."""
    try:
        value = getattr(object, name)
    except Exception:
        return 0
    return int(value) if type(value) in (int, bool) else 0


def _wrap_init(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        _tell(_DATA, _learn, (self,))

    return __init__


class _Watched:
    """The iterator that a step on JAX reads, or on PyTorch what Keras reads before the step."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        began = now()
        batch = next(self._iterator)
        _tell(_DATA, _fetched, (began, batch))
        return batch


def _wrap_iterator(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def _get_iterator(self: Any) -> Any:
        return _Watched(iter(original(self)))

    return _get_iterator


def _fetched(loop: Loop, began: int, batch: object) -> None:
    fit = _fit(loop)
    if loop.innermost() == "evaluation":
        if not fit.fetches_before:
            loop.wait(began, now())
        return
    if not fit.size:
        fit.fetched += rows_of(batch)  # Keras defines it so
    if loop.in_step >= 0 and not fit.fetches_before:
        loop.wait(began, now())


def _hook_iterator(module: Any) -> None:
    module.EpochIterator.__init__ = _wrap_init(module.EpochIterator.__init__)


def _hook_jax(module: Any) -> None:
    module.JAXEpochIterator._get_iterator = _wrap_iterator(module.JAXEpochIterator._get_iterator)


def _hook_torch(module: Any) -> None:
    module.TorchEpochIterator._get_iterator = _wrap_iterator(module.TorchEpochIterator._get_iterator)


def _hook_tensorflow(module: Any) -> None:
    _DATA.tell("partial", "TensorFlow reads its data within the compiled step: data waits are not seen")


def _hook_save(module: Any) -> None:
    module.save_model = wrap_save(module.save_model, _SAVE, argument(1, "filepath"))
    module.save_weights = wrap_save(module.save_weights, _SAVE, argument(1, "filepath"))


def _hook_callbacks(module: Any) -> None:
    callbacks = module.CallbackList
    if not hasattr(callbacks.on_epoch_begin, "__wrapped__"):
        for method, (before, after) in _METHODS.items():
            setattr(callbacks, method, _wrap_method(getattr(callbacks, method), before, after))


_HOOKS = {
    "keras.src.backend.jax.trainer": (_DATA, _hook_jax),
    "keras.src.backend.tensorflow.trainer": (_DATA, _hook_tensorflow),
    "keras.src.backend.torch.trainer": (_DATA, _hook_torch),
    "keras.src.callbacks.callback_list": (_FIT, _hook_callbacks),
    "keras.src.saving.saving_api": (_SAVE, _hook_save),
    "keras.src.trainers.epoch_iterator": (_DATA, _hook_iterator),
}


def wrap(name: str, module: Any) -> None:
    if name in _HOOKS:
        _capture.place(_HOOKS, name, module)
    elif hasattr(module, "CallbackList"):  # Keras 2
        _FIT.place(_hook_callbacks, module)

"""PyTorch's DataLoader: each iteration over one is a pass, and what happens with its batches says of which kind.

The first backward or optimizer step makes it an epoch of training; a pass without gradients, or one that ends before
either, is an evaluation.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _loop
from corral._capture import Switch, give_up
from corral._loop import COMPUTE, Loop, now
from corral._phase import _current
from corral._samples import samples_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NEW, UNDECIDED, TRAINING, EVALUATION, BESIDE, LEAVES, OFF = range(7)
_MOST_UNDECIDED = 1024  # batches without backward or optimizer step: nobody trains with them

# Loaders that trained before: id -> (weak reference, Pass.ahead). Their next pass is an epoch from its first batch on.
_trained: dict[int, tuple[Any, bool]] = {}


class Pass:
    """One iteration over one loader."""

    __slots__ = (
        "__weakref__",
        "ahead",
        "alive",
        "draining",
        "held",
        "kind",
        "loader",
        "loop",
        "phase",
        "place",
        "size",
        "waits",
    )

    def __init__(self, loader: Any) -> None:
        self.kind = NEW
        self.loader = loader  # weak reference, or None
        self.loop: Loop | None = None
        self.alive: Any = None  # weak reference to the iterator
        self.size = _batch_size(None if loader is None else loader())
        self.waits: list[tuple[int, int, int]] = []  # of an undecided pass: began, ended, samples
        self.place: Any = None  # the phase around, when it began
        self.phase: Any = None  # an evaluation's own, as in loop.open
        self.ahead = False  # batches are fetched one ahead of the step that takes them
        self.held = 0  # samples of the batch that was fetched ahead
        self.draining = False  # exhausted, but a step with the batch held is to come

    def gone(self, _: Any) -> None:
        """The iterator died: the script left its `for` by a break or an exception, or the pass is over anyway."""
        loop = self.loop
        if loop is None or not Switch.on or _loop.existing() is not loop or self.draining:
            return
        try:
            leave(loop, self, now(), whole=False)
        except Exception:
            give_up()


def _batch_size(loader: Any) -> int:
    size = getattr(loader, "batch_size", None)
    if size is None:
        size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return size if type(size) is int else 0


def _is_worker() -> bool:
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return worker is not None and worker._worker_info is not None


def _gradients() -> bool:
    return bool(sys.modules["torch"].is_grad_enabled())


def leave(loop: Loop, over: Pass, time: int, whole: bool = True) -> None:
    """The pass is over, exhausted or not."""
    kind, over.kind = over.kind, OFF
    if kind == EVALUATION:
        if over.phase in loop.open:
            loop.unwind(loop.open.index(over.phase), time)
        return
    if loop.main is not over:
        return
    loop.main = None
    if kind == TRAINING and not loop.tangled:
        loop.end_epoch(time)
    elif kind == UNDECIDED and over.waits:
        _evaluation(loop, over, time, whole)


def _evaluation(loop: Loop, over: Pass, time: int, whole: bool = True) -> None:
    """An undecided pass trained nothing; one that was left early looked at a batch or two, and evaluated nothing."""
    if _current.get() is over.place:
        inside = not whole or loop.is_inside("evaluation")
        if not inside:
            loop.push("evaluation", COMPUTE, over.waits[0][0])
        for began, ended, _ in over.waits:
            loop.leaf("data wait", _loop.WAIT, began, ended)
        if not inside:
            loop.pop(time)
    over.waits.clear()


def _classify(loop: Loop, new: Pass, began: int) -> None:
    """The first fetch of a pass."""
    new.loop = loop
    if _is_worker():
        new.kind = OFF
        return
    if not _gradients():
        _evaluate(loop, new, began)
        return
    if loop.explicit:
        new.kind = OFF
        return
    evaluated(loop, began)
    main = loop.main
    known = _trained.get(id(new.loader())) if new.loader is not None else None
    if main is not None and not main.draining and main.alive() is not None and not _is_same(main, new):
        if main.kind == UNDECIDED or (loop.in_step >= 0 and not loop.updates):
            new.kind = BESIDE  # two loaders in step, as zip() does; the first leads
            return
        if known is None:
            _evaluate(loop, new, began)  # between two steps, by a loop that turns gradients off inside
            return
    if main is not None:
        leave(loop, main, began, whole=False)
    loop.settle(began)
    began = max(began, loop.late)
    loop.main = new
    if loop.tangled:
        new.kind = LEAVES
        return
    new.kind = UNDECIDED
    new.place = _current.get()
    if known is not None and known[0] is new.loader:
        new.ahead = known[1]
        _train(loop, new, began)


def _evaluate(loop: Loop, new: Pass, began: int) -> None:
    new.kind = EVALUATION
    loop.settle(began)
    if not loop.is_inside("evaluation"):
        loop.push("evaluation", COMPUTE, max(began, loop.late))
        new.phase = loop.open[-1]


def _is_same(one: Pass, other: Pass) -> bool:
    """Whether both are of one loader."""
    return one.loader is not None and other.loader is not None and one.loader() is other.loader()


def evaluated(loop: Loop, time: int) -> None:
    """Something happens that needs gradients: an evaluation that was left before its loader's end is over."""
    if loop.innermost() == "evaluation" and not loop.explicit and _gradients():
        loop.unwind(len(loop.open) - 1, time)


def _train(loop: Loop, over: Pass, began: int) -> None:
    over.kind = TRAINING
    loop.begin_epoch(began)
    loop.begin_step(began)


def decide(loop: Loop, over: Pass) -> None:
    """A backward or an optimizer step: the undecided pass is an epoch."""
    if _current.get() is not over.place and not _is_within(loop, over):
        _tangle(loop, over, now())
        over.waits.clear()
        return
    if over.loader is not None:
        _remember(over)
    # The script may have opened phases since; ours are written around nothing of it, beside them.
    inner = _current.get()
    _current.set(over.place)
    _train(loop, over, over.waits[0][0])
    for began, ended, _ in over.waits:
        loop.wait(began, ended)
    if inner is not over.place:
        _current.set(inner)
    over.held = over.waits[-1][2] if over.ahead else 0
    loop.samples = sum(samples for _, _, samples in over.waits) - over.held
    over.waits.clear()


def _is_within(loop: Loop, over: Pass) -> bool:
    """Whether the innermost phase lies within the one around the pass: the script opened more, and left none."""
    here, place = _current.get(), over.place
    if here is None:
        return False
    return place is None or here[2].startswith(place[2] + "/")


def at_home(loop: Loop, over: Pass) -> bool:
    """Whether no phase of the script crosses ours."""
    here = _current.get()
    home = loop.open[-1][0] if loop.open else over.place
    if here is home:
        return True
    if here is not over.place:
        return False
    _current.set(home)  # the phase in which the pass was decided has ended
    return True


def _remember(over: Pass) -> None:
    loader = over.loader()
    if loader is not None:
        _trained[id(loader)] = (over.loader, over.ahead)


def _tangle(loop: Loop, over: Pass, time: int) -> None:
    """Phases of the script cross ours: no more epochs and steps in this thread, only what has no inside."""
    loop.unwind(0, time)
    loop.updates.clear()
    loop.tangled = True
    over.kind = LEAVES


def fetching(loop: Loop, over: Pass, began: int) -> None:
    kind = over.kind
    if kind == TRAINING:
        open_ = loop.open
        if not open_ or open_[-1][2] != "step" or open_[-1][0] is not _current.get():
            evaluated(loop, began)
            if not at_home(loop, over):
                return _tangle(loop, over, began)
        if loop.updates:
            loop.end_step(began)
    elif kind == NEW:
        _classify(loop, over, began)
    elif kind == UNDECIDED and len(over.waits) == 1:
        over.ahead = True  # nothing was done with the first batch yet


def fetched(loop: Loop, over: Pass, began: int, ended: int, batch: object) -> None:
    kind = over.kind
    if kind == OFF:
        return
    if kind == EVALUATION:
        loop.leaf("data wait", _loop.WAIT, began, ended)
        return
    samples = samples_of(batch, over.size)
    if kind == UNDECIDED:
        over.waits.append((began, ended, samples))
        if len(over.waits) > _MOST_UNDECIDED:
            loop.main = None
            over.kind = OFF
            _evaluation(loop, over, ended)
        return
    main = loop.main
    if kind == BESIDE and main is not None and main.kind == UNDECIDED:
        main.waits.append((began, ended, 0))
        return
    if kind == TRAINING and loop.in_step < 0:
        loop.begin_step(began)
    loop.wait(began, ended)
    if kind == BESIDE:
        return
    if over.ahead:
        samples, over.held = over.held, samples
    loop.samples += samples


def exhausted(loop: Loop, over: Pass, began: int, ended: int) -> None:
    if over.kind == TRAINING and over.ahead and loop.is_innermost():
        over.draining = True
        if loop.in_step < 0:
            loop.begin_step(ended)
        loop.samples += over.held
    else:
        leave(loop, over, ended)


def wrap_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def __next__(self: Any) -> Any:  # noqa: N807
        loop = _loop.current()
        if loop.busy or not Switch.on:
            return original(self)
        began = now()
        try:
            over = self.__dict__.get("_corral") or attach(self, None)
            fetching(loop, over, began)
            if loop.late > began:
                began = loop.late
        except Exception:
            give_up()
            return original(self)
        loop.busy = True
        try:
            batch = original(self)
        except StopIteration:
            loop.busy = False
            try:
                exhausted(loop, over, began, now())
            except Exception:
                give_up()
            raise
        except BaseException:
            loop.busy = False
            _failed(loop, over)
            raise
        loop.busy = False
        try:
            fetched(loop, over, began, now(), batch)
        except Exception:
            give_up()
        return batch

    return __next__


def _failed(loop: Loop, over: Pass) -> None:
    """The data set's own exception ends the pass, or goes on with a new one if the script fetches again."""
    try:
        leave(loop, over, now(), whole=False)
        over.kind = NEW
    except Exception:
        give_up()


def attach(iterator: Any, loader: Any) -> Pass:
    import weakref

    known = None
    if loader is not None:
        trained = _trained.get(id(loader))
        known = trained[0] if trained is not None else weakref.ref(loader, _loader_gone)
    over = iterator._corral = Pass(known)
    over.alive = weakref.ref(iterator, over.gone)
    return over


def _loader_gone(loader: Any) -> None:
    for key in [key for key, known in _trained.items() if known[0] is loader]:
        del _trained[key]


def wrap_iter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807
        iterator = original(self)
        if Switch.on:
            try:
                attach(iterator, self)
            except Exception:
                give_up()
        return iterator

    return __iter__

"""PyTorch's DataLoader: each iteration over one is a pass, and what happens with its batches says of which kind.

The first optimizer step makes a pass an epoch of training with steps. A pass with backward passes, but without the step
of an optimizer that is known, is an epoch without steps, and so is one whose batches another thread trains with
(_elsewhere.py). A pass without gradients, or one that ends before any of this, is an evaluation.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _loop
from corral._capture import Part, is_worker
from corral._loop import COMPUTE, WAIT, Loop, now
from corral._phase import _current
from corral._samples import UNKNOWN, index_samples, stacked_samples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NEW, UNDECIDED, TRAINING, STEPLESS, EVALUATION, BESIDE, LEAVES, OFF = range(8)
_MOST_UNDECIDED = 1024  # batches without an optimizer step

_COUNTED = (UNDECIDED, TRAINING, BESIDE)

LOADER = Part("torch.dataloader")
SAMPLES = Part("torch.samples")
OPTIMIZER = Part("torch.optimizer")

# Loaders that trained before: id -> (weak reference, Pass.ahead, TRAINING or STEPLESS, Pass.elsewhere). Their next pass
# is an epoch from its first batch on.
_trained: dict[int, tuple[Any, bool, int, bool]] = {}


class Pass:
    """One iteration over one loader."""

    __slots__ = (
        *("__weakref__", "ahead", "alive", "draining", "elsewhere", "ended", "fetches", "held", "kind", "leaves"),
        *("loader", "loop", "phase", "place", "samples", "seen", "started", "touched"),
    )

    def __init__(self, loader: Any) -> None:
        self.kind = NEW
        self.loader = loader  # weak reference, or None
        self.loop: Loop | None = None
        self.alive: Any = None  # weak reference to the iterator
        self.started: tuple[int, int, Any] | None = None  # the start of its workers: began, ended, the phase around
        self.leaves: list[tuple[str, int, int, int]] = []  # phases of an undecided pass: name, kind, began, ended
        self.samples = 0  # samples of an undecided pass
        self.fetches = 0
        self.touched = False  # a backward pass was made of an undecided pass's batches
        self.place: Any = None  # the phase around, when it began
        self.phase: Any = None  # an evaluation's own, as in loop.open
        self.ahead = False  # batches are fetched one ahead of the step that takes them
        self.held = 0  # samples of the latest batch, which was fetched ahead
        self.draining = False  # exhausted, but a step with the batch held is to come
        self.elsewhere = False  # another thread trains with its batches
        self.seen = 0  # batches that the other thread has trained with
        self.ended = 0  # when, of a pass that is over and still undecided

    def gone(self, _: Any) -> None:
        """The iterator died: the script left its `for` by a break or an exception, or the pass is over anyway."""
        loop = self.loop
        if loop is None or not LOADER.on or self.kind == OFF or self.draining or loop not in _loop.all_loops():
            return
        try:
            leave(loop, self, now(), whole=False)
        except Exception:
            give_up(LOADER)


def give_up(part: Part) -> None:
    """Without its loaders a loop consists of its optimizer steps; without those its epochs have no steps."""
    part.give_up()
    loop = _loop.existing()
    if loop is not None and loop.main is not None:
        loop.main.kind = OFF
    _trained.clear()
    _loop.abandon()


def gradients() -> bool:
    torch = sys.modules.get("torch")
    return torch is None or bool(torch.is_grad_enabled())


# Ends


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
    if kind in (TRAINING, STEPLESS) and not loop.tangled:
        loop.end_epoch(time)
    elif kind == UNDECIDED and over.leaves:
        _left_undecided(loop, over, time, whole)


def _left_undecided(loop: Loop, over: Pass, time: int, whole: bool) -> None:
    from corral import _elsewhere

    if over.touched or over.elsewhere:
        over.kind = UNDECIDED
        train_stepless(loop, over)
        over.kind = OFF
        if not loop.tangled:
            loop.end_epoch(time)
    elif not loop.steps and _elsewhere.is_side_thread():
        over.ended = time
        _elsewhere.wait_for_word(over)
    else:
        _evaluation(loop, over, time, whole)


def _evaluation(loop: Loop, over: Pass, time: int, whole: bool = True) -> None:
    """An undecided pass trained nothing; one that was left early looked at a batch or two, and evaluated nothing."""
    if _current.get() is over.place:
        inside = not whole or loop.is_inside("evaluation") or _is_jax_only(loop)
        if not inside:
            loop.push("evaluation", COMPUTE, over.leaves[0][2])
        for leaf in over.leaves:
            loop.leaf(*leaf)
        if not inside:
            loop.pop(time)
    over.leaves.clear()


def _is_jax_only(loop: Loop) -> bool:
    """JAX trains inside compiled functions: the use of the batches there is invisible."""
    if loop.steps or loop.differentiated or "jax" not in sys.modules:
        return False
    LOADER.tell("partial", "batches were read beside JAX: whether a pass trained or evaluated is not known")
    return True


# Beginnings


def _classify(loop: Loop, new: Pass, began: int) -> None:
    """The first fetch of a pass."""
    from corral import _elsewhere

    new.loop = loop
    if is_worker():
        new.kind = OFF
        return
    loop.mode = None
    _elsewhere.decide_waiting(new)
    if not gradients():
        _evaluate(loop, new, began)
        return
    if loop.explicit:
        new.kind = OFF
        return
    evaluated(loop, began)
    main = loop.main
    known = _trained.get(id(new.loader())) if new.loader is not None else None
    if main is not None and not main.draining and main.alive() is not None and not is_same(main, new):
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
        _, new.ahead, new.kind, new.elsewhere = known
        loop.begin_epoch(began, _elsewhere.lend(new) if new.elsewhere else None)
        if new.kind == TRAINING:
            loop.begin_step(began)


def _evaluate(loop: Loop, new: Pass, began: int) -> None:
    new.kind = EVALUATION
    loop.settle(began)
    if not loop.is_inside("evaluation"):
        loop.push("evaluation", COMPUTE, max(began, loop.late))
        new.phase = loop.open[-1]


def is_same(one: Pass, other: Pass) -> bool:
    """Returns true if both belong to one loader."""
    return one.loader is not None and other.loader is not None and one.loader() is other.loader()


def evaluated(loop: Loop, time: int) -> None:
    """Something happens that needs gradients: an evaluation that was left before its loader's end is over."""
    if loop.innermost() == "evaluation" and not loop.explicit and gradients():
        loop.unwind(len(loop.open) - 1, time)


def decide(loop: Loop, over: Pass) -> None:
    """An optimizer step: the undecided pass is an epoch."""
    if _begin_epoch(loop, over, TRAINING):
        loop.samples = over.samples - over.held


def train_stepless(loop: Loop, over: Pass) -> None:
    """The undecided pass is an epoch whose steps are not known."""
    if not over.elsewhere:
        OPTIMIZER.tell(
            "partial",
            "backward passes without the step of a known optimizer (torch.optim, fastai): no steps are recorded there",
        )
    _begin_epoch(loop, over, STEPLESS)


def _begin_epoch(loop: Loop, over: Pass, kind: int) -> bool:
    from corral import _elsewhere

    leaves, over.leaves = over.leaves, []
    if is_crossed(over):
        tangle(loop, over, now())
        return False
    over.kind = kind
    remember(over)
    # The script may have opened phases since; ours are written around nothing of it, beside them.
    inner = _current.get()
    _current.set(over.place)
    loop.begin_epoch(leaves[0][2], _elsewhere.next_epoch() if over.elsewhere else None)
    if kind == TRAINING:
        loop.begin_step(leaves[0][2])
    for leaf in leaves:
        loop.leaf(*leaf)
        if leaf[1] == WAIT:
            loop.waited += leaf[3] - leaf[2]
    if inner is not over.place:
        _current.set(inner)
    if not over.ahead:
        over.held = 0
    return True


def is_crossed(over: Pass) -> bool:
    """Returns true if the innermost phase lies outside the one around the pass; the script may have opened more within
    it.
    """
    here, place = _current.get(), over.place
    return here is not place and (here is None or (place is not None and not here[2].startswith(place[2] + "/")))


def at_home(loop: Loop, over: Pass) -> bool:
    """Returns true if no phase of the script crosses ours."""
    here = _current.get()
    home = loop.open[-1][0] if loop.open else over.place
    if here is home:
        return True
    if here is not over.place:
        return False
    _current.set(home)  # the phase in which the pass was decided has ended
    return True


def remember(over: Pass) -> None:
    loader = over.loader() if over.loader is not None else None
    if loader is not None:
        _trained[id(loader)] = (over.loader, over.ahead, over.kind, over.elsewhere)


def tangle(loop: Loop, over: Pass, time: int) -> None:
    """Phases of the script cross ours: no more epochs and steps in this thread, only phases without an inside."""
    loop.unwind(0, time)
    loop.updates.clear()
    loop.tangled = True
    over.kind = LEAVES


# Batches


def fetching(loop: Loop, over: Pass, began: int) -> None:
    kind = over.kind
    if kind in (TRAINING, STEPLESS):
        open_ = loop.open
        if not open_ or open_[-1][2] != "step" or open_[-1][0] is not _current.get():
            evaluated(loop, began)
            if not at_home(loop, over):
                return tangle(loop, over, began)
        if loop.updates:
            loop.end_step(began)
    elif kind == NEW:
        _classify(loop, over, began)
    elif kind == UNDECIDED:
        if over.elsewhere:
            train_stepless(loop, over)
        elif over.fetches == 1 and not over.touched:
            over.ahead = True  # nothing was done with the first batch yet


def fetched(loop: Loop, over: Pass, began: int, ended: int, samples: int) -> None:
    kind = over.kind
    if kind == OFF:
        return
    over.fetches += 1
    if kind in (EVALUATION, STEPLESS):
        loop.leaf("data wait", WAIT, began, ended)
        return
    if kind == UNDECIDED:
        over.leaves.append(("data wait", WAIT, began, ended))
        over.samples += samples
        over.held = samples
        if over.fetches > _MOST_UNDECIDED:
            _undecided_for_long(loop, over, ended)
        return
    main = loop.main
    if kind == BESIDE and main is not None and main.kind == UNDECIDED:
        main.leaves.append(("data wait", WAIT, began, ended))
        return
    if kind == TRAINING and loop.in_step < 0:
        loop.begin_step(began)
    loop.wait(began, ended)
    if kind == BESIDE:
        return
    if over.ahead:
        samples, over.held = over.held, samples
    loop.samples += samples


def _undecided_for_long(loop: Loop, over: Pass, time: int) -> None:
    if over.touched:
        train_stepless(loop, over)
    else:
        loop.main = None
        over.kind = OFF
        _evaluation(loop, over, time)


def exhausted(loop: Loop, over: Pass, began: int, ended: int) -> None:
    if over.kind == TRAINING and over.ahead and loop.is_innermost():
        over.draining = True
        if loop.in_step < 0:
            loop.begin_step(ended)
        loop.samples += over.held
    else:
        leave(loop, over, ended)


def _starting(loop: Loop, over: Pass, began: int) -> int:
    """Returns the begin of the pass: the start of its workers, if nothing happened since, else its first fetch."""
    started, over.started = over.started, None
    if started is None or started[0] < loop.edge or started[2] is not _current.get():
        fetching(loop, over, began)
        return began
    fetching(loop, over, started[0])
    if over.kind not in (OFF, LEAVES):
        _started(loop, over, max(started[0], loop.late), started[1])
    return began


def _started(loop: Loop, over: Pass, began: int, ended: int) -> None:
    """The wait for the workers belongs to the first batch, and is none of its own."""
    main = loop.main if over.kind == BESIDE else over
    if main is not None and main.kind == UNDECIDED:
        main.leaves.append(("data wait", WAIT, began, ended))
    elif ended > began:
        loop.wait(began, ended)


def wrap_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def __next__(self: Any) -> Any:  # noqa: N807
        loop = _loop.current()
        if loop.busy or not LOADER.on:
            return original(self)
        began = now()
        try:
            over = self.__dict__.get("_corral") or attach(self, None)
            if over.started is None:
                fetching(loop, over, began)
            else:
                began = _starting(loop, over, began)
            if loop.late > began:
                began = loop.late
        except Exception:
            give_up(LOADER)
            return original(self)
        loop.busy = True
        try:
            batch = original(self)
        except StopIteration:
            loop.busy = False
            try:
                exhausted(loop, over, began, now())
            except Exception:
                give_up(LOADER)
            raise
        except BaseException:
            loop.busy = False
            _failed(loop, over)
            raise
        loop.busy = False
        try:
            ended = now()
            fetched(loop, over, began, ended, take_samples(self, batch, over.kind in _COUNTED))
        except Exception:
            give_up(LOADER)
        return batch

    return __next__


def _failed(loop: Loop, over: Pass) -> None:
    """The data set's own exception ends the pass, or goes on with a new one if the script fetches again."""
    try:
        leave(loop, over, now(), whole=False)
        over.kind = NEW
    except Exception:
        give_up(LOADER)


def attach(iterator: Any, loader: Any) -> Pass:
    import weakref

    known = None
    if loader is not None:
        trained = _trained.get(id(loader))
        known = trained[0] if trained is not None else weakref.ref(loader, _loader_gone)
    over: Pass = Pass(known)
    iterator._corral = over
    over.alive = weakref.ref(iterator, over.gone)
    return over


def _loader_gone(loader: Any) -> None:
    for key in [key for key, known in _trained.items() if known[0] is loader]:
        del _trained[key]


def _wrap_iter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807
        began = now()
        iterator = original(self)
        if LOADER.on:
            try:
                over = attach(iterator, self)
                if getattr(self, "num_workers", 0):
                    over.started = (began, now(), _current.get())
            except Exception:
                give_up(LOADER)
        return iterator

    return __iter__


# Samples: how many indices the sampler gave for a batch


def take_samples(iterator: Any, batch: object, wanted: bool = True) -> int:
    """Counts the samples of the batch that the iterator has just returned."""
    sizes = iterator.__dict__.get("_corral_sizes")
    if not sizes:
        return UNKNOWN
    size: int = sizes.pop(0)
    if size >= 0 or not wanted or not SAMPLES.on:
        return size
    try:
        if size != UNKNOWN:  # at most so many
            size = stacked_samples(iterator, ~size, batch)
        if size == UNKNOWN:
            SAMPLES.tell(
                "partial", "the loader does not say how many samples some batches have: no samples_per_second there"
            )
        return size
    except Exception:
        SAMPLES.give_up()
        return UNKNOWN


def _wrap_next_index(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(original)
    def _next_index(self: Any) -> Any:
        index = original(self)
        if SAMPLES.on:
            try:
                self.__dict__.setdefault("_corral_sizes", []).append(index_samples(self, index))
            except Exception:
                SAMPLES.give_up()
        return index

    return _next_index


def _wrap_reset(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def _reset(self: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__.pop("_corral_sizes", None)  # sizes of batches that will never be fetched
        original(self, *args, **kwargs)

    return _reset


def _hook_samples(module: Any) -> None:
    base = module._BaseDataLoaderIter
    base._next_index = _wrap_next_index(base._next_index)
    base._reset = _wrap_reset(base._reset)


def _hook_loader(module: Any) -> None:
    module._BaseDataLoaderIter.__next__ = wrap_next(module._BaseDataLoaderIter.__next__)
    module.DataLoader.__iter__ = _wrap_iter(module.DataLoader.__iter__)


def hook(module: Any) -> None:
    """Hooks torch.utils.data.dataloader."""
    SAMPLES.place(_hook_samples, module)
    LOADER.place(_hook_loader, module)

"""PyTorch: DataLoader, backward, optimizers, torch.save, and what is built on them (Lightning, Hugging Face, torchrun).

What a pass over a loader is, is seen by what happens with its batches: the first backward or optimizer step makes it an
epoch of training; a pass without gradients, or one that ends before either, is an evaluation. No module, tensor or
random state is touched, no method of an object of the script is replaced; torch.compile leaves the hooks out.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _loop
from corral._capture import Switch, give_up
from corral._loop import COMPUTE, IO, Loop, now
from corral._phase import _current
from corral._samples import samples_of
from corral._text import attributes_json

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
    _evaluated(loop, began)
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


def _evaluated(loop: Loop, time: int) -> None:
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


def _at_home(loop: Loop, over: Pass) -> bool:
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
            _evaluated(loop, began)
            if not _at_home(loop, over):
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
            over = self.__dict__.get("_corral") or _attach(self, None)
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


def _attach(iterator: Any, loader: Any) -> Pass:
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
                _attach(iterator, self)
            except Exception:
                give_up()
        return iterator

    return __iter__


# Optimizers


def stepping(loop: Loop, optimizer: object) -> None:
    inside = loop.innermost()
    if inside == "optimizer":
        return  # a step within a step: a class that calls its base's
    main = loop.main
    if main is not None and main.kind == UNDECIDED:
        decide(loop, main)
    time = now()
    if inside == "evaluation":
        _evaluated(loop, time)
    if main is not None and main.kind == TRAINING:
        _at_home(loop, main)
    if not loop.tangled and not loop.explicit:
        if loop.in_step < 0:
            loop.begin_step(loop.since if main is None and loop.since else time)
        elif id(optimizer) in loop.updates and loop.is_innermost():
            loop.end_step(time)
            time = max(time, loop.late)
            loop.begin_step(time)
    loop.push("optimizer", COMPUTE, time)


def stepped(loop: Loop, optimizer: object) -> None:
    if loop.innermost() != "optimizer":
        return
    time = now()
    loop.pop(time)
    loop.updates.append(id(optimizer))
    if loop.explicit:
        return
    main = loop.main
    if loop.tangled:
        loop.count(time)
        loop.began, loop.samples, loop.waited = max(time, loop.late), 0, 0
    elif main is None:
        loop.end_step(time)
        loop.since = max(time, loop.late)
    elif main.draining:
        main.draining = False
        leave(loop, main, time)


def _before(optimizer: object, args: object = (), kwargs: object = None) -> None:
    if _compiling() or not Switch.on:
        return
    try:
        stepping(_loop.current(), optimizer)
    except Exception:
        give_up()


def _after(optimizer: object, args: object = (), kwargs: object = None) -> None:
    if _compiling() or not Switch.on:
        return
    try:
        stepped(_loop.current(), optimizer)
    except Exception:
        give_up()


def _compiling() -> bool:
    """Replaced by torch.compiler's, a constant to torch.compile, which then leaves our hooks out."""
    return False


def _wrap_optimizers(module: Any) -> None:
    if hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_pre_hook(_before)
        module.register_optimizer_step_post_hook(_after)
        return
    # Before PyTorch 2: where its own profiler wraps the step of each optimizer's class.
    original = module.Optimizer._hook_for_profile

    @wraps(original)
    def _hook_for_profile(self: Any) -> None:
        original(self)
        cls = type(self)
        if not hasattr(cls.step, "_corral"):
            cls.step = _wrap_step(cls.step)

    module.Optimizer._hook_for_profile = _hook_for_profile


def _wrap_step(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        _before(self)
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            loop = _loop.current()
            _close(loop, len(loop.open) if loop.innermost() == "optimizer" else 0)
            raise
        _after(self)
        return result

    step._corral = True  # type: ignore[attr-defined]
    return step


# Backward, checkpoints


def _inside(
    loop: Loop, opened: int, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The original's answer; what it calls itself is not captured, and what was opened for it is closed."""
    loop.busy = True
    try:
        return original(*args, **kwargs)
    finally:
        loop.busy = False
        _close(loop, opened)


def wrap_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        loop = _loop.existing()
        if _compiling() or loop is None or loop.busy or not Switch.on:
            return original(*args, **kwargs)
        opened = 0
        try:
            opened = _differentiating(loop)
        except Exception:
            give_up()
        return _inside(loop, opened, original, args, kwargs)

    return backward


def _differentiating(loop: Loop) -> int:
    """Opens a backward phase where one has a place; returns what _close wants."""
    main = loop.main
    if main is not None and main.kind == UNDECIDED:
        decide(loop, main)
    if main is None and loop.since and loop.in_step < 0 and not loop.explicit:
        loop.begin_step(loop.since)
    if not loop.open and not loop.tangled:
        return 0
    loop.push("backward", COMPUTE, now())
    return len(loop.open)


def _close(loop: Loop, opened: int) -> None:
    """Ends the phase with which `opened` phases were open, and what an exception left open in it; 0: there is none."""
    try:
        if Switch.on and 0 < opened <= len(loop.open):
            loop.unwind(opened - 1, now())
    except Exception:
        give_up()


def wrap_save(original: Callable[..., Any], target: int) -> Callable[..., Any]:
    """Of a function whose argument number `target` says where to."""

    @wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        loop = _loop.existing()
        if loop is None or loop.busy or not Switch.on:
            return original(*args, **kwargs)
        opened = 0
        try:
            opened = checkpoint(loop, args[target] if len(args) > target else kwargs.get("f", kwargs.get("filename")))
        except Exception:
            give_up()
        return _inside(loop, opened, original, args, kwargs)

    return save


def checkpoint(loop: Loop, target: object) -> int:
    """Opens a checkpoint phase, unless the script has; returns what _close wants."""
    time = now()
    _evaluated(loop, time)
    loop.settle(time)
    if loop.is_inside("checkpoint"):
        return 0
    path = getattr(target, "name", None) if hasattr(target, "write") else target
    loop.push("checkpoint", IO, max(time, loop.late), _path_attribute(path))
    return len(loop.open)


def _path_attribute(path: object) -> str:
    """Bytes of a name that are no UTF-8 become "?"."""
    if not hasattr(path, "__fspath__") and not isinstance(path, str):
        return ""
    text = str(path)[:1000].encode("utf-8", "replace").decode()
    return attributes_json({"path": text})


def wrap(name: str, module: Any) -> None:
    if name == "torch.utils.data.dataloader":
        module._BaseDataLoaderIter.__next__ = wrap_next(module._BaseDataLoaderIter.__next__)
        module.DataLoader.__iter__ = wrap_iter(module.DataLoader.__iter__)
    elif name == "torch.optim.optimizer":
        _wrap_optimizers(module)
    elif name == "torch.autograd":
        module.backward = wrap_backward(module.backward)
    elif name == "torch.serialization":
        original = module.save
        module.save = wrap_save(original, 1)
        torch = sys.modules["torch"]
        if getattr(torch, "save", None) is original:  # imported before
            torch.save = module.save  # type: ignore[attr-defined]
    elif name == "safetensors.torch":
        module.save_file = wrap_save(module.save_file, 1)
    elif name == "torch.compiler" and hasattr(module, "is_compiling"):
        global _compiling
        _compiling = module.is_compiling

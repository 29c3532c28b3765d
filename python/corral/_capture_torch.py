"""PyTorch's optimizers, backward passes and saves, and what is built on them (Lightning, Hugging Face, torchrun).

No module, tensor or random state is touched, no method of an object of the script is replaced; torch.compile leaves the
hooks out. Loaders: _capture_loader.py.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _loop
from corral._capture import Switch, give_up
from corral._capture_loader import TRAINING, UNDECIDED, at_home, decide, evaluated, leave, wrap_iter, wrap_next
from corral._capture_save import close, run_inside, wrap_save
from corral._loop import COMPUTE, Loop, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
        evaluated(loop, time)
    if main is not None and main.kind == TRAINING:
        at_home(loop, main)
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
            cls.step = wrap_step(cls.step)

    module.Optimizer._hook_for_profile = _hook_for_profile


def wrap_step(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        _before(self)
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            loop = _loop.current()
            close(loop, len(loop.open) if loop.innermost() == "optimizer" else 0)
            raise
        _after(self)
        return result

    step._corral = True  # type: ignore[attr-defined]
    return step


# Backward


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
        return run_inside(loop, opened, original, args, kwargs)

    return backward


def _differentiating(loop: Loop) -> int:
    """Opens a backward phase where one has a place; returns what close wants."""
    main = loop.main
    if main is not None and main.kind == UNDECIDED:
        decide(loop, main)
    if main is None and loop.since and loop.in_step < 0 and not loop.explicit:
        loop.begin_step(loop.since)
    if not loop.open and not loop.tangled:
        return 0
    loop.push("backward", COMPUTE, now())
    return len(loop.open)


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

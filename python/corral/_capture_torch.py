"""PyTorch's optimizers, backward passes and saves, and libraries built on them (Lightning, Hugging Face, torchrun).

No module, tensor or random state is touched, no method of an object of the script is replaced; torch.compile leaves the
hooks out. Loaders: _capture_loader.py.
"""

from __future__ import annotations

import os
import sys
from functools import wraps

from corral import _capture, _elsewhere, _loop
from corral._capture import Part
from corral._capture_loader import (
    LOADER,
    OPTIMIZER,
    STEPLESS,
    TRAINING,
    UNDECIDED,
    Pass,
    at_home,
    decide,
    evaluated,
    give_up,
    hook,
    is_crossed,
    leave,
    tangle,
)
from corral._capture_save import argument, close, wrap_save
from corral._loop import COMPUTE, Loop, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BACKWARD = Part("torch.backward")
SAVE = Part("torch.save")
EVALUATION_MODE = Part("torch.eval")
_SAFETENSORS = Part("safetensors.save")
_TRANSFORMERS = Part("transformers.save")
_ACCELERATE = Part("accelerate.save")
_FASTAI = Part("fastai.optimizer")


# Optimizers


def stepping(loop: Loop, optimizer: object) -> None:
    inside = loop.innermost()
    if inside == "optimizer":
        return  # a step within a step: a class that calls its base's
    main = begin_update(loop)
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


def begin_update(loop: Loop) -> Pass | None:
    """The model is about to be changed: the pass under way trains."""
    loop.mode = None
    main: Pass | None = loop.main
    if main is not None and main.kind == UNDECIDED:
        decide(loop, main)
    elif main is not None and main.kind == STEPLESS:
        main.kind = TRAINING
    return main


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
        if "torch" in sys.modules:
            LOADER.tell("partial", "steps whose thread reads no DataLoader: the waits for their data are not seen")
    elif main.draining:
        main.draining = False
        leave(loop, main, time)


def _before(optimizer: object, args: object = (), kwargs: object = None) -> None:
    if _compiling() or not OPTIMIZER.on:
        return
    try:
        stepping(_loop.current(), optimizer)
    except Exception:
        give_up(OPTIMIZER)


def _after(optimizer: object, args: object = (), kwargs: object = None) -> None:
    if _compiling() or not OPTIMIZER.on:
        return
    try:
        stepped(_loop.current(), optimizer)
    except Exception:
        give_up(OPTIMIZER)


def _compiling() -> bool:
    """Replaced by torch.compiler's, a constant to torch.compile, which then leaves our hooks out."""
    return False


def _hook_optimizers(module: Any) -> None:
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
            close(loop, len(loop.open) if loop.innermost() == "optimizer" else 0, OPTIMIZER)
            raise
        _after(self)
        return result

    step._corral = True  # type: ignore[attr-defined]
    return step


def _hook_fastai(module: Any) -> None:
    module.Optimizer.step = wrap_step(module.Optimizer.step)


# Backward


def wrap_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if _compiling() or not BACKWARD.on:
            return original(*args, **kwargs)
        loop = _loop.current()
        if loop.busy:
            return original(*args, **kwargs)
        opened = began = 0
        try:
            opened = _differentiating(loop)
            began = 0 if opened else now()
        except Exception:
            BACKWARD.give_up()
        loop.busy = True
        try:
            return original(*args, **kwargs)
        finally:
            loop.busy = False
            if opened:
                close(loop, opened, BACKWARD)
            elif began:
                _differentiated(loop, began)

    return backward


def _differentiating(loop: Loop) -> int:
    """Opens a backward phase where one has a place; returns what close() wants."""
    loop.differentiated = True
    loop.mode = None
    main = loop.main
    if main is None:
        if len(_loop.all_loops()) > 1:
            _elsewhere.trained_here(loop)
        if loop.since and loop.in_step < 0 and not loop.explicit:
            loop.begin_step(loop.since)
    elif main.kind == UNDECIDED:
        main.touched = True
        if not is_crossed(main):
            return 0
        tangle(loop, main, now())
    if not loop.open and not loop.tangled:
        return 0
    loop.push("backward", COMPUTE, now())
    return len(loop.open)


def _differentiated(loop: Loop, began: int) -> None:
    """A backward pass whose place is not known yet."""
    try:
        main = loop.main
        if main is not None and main.kind == UNDECIDED:
            main.leaves.append(("backward", COMPUTE, began, now()))
        elif main is None and loop.steps == 0:
            _loop.at_finish(_tell_stepless)
    except Exception:
        BACKWARD.give_up()


def _tell_stepless() -> None:
    """At the end: backward passes without loader that no optimizer's step followed."""
    if any(loop.differentiated and not loop.steps for loop in _loop.all_loops()):
        OPTIMIZER.tell(
            "partial",
            "backward passes without the step of a known optimizer (torch.optim, fastai): no steps are recorded there",
        )


# Evaluations without a loader: between model.eval() and model.train()


def _hook_modes(module: Any) -> None:
    base = module.Module
    set_evaluation, set_training = base.eval, base.train

    @wraps(set_evaluation)
    def eval(self: Any) -> Any:
        if EVALUATION_MODE.on and not _compiling():
            try:
                if self.training:
                    _mode_begins(self)
            except Exception:
                EVALUATION_MODE.give_up()
        return set_evaluation(self)

    @wraps(set_training)
    def train(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = set_training(self, *args, **kwargs)
        if _Modes.begun and EVALUATION_MODE.on and not _compiling():
            try:
                if self.training:
                    _mode_ends(self)
            except Exception:
                EVALUATION_MODE.give_up()
        return result

    base.eval, base.train = eval, train


class _Modes:
    begun = False  # in some thread


def _mode_begins(model: object) -> None:
    loop = _loop.current()
    if loop.mode is None and not loop.busy and not loop.explicit and loop.innermost() != "evaluation":
        loop.mode = (id(model), now())
        _Modes.begun = True


def _mode_ends(model: object) -> None:
    """The model trains again, and neither a loader was read nor a gradient computed in the meantime."""
    loop = _loop.current()
    if loop.mode is None or loop.mode[0] != id(model):
        return
    began, ended = loop.mode[1], now()
    loop.mode = None
    _Modes.begun = any(other.mode is not None for other in _loop.all_loops())
    if began < loop.edge or loop.explicit or loop.tangled or not loop.is_innermost():
        return
    main = loop.main
    if main is not None and main.kind == UNDECIDED:
        main.leaves.append(("evaluation", COMPUTE, began, ended))
        return
    if loop.in_step >= 0 and loop.updates:
        loop.end_step(began)
    loop.leaf("evaluation", COMPUTE, began, ended)
    if main is None:
        loop.since = ended


# Saves


def _hook_save(module: Any) -> None:
    original = module.save
    recorded = wrap_save(original, SAVE, argument(1, "f"))

    @wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        # one call for each tensor that pickle meets
        pickled = bool(args) and type(args[0]).__name__.endswith("Storage")
        return (original if pickled else recorded)(*args, **kwargs)

    module.save = save
    torch = sys.modules["torch"]
    if getattr(torch, "save", None) is original:  # imported before
        torch.save = module.save  # type: ignore[attr-defined]


def _hook_safetensors(module: Any) -> None:
    module.save_file = wrap_save(module.save_file, _SAFETENSORS, argument(1, "filename"))


def _hook_trainer(module: Any) -> None:
    """Each of its checkpoints is a folder of many files."""
    trainer = module.Trainer

    def folder(args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return os.path.join(args[0].args.output_dir, f"checkpoint-{args[0].state.global_step}")

    trainer._save_checkpoint = wrap_save(trainer._save_checkpoint, _TRANSFORMERS, folder)


def _hook_pretrained(module: Any) -> None:
    model = module.PreTrainedModel
    model.save_pretrained = wrap_save(model.save_pretrained, _TRANSFORMERS, argument(1, "save_directory"))


def _hook_accelerate(module: Any) -> None:
    accelerator = module.Accelerator
    accelerator.save_state = wrap_save(accelerator.save_state, _ACCELERATE, argument(1, "output_dir"))


_HOOKS = {
    "torch.autograd": (BACKWARD, lambda module: setattr(module, "backward", wrap_backward(module.backward))),
    "torch.nn.modules.module": (EVALUATION_MODE, _hook_modes),
    "torch.optim.optimizer": (OPTIMIZER, _hook_optimizers),
    "torch.serialization": (SAVE, _hook_save),
    "accelerate.accelerator": (_ACCELERATE, _hook_accelerate),
    "fastai.optimizer": (_FASTAI, _hook_fastai),
    "safetensors.torch": (_SAFETENSORS, _hook_safetensors),
    "transformers.modeling_utils": (_TRANSFORMERS, _hook_pretrained),
    "transformers.trainer": (_TRANSFORMERS, _hook_trainer),
}


def wrap(name: str, module: Any) -> None:
    if name == "torch.utils.data.dataloader":
        hook(module)
    elif name != "torch.compiler":
        _capture.place(_HOOKS, name, module)
    elif hasattr(module, "is_compiling"):
        global _compiling
        _compiling = module.is_compiling

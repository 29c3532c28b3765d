"""Watcher: sees to it that the modules of a framework whose functions are captured are wrapped once they have run."""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Module -> what of the package wraps it.
_WATCHED = {
    "torch.autograd": "torch",
    "torch.compiler": "torch",
    "torch.distributed.distributed_c10d": "distributed",
    "torch.nn.modules.module": "torch",
    "torch.optim.optimizer": "torch",
    "torch.serialization": "torch",
    "torch.utils.data.dataloader": "torch",
    "accelerate.accelerator": "torch",
    "fastai.optimizer": "torch",
    "safetensors.torch": "torch",
    "transformers.modeling_utils": "torch",
    "transformers.trainer": "torch",
    "keras.callbacks": "keras",
    "keras.src.backend.jax.trainer": "keras",
    "keras.src.backend.tensorflow.trainer": "keras",
    "keras.src.backend.torch.trainer": "keras",
    "keras.src.callbacks": "keras",
    "keras.src.callbacks.callback_list": "keras",
    "keras.src.saving.saving_api": "keras",
    "keras.src.trainers.epoch_iterator": "keras",
    "jax._src.profiler": "jax",
    "optax._src.update": "jax",
    "lightgbm.basic": "calls",
    "sklearn.base": "calls",
    "xgboost.core": "calls",
}


class Watcher:
    """First on sys.meta_path: lets the others find, and looks at a watched module once it has run."""

    def __init__(self) -> None:
        self._asking: set[tuple[int, str]] = set()  # threads, and the modules they look for

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        asking = (get_ident(), name)
        if name not in _WATCHED or asking in self._asking:  # one of the others asks all of us in its turn
            return None
        self._asking.add(asking)
        try:
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = None if find is None else find(name, path, target)
                if spec is not None:
                    try:
                        _follow(name, spec.loader)
                    except Exception:  # a loader of another kind: not captured
                        pass
                    return spec
            return None
        finally:
            self._asking.discard(asking)


def begin() -> None:
    """In a process that joined a run after its start: hooks modules that are imported already, and those to come."""
    if any(isinstance(finder, Watcher) for finder in sys.meta_path):  # it had a run before
        _begin_anew()
        return
    sys.meta_path.insert(0, Watcher())
    for name, framework in _WATCHED.items():
        module = sys.modules.get(name)
        if module is not None:
            try:
                _wrap(framework, name, module)
            except Exception:  # another version than those known: left as it is
                pass


def _begin_anew() -> None:
    loop, capture = sys.modules.get("corral._loop"), sys.modules.get("corral._capture")
    if loop is not None:
        loop.begin_anew()
    if capture is not None:
        capture.tell_again()


def _follow(name: str, loader: object) -> None:
    """The loader stays the one it is; only its next exec_module is ours."""
    execute = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        try:
            del loader.exec_module  # type: ignore[attr-defined]
        except AttributeError:  # somebody else's has taken ours away before it called it
            pass
        execute(module)
        try:
            _wrap(_WATCHED[name], name, module)
        except Exception:  # another version than those known: left as it is
            pass

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def _wrap(framework: str, name: str, module: ModuleType) -> None:
    if framework == "torch":
        from corral import _capture_torch

        _capture_torch.wrap(name, module)
    elif framework == "distributed":
        from corral import _capture_distributed

        _capture_distributed.wrap(name, module)
    elif framework == "keras":
        from corral import _capture_keras

        _capture_keras.wrap(name, module)
    elif framework == "jax":
        from corral import _capture_jax

        _capture_jax.wrap(name, module)
    else:
        from corral import _capture_calls

        _capture_calls.wrap(name, module)

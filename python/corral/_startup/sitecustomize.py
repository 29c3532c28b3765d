"""Found when Python starts inside `corral run`: waits for the import of a training framework (corral/_watch.py).

It is compiled at each start where no .pyc can be written: nothing is here that a start without framework does not need.
"""

import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder

# Each may be imported before the one that it is built on.
_FRAMEWORKS = frozenset(
    (
        "torch",
        "accelerate",
        "fastai",
        "jax",
        "keras",
        "lightgbm",
        "optax",
        "safetensors",
        "sklearn",
        "transformers",
        "xgboost",
    )
)
_here = os.path.dirname(os.path.abspath(__file__))


class _Finder:
    """First on sys.meta_path; at a framework's name its place is taken by the one that watches."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in _FRAMEWORKS:
            return None
        try:
            spec = PathFinder.find_spec("corral")
            if spec is None or spec.origin != os.path.join(os.path.dirname(_here), "__init__.py"):
                return None  # a module of the user's with this name: it is not ours to import
            from corral._watch import Watcher

            watcher = sys.meta_path[sys.meta_path.index(self)] = Watcher()
        except Exception:  # never the training's business
            return None
        return watcher.find_spec(name, path, target)


def _note_code(folder, start):  # type: ignore[no-untyped-def]
    """At the interpreter's end: which files its modules are from (corral/_code.py)."""
    try:
        path = os.path.join(os.path.dirname(_here), "_code.py")
        names = {"__name__": "corral._code", "__file__": path}
        with open(path, encoding="utf-8") as source:
            exec(compile(source.read(), path, "exec"), names)
        names["note"](folder, start)  # type: ignore[operator]
    except BaseException:  # never the training's business
        pass


sys.path[:] = [entry for entry in sys.path if entry != _here]
if os.environ.get("CORRAL_SEGMENT_DIR"):
    import atexit

    # Registered first, it is called last.
    try:
        _start = os.getcwd()
    except OSError:  # it was removed
        _start = "/"
    atexit.register(_note_code, os.path.dirname(os.path.abspath(os.environ["CORRAL_SEGMENT_DIR"])), _start)
if os.environ.get("CORRAL_SEGMENT_DIR") and os.environ.get("CORRAL_CAPTURE") != "0":
    sys.meta_path.insert(0, _Finder())

# The user's own sitecustomize, as if this one were not here; its errors are its own.
_spec = PathFinder.find_spec("sitecustomize")
if _spec is not None and _spec.loader is not None:
    sys.modules["sitecustomize"] = _module = module_from_spec(_spec)
    _spec.loader.exec_module(_module)

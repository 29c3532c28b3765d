"""Records a training: metrics, params, tags, events and phases of the run that `corral run` started.

Every call writes into a mapped file and returns; there is no thread, no socket and no queue in the training process.
The one exception is the kernel of a notebook, where init() shows the run in the cell's output: live=False turns it off.
Outside `corral run` every call does nothing and looks at none of its arguments, so a script needs no switch.
Inside, a wrong type is a TypeError and too long a name or value a ValueError; nothing else is ever raised, and what
cannot be kept (spool limit, full disk) is counted and said by `corral run`. Images and other media by step (image() to
video()) that are too large or cannot be written are a RuntimeWarning each.

Safe with threads, asyncio, fork (DataLoader workers log as processes of their own), spawn, os._exit and kill -9.

runs(), read(), plot(), explain(), workflow(), collocation() and compare() are for afterwards, and for any process:
runs, their points as tables and figures, where their time went, how much others slowed them down, and which of two
groups is faster, from a server.
"""

from __future__ import annotations

import os as _os
import sys as _sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import SupportsIndex

    from corral import _native as _impl
    from corral._columns import Series
    from corral._compare import compare
    from corral._explain import collocation, explain, workflow
    from corral._plot import plot
    from corral._read import DamageWarning, read
    from corral._runs import runs
    from corral._stream import Gap
elif _os.environ.get("CORRAL_PURE_PYTHON", "") not in ("", "0"):
    from corral import _pure as _impl
else:
    try:
        from corral import _native as _impl
    except ImportError:  # built for another machine or interpreter
        from corral import _pure as _impl

from corral._loops import epochs, steps
from corral._phase import phase
from corral._text import attributes_json as _attributes_json
from corral._text import value_text as _value_text

__all__ = [
    "DamageWarning",
    "Gap",
    "Series",
    "artifact",
    "audio",
    "collocation",
    "compare",
    "epochs",
    "event",
    "explain",
    "figure",
    "finish",
    "histogram",
    "image",
    "init",
    "log",
    "param",
    "params",
    "phase",
    "plot",
    "read",
    "ready",
    "run_id",
    "runs",
    "steps",
    "table",
    "tag",
    "text",
    "video",
    "workflow",
]
__version__ = "0.1.0"

log = _impl.log


def _warn_of_spool() -> None:
    """One line for each host on which this run's spool is not: a rank that another host's `corral run` started."""
    place = _os.environ.get("CORRAL_SEGMENT_DIR", "")
    local_ranks = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
    first = next((rank for name in local_ranks if (rank := _os.environ.get(name))), "0") == "0"
    if place and first and not _os.path.isdir(place):
        host = _os.uname().nodename
        text = f"corral: nothing is recorded: {place} does not exist on {host}; start `corral run` on this host\n"
        try:
            _sys.stderr.write(text)
        except (AttributeError, OSError, ValueError):  # closed, or none
            pass


_warn_of_spool()


def param(name: str, value: object) -> None:
    """Records a parameter of the run: its text, 6,000 bytes at most."""
    if _impl.enabled():
        _impl.param(name, _value_text(value))


def params(values: Mapping[str, object]) -> None:
    """Records several parameters."""
    if _impl.enabled():
        for name, value in values.items():
            _impl.param(name, _value_text(value))


def tag(name: str, value: object) -> None:
    """Sets a tag of the run; the last value set counts."""
    if _impl.enabled():
        _impl.tag(name, _value_text(value))


def artifact(path: str | _os.PathLike[str], name: str | None = None) -> None:
    """Keeps a copy of a file, or of all files of a directory, with the run: as `name`, else under its own name.

    Returns when the copy is made (at once where the filesystem shares blocks); it is uploaded by `corral run`.
    A file that cannot be read or copied is an OSError.
    """
    if _impl.enabled():
        from corral import _artifact

        _artifact.keep(path, name)


def image(name: str, value: object, step: SupportsIndex | None = None) -> None:
    """Records an image of `name` at `step`: an array of H x W, H x W x 3 or H x W x 4 (uint8, or floats from 0 to 1), a
    PIL image, a path, or PNG, JPEG or GIF bytes.

    Here and in the calls below: at the same step the newest value counts. A value over 64 MiB (texts, tables and
    histograms: 4 MiB), or one that cannot be written, is a RuntimeWarning.
    """
    if _impl.enabled():
        from corral import _media

        _media.record("image", name, step, lambda: _media.image(value))


def figure(name: str, value: object, step: SupportsIndex | None = None) -> None:
    """Records a matplotlib figure, or another object with `savefig()`, as an image."""
    if _impl.enabled():
        from corral import _media

        _media.record("figure", name, step, lambda: _media.figure(value))


def histogram(name: str, value: object, step: SupportsIndex | None = None, *, bins: int = 64) -> None:
    """Records how numbers are distributed: of an array, or counts and edges as `numpy.histogram()` returns them."""
    if _impl.enabled():
        from corral import _media

        _media.record("histogram", name, step, lambda: _media.histogram(value, bins))


def table(name: str, value: object, step: SupportsIndex | None = None, *, columns: Sequence[str] | None = None) -> None:
    """Records a table: a DataFrame, a dict of columns, a list of dicts, or rows and their `columns`."""
    if _impl.enabled():
        from corral import _media

        _media.record("table", name, step, lambda: _media.table(value, columns))


def text(name: str, value: str, step: SupportsIndex | None = None) -> None:
    """Records a text, e.g. a generated sample."""
    if _impl.enabled():
        from corral import _media

        _media.record("text", name, step, lambda: _media.text(value))


def audio(name: str, value: object, step: SupportsIndex | None = None) -> None:
    """Records sound: a path, or `(samples, rate)` with floats from -1 to 1 or int16, samples or samples x channels."""
    if _impl.enabled():
        from corral import _media

        _media.record("audio", name, step, lambda: _media.audio(value))


def video(name: str, value: str | _os.PathLike[str], step: SupportsIndex | None = None) -> None:
    """Records a video: the path of an .mp4, .webm or .gif file."""
    if _impl.enabled():
        from corral import _media

        _media.record("video", name, step, lambda: _media.video(value))


def event(name: str, /, **attributes: object) -> None:
    """Records that something happened now. Attributes are str, numbers, bool or None; others become their str."""
    if _impl.enabled():
        _impl.event(name, _attributes_json(attributes))


def ready(timeout: float = 600.0) -> bool:
    """Waits until the other runs of a plan's workload are ready, too, or have ended: call it when everything is loaded.

    At most `timeout` seconds, then a RuntimeWarning and False. The wait is an event of the run. Elsewhere it returns
    True at once.
    """
    if not _impl.enabled() or not _os.environ.get("CORRAL_READY"):
        return True
    from corral import _ready

    waited = _ready.wait(_os.environ["CORRAL_RUN_ID"], timeout)
    if waited is not None:
        event("ready", waited_seconds=waited)
    return waited is not None


def init(
    name: str | None = None,
    *,
    experiment: str | None = None,
    workload: str | None = None,
    params: Mapping[str, object] | None = None,
    tags: Mapping[str, object] | None = None,
    live: bool = True,
) -> str | None:
    """Begins a run of this process, to its end or finish(), where it was not started by `corral run`; returns its id.

    A supervisor that samples this process and its children is started beside it: `CORRAL_STORE` and the others of
    `corral run`'s variables say where the data goes. Inside `corral run`, and when called again, only `params` and
    `tags` are recorded. If no run can be had that is a RuntimeWarning, the result is None and calls do nothing.

    In the kernel of a notebook the cell's output shows the run, and a thread renews it from the server every few
    seconds while the run goes on; `live=False` turns that off. Elsewhere there is neither.
    """
    from corral import _init

    texts = [{key: _value_text(value) for key, value in (given or {}).items()} for given in (params, tags)]
    begins = not _impl.enabled()
    if begins:
        _init.start({"name": name, "experiment": experiment, "workload": workload}, *texts)
    else:
        for key, value in texts[0].items():
            _impl.param(key, value)
        for key, value in texts[1].items():
            _impl.tag(key, value)
    run = run_id()
    shell = _init.notebook_shell() if live and run else None
    if shell is not None and run:
        from corral import _live

        _live.show(shell, run, begins)
    return run


def finish(status: str = "finished") -> None:
    """Ends the run that init() began in this process, as "finished" or "failed"; the next init() begins another.

    Returns when the end is stored, after 10 s at most. Until the next init() every call does nothing. In a script the
    run ends with the process; under `corral run`, in a forked child and without a run this call does nothing.
    """
    if status not in ("finished", "failed"):
        raise ValueError(f"corral: status must be finished or failed, not {status!r}")
    init_module = _sys.modules.get("corral._init")
    if init_module is not None:
        init_module.finish(0 if status == "finished" else 1)


def run_id() -> str | None:
    """The run's 32 hex digits, or None outside `corral run`."""
    return _os.environ.get("CORRAL_RUN_ID") or None if _impl.enabled() else None


_LATE = {
    **dict.fromkeys(("DamageWarning", "Gap", "Series", "read"), "_read"),
    **dict.fromkeys(("collocation", "explain", "workflow"), "_explain"),
    "compare": "_compare",
    "plot": "_plot",
    "runs": "_runs",
}


def __getattr__(name: str) -> object:
    """Imports the parts that a training does not need when they are used."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module("corral." + _LATE[name]), name)
    globals()[name] = value
    return value

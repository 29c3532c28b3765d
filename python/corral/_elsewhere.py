"""Loaders that one thread reads for another that trains: prefetchers of a script's own.

The reading thread sees no backward pass, the training thread no loader. A pass of the one becomes an epoch, without
steps, when the other makes a backward pass; the steps stand in the lane of the thread that makes them. A pass that is
over when nobody has trained with it yet waits for the word: until a pass over another loader begins.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from corral import _loop
from corral._capture_loader import OFF, STEPLESS, UNDECIDED, Pass, is_same, remember
from corral._loop import COMPUTE, CONTROL, Loop, write_apart

_MOST = 64

_waiting: list[Pass] = []  # over and undecided
_lent: list[Pass] = []  # epochs whose batches another thread may still be training with


class _Epochs:
    begun = 0


def next_epoch() -> int:
    _Epochs.begun += 1
    return _Epochs.begun - 1


def is_side_thread() -> bool:
    threading = sys.modules.get("threading")
    return threading is not None and threading.main_thread().ident != get_ident()


def wait_for_word(over: Pass) -> None:
    _waiting.append(over)
    if len(_waiting) == 1:
        _loop.at_finish(_finish)
    if len(_waiting) > _MOST:
        _write(_waiting.pop(0), training=False)


def decide_waiting(new: Pass | None) -> None:
    """A pass begins: passes of other loaders without any training were evaluations."""
    if _waiting:
        for over in [over for over in _waiting if new is None or not is_same(over, new)]:
            _waiting.remove(over)
            _write(over, training=False)


def _finish() -> None:
    decide_waiting(None)


def trained_here(loop: Loop) -> None:
    """A backward pass in a thread that reads no loader: with the batches of another thread's, if one is undecided."""
    for over in _lent:
        if over.seen < over.fetches:
            over.seen += 1
            return
    for other in _loop.all_loops():
        main = other.main
        if other is not loop and main is not None and main.kind == UNDECIDED and main.leaves and not main.elsewhere:
            main.elsewhere = True
            main.seen = 1
            _lent.append(main)
            return
    for over in _waiting:
        if over.loop is not loop:
            _waiting.remove(over)
            over.elsewhere, over.kind, over.seen = True, STEPLESS, 1
            remember(over)
            over.kind = OFF
            _lent.append(over)
            _write(over, training=True)
            return


def lend(over: Pass) -> int:
    """A pass over a loader that another thread has trained with before; returns the number of its epoch."""
    _lent[:] = [lent for lent in _lent if lent.kind != OFF or lent.seen < lent.fetches][-_MOST:]
    _lent.append(over)
    return next_epoch()


def _write(over: Pass, training: bool) -> None:
    """At the root of the lane that read the pass, whose thread may have ended."""
    assert over.loop is not None
    attributes = f'{{"index":{next_epoch()}}}' if training else ""
    name, kind = ("epoch", CONTROL) if training else ("evaluation", COMPUTE)
    write_apart(over.loop.lane, (name, kind, over.leaves[0][2], over.ended), attributes, over.leaves)
    over.leaves.clear()

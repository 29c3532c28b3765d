"""torch.distributed: each call between ranks (a collective, a message, the wait for one) is a communication phase.

A phase is as long as its call. With a GPU that is the time to enqueue it; on a CPU it includes the wait for the other
ranks. Calls inside a backward pass, such as those of DistributedDataParallel, are part of that pass.
"""

from __future__ import annotations

import sys
from functools import wraps

from corral import _capture, _capture_torch, _loop
from corral._capture import Part
from corral._capture_loader import UNDECIDED
from corral._capture_save import close
from corral._loop import COMMUNICATION, Loop, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DISTRIBUTED = Part("torch.distributed")

# The names that phases have, too. Not isend and irecv: P2POp compares them, and a script may have imported them before.
_CALLS = (
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce"),
    *("all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast"),
    *("broadcast_object_list", "gather", "gather_object", "monitored_barrier", "recv"),
    *("recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list"),
    *("send", "send_object_list"),
)
_WAIT = "wait for ranks"
_MOST_LEAVES = 4096  # in a pass whose kind is not known yet


def _wrap_call(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _DISTRIBUTED.on or _capture_torch._compiling():
            return original(*args, **kwargs)
        loop = _loop.existing()
        if loop is None:
            if any(other.busy for other in _loop.all_loops()):
                return original(*args, **kwargs)  # a thread of a backward pass
            loop = _loop.current()
        if loop.busy:
            return original(*args, **kwargs)
        opened = began = 0
        edge = loop.edge
        try:
            began = now()
            if not _is_undecided(loop):
                loop.push(name, COMMUNICATION, began)
                opened = len(loop.open)
        except Exception:
            _DISTRIBUTED.give_up()
        loop.busy = True
        try:
            return original(*args, **kwargs)
        finally:
            loop.busy = False
            if opened:
                close(loop, opened, _DISTRIBUTED)
                loop.edge = edge  # such a call ends nothing
            elif began:
                _place_later(loop, name, began)

    return call


def _is_undecided(loop: Loop) -> bool:
    return loop.main is not None and loop.main.kind == UNDECIDED


def _place_later(loop: Loop, name: str, began: int) -> None:
    """A call in a pass that may become an epoch or an evaluation."""
    try:
        if not _is_undecided(loop):
            return
        if len(loop.main.leaves) < _MOST_LEAVES:
            loop.main.leaves.append((name, COMMUNICATION, began, now()))
        else:
            _DISTRIBUTED.tell("partial", "too many calls before the first optimizer step: some are not recorded")
    except Exception:
        _DISTRIBUTED.give_up()


def _hook_calls(module: Any) -> None:
    for name in _CALLS:
        original = getattr(module, name, None)
        if original is None:
            continue
        wrapped = _wrap_call(original, name)
        setattr(module, name, wrapped)
        package = sys.modules.get("torch.distributed")  # imported before, it has the original, too
        if getattr(package, name, None) is original:
            setattr(package, name, wrapped)
    work = getattr(module, "Work", None)  # returned by a call with async_op
    if work is not None:
        work.wait = _wrap_call(work.wait, _WAIT)


_HOOKS = {"torch.distributed.distributed_c10d": (_DISTRIBUTED, _hook_calls)}


def wrap(name: str, module: Any) -> None:
    _capture.place(_HOOKS, name, module)

"""torch.distributed: each call between ranks (a collective, a message, the wait for one) is a communication phase.

A phase is as long as its call. With a GPU that is the time to enqueue it; on a CPU it includes the wait for the other
ranks. Calls inside a backward pass, such as those of DistributedDataParallel, are part of that pass.
"""

from __future__ import annotations

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

# The names that phases have, too.
_CALLS = (
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce"),
    *("all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast"),
    *("broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv"),
    *("recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list"),
    *("send", "send_object_list"),
)
_WAIT = "wait for ranks"
_PHASES = frozenset((*_CALLS, _WAIT))


def _wrap_call(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _DISTRIBUTED.on or _capture_torch._compiling():
            return original(*args, **kwargs)
        loop = _loop.current()
        if loop.busy or loop.innermost() in _PHASES:
            return original(*args, **kwargs)
        opened = began = 0
        try:
            began = now()
            if not _is_undecided(loop):
                loop.push(name, COMMUNICATION, began)
                opened = len(loop.open)
        except Exception:
            _DISTRIBUTED.give_up()
        try:
            return original(*args, **kwargs)
        finally:
            if opened:
                close(loop, opened, _DISTRIBUTED)
            elif began:
                _place_later(loop, name, began)

    return call


def _is_undecided(loop: Loop) -> bool:
    return loop.main is not None and loop.main.kind == UNDECIDED


def _place_later(loop: Loop, name: str, began: int) -> None:
    """A call in a pass that may become an epoch or an evaluation."""
    try:
        if _is_undecided(loop):
            loop.main.leaves.append((name, COMMUNICATION, began, now()))
    except Exception:
        _DISTRIBUTED.give_up()


def _hook_calls(module: Any) -> None:
    for name in _CALLS:
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _wrap_call(original, name))
    work = getattr(module, "Work", None)  # returned by a call with async_op
    if work is not None:
        work.wait = _wrap_call(work.wait, _WAIT)


_HOOKS = {"torch.distributed.distributed_c10d": (_DISTRIBUTED, _hook_calls)}


def wrap(name: str, module: Any) -> None:
    _capture.place(_HOOKS, name, module)

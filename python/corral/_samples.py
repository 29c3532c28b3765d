"""Counts the samples of a batch."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNKNOWN = -(1 << 40)  # a sum with it is below 0, too
_DEPTH = 8


def index_samples(iterator: Any, index: object) -> int:
    """Returns the size of the batch made of a sampler's output; ~n if it has at most n."""
    iterable = iterator._dataset_kind == 1
    if not isinstance(index, (list, tuple)) or (iterable and not iterator._auto_collation):
        return UNKNOWN  # the data set makes its batches itself
    if iterable and not iterator._drop_last:
        return ~len(index)
    if iterator._num_workers and not getattr(iterator, "_in_order", True):
        return UNKNOWN
    return len(index)


def stacked_samples(iterator: Any, most: int, batch: object) -> int:
    """Returns the size of a batch of an iterable data set, whose end is not known in advance."""
    fetcher = getattr(iterator, "_dataset_fetcher", None)
    if fetcher is not None and not fetcher.ended:
        return most
    collate = sys.modules["torch.utils.data._utils.collate"].default_collate
    if iterator._collate_fn is not collate:
        return UNKNOWN
    around: Any = batch
    inner: Any = batch
    for _ in range(_DEPTH):  # default_collate stacks the samples as the first dimension of each array
        shape = getattr(inner, "shape", None)
        if shape is not None:
            return int(shape[0])
        if isinstance(inner, (str, bytes)):
            return len(around)
        around, inner = inner, next(iter(inner.values() if hasattr(inner, "values") else inner))
    return UNKNOWN


def rows_of(batch: object) -> int:
    """The first dimension of the batch's first array, of a framework that defines it so; 0: there is none."""
    inner: Any = batch
    for _ in range(_DEPTH):
        shape = getattr(inner, "shape", None)
        if shape is not None:
            return int(shape[0]) if len(shape) else 0
        if isinstance(inner, dict):
            inner = list(inner.values())
        if not isinstance(inner, (list, tuple)) or not inner:
            return 0
        inner = inner[0]
    return 0


def samples_of(batch: object, size: int) -> int:
    """The first dimension of the batch's first array; `size` (0: unknown), the loader's, where none is seen.

    0 where a list may be of the fields of a batch or of its samples, and the two do not agree.
    """
    try:
        return _first_dimension(batch, size)
    except Exception:  # an object of the script's that answers in its own way
        return size


def _first_dimension(batch: object, size: int) -> int:
    first: Any = batch
    if isinstance(batch, (list, tuple)):
        if not batch:
            return size
        first = batch[0]
    elif isinstance(batch, dict):
        first = next(iter(batch.values()), None)
    elif not hasattr(batch, "shape"):
        data = getattr(batch, "data", None)
        if isinstance(data, dict):  # a UserDict, as Hugging Face's tokenizers make them
            first = next(iter(data.values()), None)
    shape = getattr(first, "shape", None)
    count = shape[0] if shape else len(first) if isinstance(first, (list, tuple)) else size
    if type(count) is not int:
        return size
    count = count if size <= 0 or count < size else size
    if isinstance(batch, (list, tuple)) and len(batch) == size != count:
        return 0
    return count

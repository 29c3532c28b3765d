"""How many samples a batch has."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def samples_of(batch: object, size: int) -> int:
    """The first dimension of the batch's first array; `size` (0: unknown), the loader's, where none is seen."""
    try:
        return _first_dimension(batch, size)
    except Exception:  # an object of the script's that answers in its own way
        return size


def _first_dimension(batch: object, size: int) -> int:
    first: Any = batch
    if isinstance(batch, (list, tuple)):
        if not batch or len(batch) == size:
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
    return count if size <= 0 or count < size else size

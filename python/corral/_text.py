"""Values of params, tags and attributes as text."""

from __future__ import annotations

_MOST_ATTRIBUTES = 64
_VALUE_BYTES = 6000


def value_text(value: object) -> str:
    return value if type(value) is str else str(value)


def attributes_json(attributes: dict[str, object]) -> str:
    """A JSON object of scalars, or "" for none. NaN and infinities, which JSON has not, become strings."""
    if not attributes:
        return ""
    if len(attributes) > _MOST_ATTRIBUTES:
        raise ValueError(f"corral: at most {_MOST_ATTRIBUTES} attributes, not {len(attributes)}")
    import json  # imported only for callers that use attributes

    for key, value in attributes.items():
        size = len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0
        if size > _VALUE_BYTES:
            raise ValueError(f"corral: attribute {key!r} has at most {_VALUE_BYTES} bytes, this one has {size}")
    scalars = {key: _scalar(value) for key, value in attributes.items()}
    return json.dumps(scalars, ensure_ascii=False, separators=(",", ":"))


def _scalar(value: object) -> object:
    if value is None or type(value) in (bool, str):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "__index__"):
        number = value.__index__()
        return number if -(2**63) <= number < 2**63 else str(number)
    if hasattr(value, "__float__"):
        try:
            real = float(value)
        except (TypeError, ValueError, RuntimeError):
            return str(value)[:_VALUE_BYTES]
        return real if real - real == 0.0 else repr(real)  # inf - inf and nan - nan are nan
    return str(value)[:_VALUE_BYTES]

"""compare(): groups of runs against the first one, from a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corral._modules import installed, module
from corral._server import answer_of, find_server, post

if TYPE_CHECKING:
    import os

    Group = str | Sequence[str] | Mapping[str, Any]

COLUMNS = (
    *("a", "b", "value", "n_a", "n_b", "mean_a", "mean_b", "unit", "ratio", "low", "high"),
    *("verdict", "p_different", "p_equivalent", "margin", "confidence", "text"),
)


def _group_of(group: Group) -> dict[str, Any]:
    if isinstance(group, str):
        return {"named": group}
    if isinstance(group, Mapping):
        return dict(group)
    if isinstance(group, Sequence) and all(isinstance(run, str) for run in group):
        return {"runs": list(group)}
    raise TypeError(f"corral: a group must be a text, a list of runs or a dict, not {group!r}")


def _rows(found: dict[str, Any]) -> list[tuple[object, ...]]:
    first, *others = found["groups"]
    rows = []
    for other, one in zip(others, found["differences"], strict=True):
        values = {
            **{key: found[key] for key in ("value", "margin", "confidence")},
            **{f"{key}_a": first[key] for key in ("n", "mean")},
            **{f"{key}_b": other[key] for key in ("n", "mean")},
            "unit": first["unit"],
            **one,
        }
        rows.append(tuple(values[column] for column in COLUMNS))
    return rows


def compare(
    groups: Sequence[Group],
    *,
    by: str | None = None,
    value: str | None = None,
    of: Literal["mean", "min", "max", "last"] | None = None,
    target: str | None = None,
    margin: float | None = None,
    as_: Literal["pandas", "dict"] = "pandas",
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> Any:
    """Compares groups of runs with the first one, as `corral compare` does; docs/compare.md defines all numbers.

    A group is a name of runs, a workload's name, a filter such as "params.lr = '0.1'", a list of runs, or a dict as of
    `POST /compare`. `by`: splits their runs anew, e.g. by "params.lr". `value`: "step_time", "duration" or a metric, of
    which `of` says what counts. `target`: instead of a value the time to it, such as "val_acc >= 0.9".
    `margin`: smaller differences do not matter, as a share; None: the one that the runs were started with, else 0.02.

    Returns one row for each comparison, with the whole answer in `attrs["comparison"]`; with `as_="dict"` that answer.
    LookupError: there is no such run or workload; ValueError: fewer than two groups, or what the server refuses.
    """
    if isinstance(groups, str):
        raise TypeError("corral: groups must be a list of groups, not one text")
    if margin is not None and not 0 < margin < 1:
        raise ValueError(f"corral: margin must be a share between 0 and 1, not {margin!r}")
    if as_ not in ("pandas", "dict"):
        raise ValueError(f"corral: as_ must be pandas or dict, not {as_!r}")
    if as_ == "pandas" and not installed("pandas"):
        raise ImportError('corral: as_="pandas" needs pandas, which is not installed here: `pip install pandas`')
    asked = {"by": by, "value": value, "of": of, "target": target, "margin": margin}
    body = {"groups": [_group_of(group) for group in groups]} | {k: v for k, v in asked.items() if v is not None}
    place = find_server(server, store, token)
    found = answer_of(place, post(place, "/api/corral/v1/compare", body))
    if as_ == "dict":
        return found
    frame: Any = module("pandas").DataFrame(_rows(found), columns=list(COLUMNS))
    frame.attrs["comparison"] = found
    return frame

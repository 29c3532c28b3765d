"""runs(): the runs of a store that match a filter, a row each, from a server."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

from corral._modules import installed, module
from corral._server import Server, answer_of, find_server, get, post

if TYPE_CHECKING:
    import os

_PAGE = 200
_FACTS = ("experiment", "workload", "host", "status", "outcome")
_TIMES = ("start_time", "end_time")
_COLUMNS = ("run_id", "run_name", *_FACTS, *_TIMES, "duration")
_DETAILS = ("metrics", "params", "tags")
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _number(value: Any) -> Any:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _row(run: dict[str, Any]) -> dict[str, Any]:
    row = {"run_id": run["id"], "run_name": run["name"], **{fact: run[fact] for fact in _FACTS}}
    for column, member in zip(_TIMES, ("start_ns", "end_ns"), strict=True):
        row[column] = None if run[member] is None else int(run[member])
    row["duration"] = run["duration_s"]
    for kind in _DETAILS:
        if kind not in run:
            raise RuntimeError("corral: the server is older than this package: it cannot list metrics, params and tags")
        row |= {f"{kind}.{key}": _number(value) if kind == "metrics" else value for key, value in run[kind].items()}
    return row


def _search(place: Server, body: dict[str, Any], limit: int | None) -> list[dict[str, Any]]:
    """All pages, or those of the first `limit` runs; runs that begin meanwhile move the others to later pages."""
    rows: dict[str, dict[str, Any]] = {}
    offset = 0
    while limit is None or len(rows) < limit:
        asked = {**body, "offset": offset, "limit": _PAGE if limit is None else min(_PAGE, limit - len(rows))}
        found = answer_of(place, post(place, "/api/corral/v1/runs/search", asked))["runs"]
        for run in found:
            rows.setdefault(run["id"], _row(run))
        offset += len(found)
        if len(found) < asked["limit"]:
            break
    return list(rows.values())


def _experiments(given: str | Sequence[str] | None) -> list[str]:
    names = [] if given is None else [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"corral: experiment must be a name or several, not {given!r}")
    return names


def _check_experiments(place: Server, names: list[str]) -> None:
    known = {one["name"] for one in get(place, "/api/corral/v1/experiments")["experiments"]}
    for name in names:
        if name not in known:
            raise LookupError(f"corral: no experiment is called {name!r}; `corral ls experiments` names them")


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> Any:
    pd = module("pandas")
    values: dict[str, Any] = {}
    for column in columns:
        cells = [row.get(column) for row in rows]
        if column in _TIMES:
            moments = [pd.NaT if ns is None else pd.Timestamp(ns, unit="ns", tz="UTC") for ns in cells]
            values[column] = pd.Series(moments, dtype="datetime64[ns, UTC]")
        elif column == "duration" or column.startswith("metrics."):
            values[column] = pd.Series(cells, dtype="float64")
        else:
            values[column] = pd.Series(cells, dtype="object")
    return pd.DataFrame(values, columns=columns)


def _moment(ns: int | None) -> datetime | None:
    return None if ns is None else _EPOCH + timedelta(microseconds=ns // 1000)


def runs(
    filter: str = "",
    *,
    experiment: str | Sequence[str] | None = None,
    limit: int | None = None,
    as_: Literal["pandas", "lists"] | None = None,
    server: str | None = None,
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
) -> Any:
    """Runs, the newest first: a DataFrame with a row for each, and columns as of MLflow's `search_runs`.

    `filter` is of MLflow's language, such as "metrics.loss < 0.5 and params.lr = '0.1'"; `experiment` one name or
    several; `limit` the newest so many (None: all).

    Columns: run_id, run_name, experiment, workload, host, status, outcome, start_time and end_time (UTC), duration
    (seconds; of a running run so far), metrics.NAME (the value at the greatest step), params.KEY, tags.KEY. Without
    pandas, or with `as_="lists"`, a list of dicts with these keys.

    `server`, `store` and `token` are as in `read`. ValueError: the filter is wrong; LookupError: no such experiment.
    """
    if not isinstance(filter, str):
        raise TypeError(f"corral: filter must be a text, not {filter!r}")
    if as_ not in (None, "pandas", "lists"):
        raise ValueError(f"corral: as_ must be pandas or lists, not {as_!r}")
    if as_ == "pandas" and not installed("pandas"):
        raise ImportError('corral: as_="pandas" needs pandas, which is not installed here: `pip install pandas`')
    most = None if limit is None else operator.index(limit)
    if most is not None and most < 1:
        raise ValueError(f"corral: limit must be greater than 0, not {limit!r}")
    names = _experiments(experiment)
    place = find_server(server, store, token)
    order = [{"by": "start", "descending": True}]
    body: dict[str, Any] = {"filter": filter, "details": True, "order": order}
    if names:
        body["where"] = {"experiment": names}
    rows = _search(place, body, most)
    if not rows:
        _check_experiments(place, names)
    found = {key for row in rows for key in row}
    columns = [*_COLUMNS, *(key for kind in _DETAILS for key in sorted(found) if key.startswith(kind + "."))]
    if as_ == "pandas" or (as_ is None and installed("pandas")):
        return _frame(rows, columns)
    for row in rows:
        row |= {column: _moment(row[column]) for column in _TIMES}
    return [{column: row.get(column) for column in columns} for row in rows]

"""Many series as one table, of pandas or of Arrow: run, metric, source, time, step, value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from corral._columns import Growing, Series
from corral._modules import module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BYTES = 8


def gaps_of(all_series: Sequence[Series | Growing]) -> list[dict[str, Any]]:
    found = []
    for series in all_series:
        of = series.declaration if isinstance(series, Growing) else series
        for gap in series.gaps:
            found.append({"run": of.run, "metric": of.metric, "source": of.source} | vars(gap))
    return found


# pandas


def pandas_frame(all_series: list[Series]) -> Any:
    np, pd = module("numpy"), module("pandas")
    counts = [len(series) for series in all_series]

    def joined(arrays: list[Any], kind: Any) -> Any:
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0, kind)

    def labels(names: list[str]) -> Any:
        categories = list(dict.fromkeys(names))
        codes = np.array([categories.index(name) for name in names], np.int32)
        return pd.Categorical.from_codes(np.repeat(codes, counts), categories)

    times = joined([series.time_ns for series in all_series], np.int64)
    frame = pd.DataFrame(
        {
            "run": labels([series.run for series in all_series]),
            "metric": labels([series.metric for series in all_series]),
            "source": labels([series.source for series in all_series]),
            "time": pd.DatetimeIndex(times.view("datetime64[ns]"), tz="UTC"),
            "step": _pandas_steps(np, pd, all_series),
            "value": joined([series.value for series in all_series], np.float64),
        },
        copy=False,
    )
    frame.attrs["gaps"] = gaps_of(all_series)
    return frame


def _pandas_steps(np: Any, pd: Any, all_series: list[Series]) -> Any:
    count = sum(map(len, all_series))
    mask = np.zeros(count, bool)
    steps = np.zeros(count, np.int64) if any(s.step is None for s in all_series) else np.empty(count, np.int64)
    at = 0
    for series in all_series:
        end = at + len(series)
        if series.step is None:
            mask[at:end] = True
        else:
            steps[at:end] = np.ma.getdata(series.step)
            mask[at:end] = np.ma.getmaskarray(series.step) if isinstance(series.step, np.ma.MaskedArray) else False
        at = end
    return pd.arrays.IntegerArray(steps, mask)


# Arrow


def arrow_allocate() -> Callable[[int], Any]:
    allocate: Callable[[int], Any] = module("pyarrow").allocate_buffer
    return allocate


def arrow_schema() -> Any:
    pa = module("pyarrow")
    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("run", text),
            ("metric", text),
            ("source", text),
            ("time", pa.timestamp("ns", "UTC")),
            ("step", pa.int64()),
            ("value", pa.float64()),
        ]
    )


def arrow_batch(points: Growing) -> Any:
    """Returns the points so far, in order of time."""
    pa, schema = module("pyarrow"), arrow_schema()

    def label(text: str) -> Any:
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), points.count), [text])

    def column(kind: Any, buffer: Any) -> Any:
        if points.count == 0:
            return pa.array([], kind)
        return pa.Array.from_buffers(kind, points.count, [None, buffer])

    d = points.declaration
    columns = [
        label(d.run),
        label(d.metric),
        label(d.source),
        column(schema.field("time").type, points.times),
        _arrow_steps(pa, points, column),
        column(pa.float64(), points.values),
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    if points.ordered:
        return batch
    return batch.take(module("pyarrow.compute").array_sort_indices(batch.column(3)))


def _arrow_steps(pa: Any, points: Growing, column: Callable[[Any, Any], Any]) -> Any:
    if points.steps is None:
        return pa.nulls(points.count, pa.int64())
    steps = column(pa.int64(), points.steps)
    if not points.stepless:
        return steps
    present, at = [], 0
    for first, last in [*points.stepless, (points.count, points.count)]:
        present += [pa.repeat(True, first - at), pa.repeat(False, last - first)]
        at = last
    return module("pyarrow.compute").if_else(pa.concat_arrays(present), steps, pa.scalar(None, pa.int64()))


def arrow_table(all_series: list[Growing]) -> Any:
    pa = module("pyarrow")
    gaps = gaps_of(all_series)
    table = pa.Table.from_batches([arrow_batch(points) for points in all_series], arrow_schema()).unify_dictionaries()
    if gaps:
        table = table.replace_schema_metadata({"corral.gaps": json.dumps(gaps)})
    return table

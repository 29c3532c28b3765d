"""Reads what only Python can read, for `corral import`: `python -m corral._import aim|parquet PATH`.

Gives lines of JSON, which src/imports/interchange.h describes. Parquet needs pyarrow, Aim needs aim. Memory is bounded
by a batch of rows, or by one sequence of a run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corral._modules import installed, module

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_ROWS = 1 << 14
LINE_POINTS = 1 << 14
INSTALL = {"aim": "aim", "parquet": "pyarrow"}


class RefusedError(Exception):
    """The reason, for the person who imports."""


def give(**line: Any) -> None:
    sys.stdout.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")


def text_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


# ---- Parquet


def texts(column: Any) -> list[str]:
    """The cells of a column, floats exactly, times in nanoseconds; an empty text where there is none."""
    pa = module("pyarrow")
    kind = column.type
    if pa.types.is_dictionary(kind):
        return texts(column.dictionary_decode())
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.timestamp("ns")).cast(pa.int64())
    elif pa.types.is_floating(kind):
        return ["" if value is None else text_of(value) for value in column.cast(pa.float64()).to_pylist()]
    return ["" if value is None else str(value) for value in column.to_pylist()]


def is_simple(kind: Any) -> bool:
    types = module("pyarrow").types
    return not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def header_of(schema: Any) -> list[str]:
    """The names; the first column of timestamps is the exact time, unless there is one."""
    types = module("pyarrow").types
    names = [str(name) for name in schema.names]
    times = [i for i, field in enumerate(schema) if types.is_timestamp(field.type) or types.is_date(field.type)]
    if times and "time_ns" not in names:
        names[times[0]] = "time_ns"
    return names


def read_parquet(path: Path) -> None:
    file = module("pyarrow.parquet").ParquetFile(path)
    schema = file.schema_arrow
    kept = [i for i, field in enumerate(schema) if is_simple(field.type)]
    for i in set(range(len(schema))) - set(kept):
        give(left_out=[f"cells of column '{schema.names[i]}' of type {schema.field(i).type}", file.metadata.num_rows])
    if not kept:
        raise RefusedError("no column has numbers")
    names = header_of(schema)
    give(table={"identity": f"Parquet {digest_of(path)}", "name": path.stem})
    give(rows=[[names[i] for i in kept]])
    done = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        columns = [texts(batch.column(i)) for i in kept]
        give(rows=list(zip(*columns, strict=True)))
        done += batch.num_rows
        give(progress=[done, file.metadata.num_rows])
    give(end_table=True)


# ---- Aim


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Params by dotted names; a list is one value."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from flat(member, f"{name}.{key}" if name else str(key))
    elif isinstance(value, str):
        yield name, value
    else:
        yield name, json.dumps(value, default=str)


def source_of(context: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(context.items()))


def nanoseconds(seconds: float) -> int:
    numerator, denominator = float(seconds).as_integer_ratio()
    return (2 * numerator * 10**9 + denominator) // (2 * denominator)


def give_metric(metric: Any) -> int:
    """Gives the points in the order in which they were tracked. Returns the time of the last."""
    steps, (values, _epochs, times) = metric.data.items_list()
    rows = sorted(
        (nanoseconds(time), int(step), value)
        for step, value, time in zip(steps, values, times, strict=True)
        if time is not None and math.isfinite(time)
    )
    if len(rows) < len(steps):
        give(left_out=["points without a time", len(steps) - len(rows)])
    for begin in range(0, len(rows), LINE_POINTS):
        some = rows[begin : begin + LINE_POINTS]
        points = {"metric": metric.name, "source": source_of(metric.context.to_dict())}
        lists = {
            "times_ns": [time for time, _, _ in some],
            "steps": [step for _, step, _ in some],
            "values": [float(v) if math.isfinite(v) else text_of(float(v)) for _, _, v in some],
        }
        give(points=points | lists)
    return rows[-1][0] if rows else 0


def give_texts(sequence: Any) -> int:
    steps, (values, _epochs, times) = sequence.data.items_list()
    source = source_of(sequence.context.to_dict())
    rows = sorted((nanoseconds(time), int(step), value) for step, value, time in zip(steps, values, times, strict=True))
    for time, step, value in rows:
        attributes = {"text": str(getattr(value, "data", value)), "step": str(step)}
        give(
            event={
                "time_ns": time,
                "name": sequence.name,
                "attributes": attributes | ({"source": source} if source else {}),
            }
        )
    return rows[-1][0] if rows else 0


OTHER_SEQUENCES = ("images", "distributions", "audios", "figures")


def give_sequences(run: Any) -> int:
    """Returns the time of the last point or text; each sequence is a part, because it grows on its own."""
    last = 0
    for metric in run.metrics():
        give(part=f"metric {metric.name} {json.dumps(metric.context.to_dict(), sort_keys=True, default=str)}")
        last = max(last, give_metric(metric))
    context_of = module("aim.storage.context").Context
    found = run.collect_sequence_info(("texts", *OTHER_SEQUENCES), skip_last_value=True)
    for one in found.get("texts", []):
        sequence = run.get_text_sequence(one["name"], context_of(one["context"]))
        if sequence is not None:
            give(part=f"text {one['name']} {json.dumps(one['context'], sort_keys=True, default=str)}")
            last = max(last, give_texts(sequence))
    for kind in OTHER_SEQUENCES:
        if found.get(kind):
            give(left_out=[f"sequences of {kind}", len(found[kind])])
    return last


def give_run(run: Any) -> None:
    start = nanoseconds(run.creation_time)
    give(
        run={
            "identity": f"Aim {run.hash}",
            "name": run.name or run.hash,
            "experiment": run.experiment or "",
            "start_ns": start,
        }
    )
    try:
        params = dict(run[...])
    except KeyError:
        params = {}
    if params.pop("__system_params", None) is not None:
        give(left_out=["descriptions of the environment", 1])
    for key, value in flat(params):
        if key:
            give(param=[key, value])
    give(tag=["aim.run_hash", run.hash])
    if run.tags:
        give(tag=["aim.tags", ",".join(run.tags)])
    if run.description:
        give(tag=["aim.description", run.description])
    last = give_sequences(run)
    end = nanoseconds(run.end_time) if run.end_time else max(start, last)
    give(end={"end_ns": end, "running": False})


def opened_repository(path: Path) -> tuple[Any, list[Any]]:
    """The repository, and what must live as long. Aim itself reads an index that only its server writes; this reads the
    runs' own files.
    """
    aim, union = module("aim"), module("aim.storage.union")
    config = module("aim.sdk.repo").ContainerConfig
    repo = aim.Repo.from_path(str(path))
    containers = []
    for name in ("meta", "seqs"):
        container = union.RocksUnionContainer(os.path.join(repo.path, name), read_only=True)
        repo.container_pool[config(name, None, True)] = container
        containers.append(container)
    return repo, containers


def read_aim(path: Path) -> None:
    repo, _containers = opened_repository(path)
    hashes = sorted(repo.list_all_runs())
    if not hashes:
        raise RefusedError("the repository has no runs")
    for done, name in enumerate(hashes):
        give(progress=[done, len(hashes)])
        give_run(module("aim").Run(name, repo=repo, read_only=True))


def main(arguments: list[str] | None = None) -> int:
    kind, path = (sys.argv[1:] if arguments is None else arguments)[:2]
    needed = INSTALL[kind]
    if not installed(needed):
        give(
            error=f"{path}: reading it needs {needed}, which {sys.executable} has not: `pip install {needed}` there, "
            "or name another Python with CORRAL_PYTHON"
        )
        return 0
    try:
        (read_parquet if kind == "parquet" else read_aim)(Path(path))
    except BrokenPipeError:
        raise
    except Exception as error:
        give(error=f"{path}: {error or type(error).__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Files for analysis: Parquet (pyarrow, zstd) and DuckDB, written at once from memory: no acknowledgements.

"wide": a column of times and one column per series. "long": a row per point, ordered by series, then time.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from support import Data, Report, main


def wide(data: Data) -> Any:
    import pyarrow

    columns = {"time": data.times} | {name: data.values[s] for s, name in enumerate(data.names)}
    return pyarrow.table(columns)


def long(data: Data) -> Any:
    import pyarrow

    rows = len(data.times)
    return pyarrow.table(
        {
            "series": np.repeat(np.arange(len(data.names), dtype=np.int32), rows),
            "time": np.tile(data.times, len(data.names)),
            "value": data.values.reshape(-1),
        }
    )


def parquet(data: Data, directory: Path) -> None:
    import pyarrow
    import pyarrow.parquet as pq

    series = len(data.names)
    split = {name: "BYTE_STREAM_SPLIT" for name in data.names}
    delta = {"time": "DELTA_BINARY_PACKED"}
    ways: dict[str, tuple[Any, dict[str, Any]]] = {
        "wide, dictionaries": (wide(data), {}),
        "wide, byte streams split": (wide(data), {"use_dictionary": False, "column_encoding": split | delta}),
        "long": (long(data), {"use_dictionary": ["series", "value"], "column_encoding": delta}),
    }
    for way, (table, options) in ways.items():
        file = directory / "points.parquet"
        report = Report(f"Parquet + zstd, {way}", data.points, {"version": pyarrow.__version__})
        began, cpu = time.perf_counter(), time.process_time()
        pq.write_table(table, file, compression="zstd", compression_level=3, **options)
        report.wrote(time.perf_counter() - began, time.process_time() - cpu)
        report.size(file)
        if way.startswith("wide"):
            report.query("series", lambda i, f=file: pq.read_table(f, columns=["time", data.names[i % series]]))
        else:
            report.query("series", lambda i, f=file: pq.read_table(f, filters=[("series", "=", i % series)]))
        began = time.perf_counter()
        pq.read_table(file)
        report.facts |= {
            "series_points": len(data.times),
            "scan_points_per_s": data.points / (time.perf_counter() - began),
        }
        report.print()


def duckdb(data: Data, directory: Path) -> None:
    import duckdb

    for way, table in {"wide": wide(data), "long": long(data)}.items():
        file = directory / f"{way}.duckdb"
        with duckdb.connect(str(file)) as database:
            report = Report(f"DuckDB, {way}", data.points, {"version": duckdb.__version__})
            database.register("source", table)
            began, cpu = time.perf_counter(), time.process_time()
            database.execute("CREATE TABLE points AS SELECT * FROM source")
            database.execute("CHECKPOINT")
            report.wrote(time.perf_counter() - began, time.process_time() - cpu)
            select, scan = statements(way, data)
            report.query("series", lambda i, d=database, s=select: d.execute(s(i)).fetchnumpy())
            began = time.perf_counter()
            database.execute(scan).fetchall()
            report.facts |= {
                "series_points": len(data.times),
                "scan_points_per_s": data.points / (time.perf_counter() - began),
            }
        report.size(file)
        report.print()


def statements(way: str, data: Data) -> tuple[Any, str]:
    """Returns the statements for one series and for the sum of all."""

    def one(i: int) -> str:
        s = i % len(data.names)
        if way == "wide":
            return f'SELECT time, "{data.names[s]}" FROM points ORDER BY time'
        return f"SELECT time, value FROM points WHERE series = {s} ORDER BY time"

    sums = ", ".join(f'sum("{name}")' for name in data.names)
    return one, f"SELECT {sums if way == 'wide' else 'sum(value)'} FROM points"


def measure(data: Data) -> None:
    with tempfile.TemporaryDirectory() as directory:
        parquet(data, Path(directory))
        duckdb(data, Path(directory))


if __name__ == "__main__":
    main("Parquet and DuckDB", measure)

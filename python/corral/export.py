"""Writes points of runs as Parquet: `python -m corral.export RUN... --metric GLOB --output FILE`. Needs pyarrow.

One row per point, as CSV of `corral export` has them: run, metric, source, time, step, value. Two rows without a value
are the begin and end of what the store cannot read any more. Memory is bounded by a row group.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from corral._columns import Growing
from corral._modules import installed, module
from corral._read import open_stream
from corral._server import Server, find_server
from corral._stream import Columns, Declaration, Gap, PointsStream
from corral._tables import arrow_allocate, arrow_batch, arrow_schema

if TYPE_CHECKING:
    from typing import BinaryIO

ROW_GROUP = 1 << 20  # rows, about


class Rows:
    """Collects chunks of the stream into row groups, in the order in which they come."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._allocate = arrow_allocate()
        self._batches: list[Any] = []
        self._waiting = 0
        self._open: Growing | None = None
        self.rows = self.gaps = 0

    def take(self, stream: PointsStream) -> None:
        declaration: Declaration | None = None
        for item in stream:
            if isinstance(item, Declaration):
                declaration = item
                self._close()
            elif declaration is None:
                raise RuntimeError("corral.export: points before their series")
            elif isinstance(item, Gap):
                self._close()
                self._gap(declaration, item)
            else:
                self._points(declaration, item, stream)
        self._close()
        self._write()

    def _points(self, declaration: Declaration, columns: Columns, stream: PointsStream) -> None:
        if self._open is None:
            self._open = Growing(declaration, self._allocate, 0)
        self._open.take(columns, stream)
        if self._open.count + self._waiting >= ROW_GROUP:
            self._close()

    def _gap(self, d: Declaration, gap: Gap) -> None:
        self.gaps += 1
        values = [[d.run] * 2, [d.metric] * 2, [d.source] * 2, [gap.from_ns, gap.to_ns], [None] * 2, [None] * 2]
        schema = arrow_schema()
        pa = module("pyarrow")
        self._add(
            pa.RecordBatch.from_arrays(
                [pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema
            )
        )

    def _close(self) -> None:
        if self._open is not None:
            self._open.ordered = True  # as it came
            self._add(arrow_batch(self._open))
            self._open = None

    def _add(self, batch: Any) -> None:
        self._batches.append(batch)
        self._waiting += batch.num_rows
        self.rows += batch.num_rows
        if self._waiting >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        if self._batches:
            table = module("pyarrow").Table.from_batches(self._batches).unify_dictionaries()
            self._writer.write_table(table, row_group_size=2 * ROW_GROUP)
        self._batches, self._waiting = [], 0


@contextmanager
def _file(path: str) -> Iterator[BinaryIO]:
    """A file that gets its name only when it is complete; anything but a regular file, such as a pipe, is written
    directly.
    """
    if not path:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as plain:
            yield plain
        return
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def write_parquet(file: BinaryIO, runs: list[str], metrics: list[str], server: Server) -> Rows:
    parquet = module("pyarrow.parquet")
    stream, answer = open_stream({"runs": runs, "metrics": metrics}, server)
    with answer:
        writer = parquet.ParquetWriter(file, arrow_schema(), compression="zstd")
        rows = Rows(writer)
        rows.take(stream)
        writer.close()
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="corral export --format parquet", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--metric", action="append", metavar="GLOB")
    parser.add_argument("--output", default="", metavar="FILE")
    parser.add_argument("--server")
    parser.add_argument("--store")
    parser.add_argument("--socket", help=argparse.SUPPRESS)
    parser.add_argument("--token-file")
    given = parser.parse_args(arguments)
    if not installed("pyarrow"):
        print(
            f"corral export: Parquet needs pyarrow, which {sys.executable} has not: `pip install pyarrow` there, "
            "or name another Python with CORRAL_PYTHON. CSV and JSON lines need nothing (--format csv, jsonl)",
            file=sys.stderr,
        )
        return 1
    if not given.output and sys.stdout.isatty():
        print("corral export: Parquet is not text; give --output FILE, or redirect the output", file=sys.stderr)
        return 2
    if given.token_file:
        os.environ["CORRAL_TOKEN_FILE"] = given.token_file
    try:
        server = Server(given.socket) if given.socket else find_server(given.server, given.store, None)
        with _file(given.output) as file:
            rows = write_parquet(file, given.runs, given.metric or ["*"], server)
    except (OSError, LookupError, ValueError, RuntimeError) as error:
        print(f"corral export: {str(error).removeprefix('corral: ')}", file=sys.stderr)
        return 1
    if rows.gaps:
        print(f"corral export: the store has damage: {rows.gaps} gaps, marked by rows without a value", file=sys.stderr)
    return 0


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by `corral export`
    sys.exit(main())

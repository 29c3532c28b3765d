"""Writes runs with other tools, and reads them with these tools' own readers: `python others.py write|read KIND DIR`.

It runs in the environment of `./dev proof importers`, not in that of the proof. `read` prints a line of JSON for each
thing that it reads: ["point", run, metric, source, time_ns, step, value], ["param", run, key, value],
["text", run, name, text, step] or ["medium", run, name, kind, step, content]; times are to the nearest nanosecond,
values as Python's `repr` of the double, contents as content_of() gives them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

Line = list[Any]
ODD = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 1e-45, 16777217.0)


def nanoseconds(seconds: float) -> int:
    return math.floor(Fraction(seconds) * 10**9 + Fraction(1, 2))


def point(run: str, metric: str, source: str, time_ns: int, step: int | None, value: float) -> Line:
    return ["point", run, metric, source, time_ns, step, repr(float(value))]


def content_of(kind: str, data: bytes) -> str:
    """A digest of a medium; of a histogram its numbers, as precise as TensorBoard itself reads them (float32)."""
    if kind != "histogram":
        return hashlib.sha256(data).hexdigest()
    histogram = json.loads(data)
    return str([struct.pack(f"{len(part)}f", *part).hex() for part in (histogram["edges"], histogram["counts"])])


# ---- TensorBoard: three writers, one reader


def write_summaries(writer_of: Callable[[Path], Any], folder: Path, size: int, chance: random.Random) -> None:
    """By the calls that PyTorch's SummaryWriter and tensorboardX have in common."""
    for run in ("one", "two"):
        writer = writer_of(folder / run)
        for step in range(size):
            writer.add_scalar("loss", chance.gauss(0, 1), step)
            writer.add_scalar("net/layer 1.weight", chance.random() * 1e-9, 2 * step)
        for step, value in enumerate(ODD):
            writer.add_scalar("odd", value, step)
        writer.add_scalar("again", 1.0, 5)
        writer.add_scalar("again", 2.0, 5)
        writer.add_scalar("times", 3.0, 1, walltime=1234567890.123456)
        writer.add_scalars("both", {"train": 0.25, "val": 0.5}, 3)
        writer.add_text("note", "some *text*, with ünicode\nand lines", 7)
        for step in range(3):
            pixels = import_module("numpy").full((3, 8, 8), chance.randrange(256), "uint8")
            writer.add_image("image", pixels, step)
            writer.add_histogram("h", import_module("numpy").arange(100) ** (step + 1), step)
        writer.add_histogram("same", import_module("numpy").zeros(5), 1)
        writer.add_hparams(
            {"lr": 0.1, "layers": 64, "opt": "sgd", "amp": True}, {"hp/acc": 0.5}, **hparams_place(writer)
        )
        writer.close()


def hparams_place(writer: Any) -> dict[str, str]:
    return {"name" if type(writer).__module__.startswith("tensorboardX") else "run_name": "trial"}


def write_tensorboardx(folder: Path, size: int, chance: random.Random) -> None:
    writer = import_module("tensorboardX").SummaryWriter
    write_summaries(lambda path: writer(str(path)), folder, size, chance)


def write_torch(folder: Path, size: int, chance: random.Random) -> None:
    writer = import_module("torch.utils.tensorboard").SummaryWriter
    write_summaries(lambda path: writer(str(path)), folder, size, chance)


def write_tensorboard(folder: Path, size: int, chance: random.Random) -> None:
    """Tensors of every number type, as TensorFlow 2 and Keras write them, in two sources and after a restart."""
    numpy, event, summary = (
        import_module("numpy"),
        import_module("tensorboard.compat.proto.event_pb2"),
        import_module("tensorboard.compat.proto.summary_pb2"),
    )
    scalars, texts, images, histograms = (
        import_module(f"tensorboard.plugins.{name}.metadata") for name in ("scalar", "text", "image", "histogram")
    )
    make = import_module("tensorboard.util.tensor_util").make_tensor_proto
    writer_type = import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter
    kinds = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "bool_")
    for part in ("train", "validation", "train"):
        writer = writer_type(str(folder / "keras" / part))
        seen: set[str] = set()

        def add(tag: str, value: Any, step: int, metadata: Any, writer: Any = writer, seen: set[str] = seen) -> None:
            one = summary.Summary.Value(tag=tag, tensor=make(value))
            if tag not in seen:
                one.metadata.CopyFrom(metadata.create_summary_metadata(display_name="", description=""))
            seen.add(tag)
            time = 1.7e9 + chance.random() * 1e6
            writer.add_event(event.Event(wall_time=time, step=step, summary=summary.Summary(value=[one])))

        for step in range(size):
            for kind in kinds:
                add(kind, getattr(numpy, kind)(chance.random() * 100), step, scalars)
        for step in range(3):
            files = [b"\x89PNG\r\n\x1a\n" + bytes([chance.randrange(256)]) for _ in range(2)]
            add("images", numpy.array([b"1", b"1", *files], dtype=object), step, images)
            counts, edges = numpy.histogram([chance.gauss(0, 1) for _ in range(200)], bins=30)
            add("spread", numpy.stack([edges[:-1], edges[1:], counts], 1), step, histograms)
        add("words", numpy.array([b"hello", b"there"], dtype=object), 3, texts)
        writer.close()


def read_tensors(run: str, source: str, read: Any) -> Iterator[Line]:
    array_of = import_module("tensorboard.util.tensor_util").make_ndarray
    for tag in read.Tags()["tensors"]:
        plugin = read.SummaryMetadata(tag).plugin_data.plugin_name
        for one in read.Tensors(tag):
            array = array_of(one.tensor_proto)
            if plugin == "scalars":
                yield point(run, tag, source, nanoseconds(one.wall_time), one.step, float(array))
            if plugin == "text":
                yield ["text", run, tag, "\n".join(part.decode() for part in array.ravel()), one.step]


def read_media(run: str, source: str, read: Any) -> Iterator[Line]:
    array_of = import_module("tensorboard.util.tensor_util").make_ndarray
    summary = import_module("tensorboard.compat.proto.summary_pb2")
    migrated = import_module("tensorboard.data_compat").migrate_value
    before = f"{source}/" if source else ""

    def histogram(tag: str, step: int, rows: Any) -> Line:
        edges = [*rows[:, 0].tolist(), *rows[-1:, 1].tolist()]
        data = json.dumps({"edges": edges, "counts": rows[:, 2].tolist()}).encode()
        return ["medium", run, before + tag, "histogram", step, content_of("histogram", data)]

    def file(name: str, kind: str, step: int, data: bytes) -> Line:
        return ["medium", run, before + name, kind, step, content_of(kind, data)]

    for tag in read.Tags()["images"]:
        yield from (file(tag, "image", one.step, one.encoded_image_string) for one in read.Images(tag))
    for tag in read.Tags()["histograms"]:
        for one in read.Histograms(tag):
            old = summary.Summary.Value(tag=tag, histo=summary.HistogramProto(**vars(one.histogram_value)))
            yield histogram(tag, one.step, array_of(migrated(old).tensor))
    for tag in read.Tags()["tensors"]:
        plugin = read.SummaryMetadata(tag).plugin_data.plugin_name
        for one in read.Tensors(tag):
            array = array_of(one.tensor_proto)
            if plugin == "text":
                yield file(tag, "text", one.step, b"\n".join(array.ravel()))
            if plugin == "histograms":
                yield histogram(tag, one.step, array)
            if plugin == "images":
                yield from (file(f"{tag}/{i}", "image", one.step, data) for i, data in enumerate(array[2:]))


def read_hparams(run: str, read: Any) -> Iterator[Line]:
    content = read.summary_metadata.get("_hparams_/session_start_info")
    if content is None:
        return
    data = import_module("tensorboard.plugins.hparams.plugin_data_pb2").HParamsPluginData()
    data.ParseFromString(content.plugin_data.content)
    for key, value in data.session_start_info.hparams.items():
        kind = value.WhichOneof("kind")
        plain = getattr(value, kind)
        text = str(plain).lower() if kind == "bool_value" else plain
        yield ["param", run, key, f"{text:g}" if isinstance(text, float) else text]


def read_tensorboard(folder: Path) -> Iterator[Line]:
    accumulator = import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator
    for run in sorted(path for path in folder.iterdir() if path.is_dir()):
        for place in [run, *sorted(path for path in run.rglob("*") if path.is_dir())]:
            if not any("tfevents" in path.name for path in place.iterdir()):
                continue
            source = "" if place == run else str(place.relative_to(run))
            # Steps that go back are kept: a restart discards nothing.
            all_of = dict.fromkeys(("scalars", "tensors", "images", "histograms"), 0)
            read = accumulator(str(place), size_guidance=all_of, purge_orphaned_data=False)
            read.Reload()
            for tag in read.Tags()["scalars"]:
                for one in read.Scalars(tag):
                    yield point(run.name, tag, source, nanoseconds(one.wall_time), one.step, one.value)
            yield from read_tensors(run.name, source, read)
            yield from read_hparams(run.name, read)
            # The last of a step counts.
            yield from {tuple(medium[:5]): medium for medium in read_media(run.name, source, read)}.values()


# ---- W&B


def write_wandb(folder: Path, size: int, chance: random.Random) -> None:
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    wandb = import_module("wandb")
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(("one", "two")):
        config = {"lr": 0.1, "model": {"layers": 3, "name": "r18", "deep": {"a": None}}, "list": [1, 2], "flag": True}
        run = wandb.init(project="proof", name=name, dir=str(folder), config=config, tags=["a", "b"])
        for step in range(size):
            run.log({"loss": chance.gauss(0, 1), "count": step, "nested": {"a": chance.random(), "b": {"c": 2 * step}}})
        for value in ODD:
            run.log({"odd": value})
        run.log({"hist": wandb.Histogram([1, 2, 3]), "text": "words", "long": "x" * 100_000})
        run.log({"late": 5}, step=10 * size + 100)
        run.config.update({"added": 7})
        run.finish(exit_code=number)


def wandb_records(path: Path) -> Iterator[Any]:
    """As wandb/sdk/internal/datastore.py, which newer versions of W&B do not have any more, reads them."""
    record_type = import_module("wandb.proto.wandb_internal_pb2").Record
    content = path.read_bytes()
    at, whole = 7, b""
    while at < len(content):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        crc, size, kind = struct.unpack("<IHB", content[at : at + 7])
        part = content[at + 7 : at + 7 + size]
        if zlib.crc32(part, zlib.crc32(bytes([kind]))) != crc:
            raise ValueError(f"{path}: checksum at byte {at}")
        at += 7 + size
        whole += part
        if kind in (1, 4):
            record = record_type()
            record.ParseFromString(whole)
            whole = b""
            yield record


def flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}")
    else:
        yield name, value


def json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def read_history(run: str, history: Any) -> Iterator[Line]:
    def number(text: str) -> float:
        return -0.0 if text == "-0" else int(text)

    items = {
        tuple(item.nested_key) or (item.key,): json.loads(item.value_json, parse_int=number) for item in history.item
    }
    media = [key[:-1] for key in items if key[-1] == "_type"]
    time = nanoseconds(items[("_timestamp",)])
    for key, value in items.items():
        if key[0].startswith("_") or any(key[: len(prefix)] == prefix for prefix in media):
            continue
        plain = float(value) if value in ("NaN", "Infinity", "-Infinity") else value
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            yield point(run, ".".join(key), "", time, history.step.num, plain)


def read_wandb_run(path: Path) -> Iterator[Line]:
    name = ""
    config: dict[str, Any] = {}
    for record in wandb_records(path):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            name = record.run.display_name
        if kind in ("run", "config"):
            update = (record.run.config if kind == "run" else record.config).update
            config |= {item.key: json.loads(item.value_json) for item in update if item.key != "_wandb"}
        if kind == "stats":
            time = record.stats.timestamp.seconds * 10**9 + record.stats.timestamp.nanos
            for item in record.stats.item:
                yield point(name, item.key, "wandb", time, None, json.loads(item.value_json))
        if kind == "history":
            yield from read_history(name, record.history)
    for top, value in config.items():
        for key, plain in flat(value, top):
            yield ["param", name, key, json_text(plain)]


def read_wandb(folder: Path) -> Iterator[Line]:
    for path in sorted(folder.rglob("*.wandb")):
        yield from read_wandb_run(path)


# ---- Aim


def write_aim(folder: Path, size: int, chance: random.Random) -> None:
    aim = import_module("aim")
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"system_tracking_interval": None, "log_system_params": False, "capture_terminal_logs": False}
    for name in ("one", "two"):
        run = aim.Run(repo=str(folder), experiment="proof", **quiet)
        run.name = name
        run["hparams"] = {"lr": 0.1, "model": {"layers": 3}, "list": [1, 2], "name": "x", "flag": True}
        for step in range(size):
            for subset in ("train", "val"):
                run.track(chance.gauss(0, 1), name="loss", step=step, epoch=step // 10, context={"subset": subset})
            run.track(step * 3, name="count", step=step * 5)
        for step, value in enumerate(ODD):
            run.track(value, name="odd", step=step)
        run.track(aim.Text("some text"), name="note", step=3)
        run.close()


def read_aim(folder: Path) -> Iterator[Line]:
    """With an index, which Aim's own queries need, and not as Corral reads."""
    repo = import_module("aim").Repo.from_path(str(folder))
    index = import_module("aim.sdk.index_manager").RepoIndexManager.get_index_manager(repo)
    for name in repo.list_all_runs():
        index.index(name)
    repo = import_module("aim").Repo(str(folder))
    for run in repo.iter_runs():
        for metric in run.metrics():
            source = ",".join(f"{key}={value}" for key, value in sorted(metric.context.to_dict().items()))
            steps, (values, _epochs, times) = metric.data.items_list()
            for step, value, time in zip(steps, values, times, strict=True):
                yield point(run.name, metric.name, source, nanoseconds(time), int(step), value)
        for top, value in run[...].items():
            for key, plain in flat(value, top):
                yield ["param", run.name, key, plain if isinstance(plain, str) else json.dumps(plain)]
        sequence = run.get_text_sequence("note", import_module("aim.storage.context").Context({}))
        steps, (values, _epochs, _times) = sequence.data.items_list()
        for step, value in zip(steps, values, strict=True):
            yield ["text", run.name, "note", value.data, int(step)]


# ---- Parquet and CSV, by Arrow


def arrow_table(size: int, chance: random.Random) -> Any:
    arrow = import_module("pyarrow")
    values = [chance.gauss(0, 1) if step % 7 else None for step in range(size)] + list(ODD)
    rows = len(values)
    times = [1_700_000_000_123_456_789 + 1_000_000_007 * step for step in range(rows)]
    return arrow.table(
        {
            "step": arrow.array(range(rows), arrow.int64()),
            "time_ns": arrow.array(times, arrow.int64()),
            "loss": arrow.array(values, arrow.float64()),
            "half, or so": arrow.array([float(step % 100) / 4 for step in range(rows)], arrow.float32()),
            "name": ["text"] * rows,
        }
    )


def write_parquet(folder: Path, size: int, chance: random.Random) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    import_module("pyarrow.parquet").write_table(arrow_table(size, chance), folder / "one.parquet", row_group_size=1000)


def write_csv(folder: Path, size: int, chance: random.Random) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    import_module("pyarrow.csv").write_csv(arrow_table(size, chance), folder / "one.csv")


def read_arrow(table: Any) -> Iterator[Line]:
    columns = {name: table[name].to_pylist() for name in table.column_names}
    for step, time, *values in zip(*(columns[n] for n in ("step", "time_ns", "loss", "half, or so")), strict=True):
        for metric, value in zip(("loss", "half, or so"), values, strict=True):
            if value is not None:
                yield point("one", metric, "", time, step, value)


def read_parquet(folder: Path) -> Iterator[Line]:
    yield from read_arrow(import_module("pyarrow.parquet").read_table(folder / "one.parquet"))


def read_csv(folder: Path) -> Iterator[Line]:
    """Only an empty cell is nothing: without options Arrow reads the NaN that it wrote as nothing, too."""
    arrow = import_module("pyarrow.csv")
    options = arrow.ConvertOptions(null_values=[""])
    yield from read_arrow(arrow.read_csv(folder / "one.csv", convert_options=options))


WRITERS = {
    "tensorboardX": write_tensorboardx,
    "torch": write_torch,
    "tensorboard": write_tensorboard,
    "wandb": write_wandb,
    "aim": write_aim,
    "parquet": write_parquet,
    "csv": write_csv,
}
READERS = {
    "tensorboardX": read_tensorboard,
    "torch": read_tensorboard,
    "tensorboard": read_tensorboard,
    "wandb": read_wandb,
    "aim": read_aim,
    "parquet": read_parquet,
    "csv": read_csv,
}


def main() -> int:
    what, kind, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if what == "write":
        # PyTorch's own environment lacks TensorBoard's package.
        sys.path += [path for path in os.environ.get("OTHER_PACKAGES", "").split(os.pathsep) if path]
        WRITERS[kind](folder, int(sys.argv[4]), random.Random(7))
        return 0
    with Path(sys.argv[4]).open("w") as out:
        out.writelines(json.dumps(line) + "\n" for line in READERS[kind](folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

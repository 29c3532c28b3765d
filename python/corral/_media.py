"""Images, figures, histograms, tables, texts, audio and video of a run, by step: artifacts below `media/`.

A file's name holds the name, the step and, by its ending, the kind (docs/media.md). Encoding happens in the calling
thread. Arguments of a wrong kind are a TypeError or ValueError; what is too large, or cannot be encoded or written, is
a RuntimeWarning, and only that value is missing.
"""

from __future__ import annotations

import os
import stat
import warnings
from itertools import pairwise

from corral import _artifact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsIndex

_NAME_BYTES = 200
_LARGEST = 64 << 20
_LARGEST_TEXT = 4 << 20
_LARGEST_MEMORY = 256 << 20  # an array before it is encoded
_MOST_BINS = 1024
_MOST_CELLS = 1 << 20
_RESERVED = frozenset('/\\#%=@:*?"<>|')

_IMAGES = ("png", "jpg", "jpeg", "gif", "webp", "bmp", "avif")
_SOUNDS = ("wav", "mp3", "ogg", "flac", "m4a")
_VIDEOS = ("mp4", "webm", "gif")
_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"))

_told: set[tuple[str, str]] = set()


class _NotRecordedError(Exception):
    """One value is not recorded, for a reason that says nothing about the script."""


class _File:
    """A copy of `path`, or `data`, under a name with `ending`."""

    def __init__(self, ending: str, data: bytes = b"", path: str = "") -> None:
        self.ending, self.data, self.path = ending, data, path


def record(kind: str, name: str, step: SupportsIndex | None, encode: Callable[[], _File]) -> None:
    """Hands the encoded value to the run's spool; tells once of each name whose values cannot be recorded."""
    stem = _stem(kind, name, step)
    try:
        file = encode()
        if file.path:
            _artifact.keep(file.path, f"media/{stem}.{file.ending}")
        else:
            _artifact.keep_bytes(file.data, f"media/{stem}.{file.ending}")
    except (_NotRecordedError, MemoryError, OSError) as error:
        if (kind, name) not in _told:
            _told.add((kind, name))
            why = str(error) or "out of memory"
            warnings.warn(f"corral.{kind}: {name!r} is not recorded: {why}", RuntimeWarning, stacklevel=3)


def _stem(kind: str, name: str, step: SupportsIndex | None) -> str:
    """`name@step`, or `name` without a step, where the characters that paths reserve are `=` and two hex digits."""
    if not isinstance(name, str):
        raise TypeError(f"corral.{kind}: a name must be a str, not {type(name).__qualname__}")
    reserved = (f"={ord(c):02X}" if c in _RESERVED or ord(c) < 0x20 or ord(c) == 0x7F else c for c in name)
    stem = "".join(reserved)
    if not stem or len(stem.encode()) > _NAME_BYTES:
        raise ValueError(
            f"corral.{kind}: a name has 1 to {_NAME_BYTES} bytes, with 3 for each of / \\ # % = @ and such"
        )
    if step is None:
        return stem
    try:
        number = step.__index__()
    except AttributeError:
        raise TypeError(f"corral.{kind}: a step must be an int or None, not {type(step).__qualname__}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"corral.{kind}: a step must fit in 64 bits")
    return f"{stem}@{number}"


def _wrong(kind: str, value: object, wanted: str) -> TypeError:
    return TypeError(f"corral.{kind}: expected {wanted}, not {type(value).__qualname__}")


def _bounded(size: int, most: int, what: str) -> None:
    if size > most:
        raise _NotRecordedError(f"{what} has {size} bytes; at most {most >> 20} MiB are recorded")


def _data(ending: str, data: bytes, most: int = _LARGEST) -> _File:
    _bounded(len(data), most, "it")
    return _File(ending, data)


def _at(kind: str, path: str | os.PathLike[str], endings: tuple[str, ...]) -> _File:
    place = os.fspath(path)
    ending = os.path.splitext(place)[1][1:].lower()
    if ending not in endings:
        raise ValueError(f"corral.{kind}: {place!r} must end in .{', .'.join(endings)}")
    found = os.stat(place)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"corral.{kind}: {place!r} is not a regular file")
    _bounded(found.st_size, _LARGEST, place)
    return _File(ending, path=place)


def _array(kind: str, value: Any, wanted: str) -> Any:
    """The value as a NumPy array of numbers, copied from its device where it lies on one."""
    try:
        import numpy
    except ImportError:
        raise _wrong(kind, value, f"{wanted} (arrays need NumPy, which is not installed)") from None
    if hasattr(value, "detach"):
        # Before it is copied from its device.
        _bounded(value.numel() * value.element_size(), _LARGEST_MEMORY, "the tensor")
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    size = getattr(value, "nbytes", 0)
    if isinstance(size, int):
        _bounded(size, _LARGEST_MEMORY, "the array")
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf":
        raise _wrong(kind, value, wanted)
    return array


# ---- images


def image(value: Any) -> _File:
    wanted = "an array of H x W, H x W x 3 or H x W x 4, a PIL image, a path, or PNG, JPEG or GIF bytes"
    if isinstance(value, (str, os.PathLike)):
        return _at("image", value, _IMAGES)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        for signature, ending in _SIGNATURES:
            if raw.startswith(signature):
                return _data(ending, raw)
        raise ValueError("corral.image: the bytes are no PNG, JPEG or GIF")
    if hasattr(value, "save") and hasattr(value, "mode") and hasattr(value, "convert"):
        return _data("png", _png_of_pil(value))
    return _data("png", _png(_pixels(value, wanted)))


def _png_of_pil(picture: Any) -> bytes:
    import io

    width, height = picture.size
    _bounded(width * height * 4, _LARGEST_MEMORY, "the image")
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        picture = picture.convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _pixels(value: Any, wanted: str) -> Any:
    """Rows of pixels as uint8: H x W x channels. Channels may come first, as in PyTorch."""
    import numpy

    array = _array("image", value, wanted)
    if array.ndim == 3 and array.shape[2] not in (1, 3, 4) and array.shape[0] in (1, 3, 4):
        array = array.transpose(1, 2, 0)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or 0 in array.shape:
        raise ValueError(f"corral.image: expected {wanted}; the shape is {'x'.join(map(str, array.shape))}")
    if array.dtype.kind == "b":
        array = array * numpy.uint8(255)
    elif array.dtype.kind == "f":
        array = numpy.nan_to_num(array.astype(numpy.float32), nan=0.0, posinf=1.0, neginf=0.0).clip(0, 1) * 255 + 0.5
    elif array.dtype != numpy.uint8:
        array = array.clip(0, 255)
    return array.astype(numpy.uint8)


def _png(pixels: Any) -> bytes:
    import numpy

    height, width, channels = pixels.shape
    lines = numpy.zeros((height, 1 + width * channels), numpy.uint8)  # each begins with its filter: 0, none
    lines[:, 1:] = pixels.reshape(height, width * channels)
    return _png_of_lines(lines.tobytes(), (width, height, channels))


def _png_of_lines(lines: bytes, shape: tuple[int, int, int]) -> bytes:
    import struct
    import zlib

    width, height, channels = shape
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n"
    for name, content in ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 1)), (b"IEND", b"")):
        out += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return out


def figure(value: Any) -> _File:
    import io

    if not hasattr(value, "savefig"):
        raise _wrong("figure", value, "a matplotlib figure, or another object with savefig()")
    buffer = io.BytesIO()
    try:
        value.savefig(buffer, format="png")
    except Exception as error:  # errors of drawing code must not end a training
        raise _NotRecordedError(f"savefig() failed: {type(error).__name__}: {error}") from error
    return _data("png", buffer.getvalue())


# ---- numbers and texts


def _json(value: object) -> bytes:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def histogram(value: Any, bins: int) -> _File:
    if not isinstance(bins, int) or not 1 <= bins <= _MOST_BINS:
        raise ValueError(f"corral.histogram: bins must be 1 to {_MOST_BINS}")
    if isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "__len__"):
        counts, edges = ([float(n) for n in part] for part in value)
        if len(edges) != len(counts) + 1 or len(counts) > _MOST_BINS:
            raise ValueError(f"corral.histogram: expected up to {_MOST_BINS} counts, and one edge more")
        if not all(low < high for low, high in pairwise(edges)) or not all(n >= 0 for n in counts):
            raise ValueError("corral.histogram: edges must grow, and counts must be 0 or more")
        return _histogram_file(edges, counts, 0)
    array = _array("histogram", value, "an array of numbers, or counts and edges as numpy.histogram() returns them")
    return _histogram_file(*_histogram(array, bins))


def _histogram(array: Any, bins: int) -> tuple[list[float], list[float], int]:
    """Edges, counts, and how many values are NaN or infinite."""
    import numpy

    flat = array.reshape(-1)
    _bounded(flat.size * 8, _LARGEST_MEMORY, "the array, as 64-bit numbers,")
    flat = flat.astype(float, copy=False)
    finite = flat[numpy.isfinite(flat)]
    if finite.size == 0:
        return [], [], int(flat.size)
    lost = int(flat.size - finite.size)
    with numpy.errstate(all="ignore"):
        try:
            counts, edges = numpy.histogram(finite, bins=bins)
            good = bool((edges[1:] > edges[:-1]).all() and counts.sum() == finite.size)
        except (ValueError, IndexError):
            good = False
    if good:
        return edges.tolist(), counts.tolist(), lost
    # The values are too near to each other, or too far, for so many bins.
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = float(numpy.nextafter(low, -numpy.inf)), float(numpy.nextafter(high, numpy.inf))
    return [low, high], [int(finite.size)], lost


def _histogram_file(edges: list[float], counts: list[float], lost: int) -> _File:
    try:
        return _data("histogram.json", _json({"edges": edges, "counts": counts, "not_finite": lost}), _LARGEST_TEXT)
    except ValueError:
        raise ValueError("corral.histogram: counts and edges must be finite") from None


def table(value: Any, columns: Any) -> _File:
    names, rows = _table(value, columns)
    names = [str(name) for name in names]
    _few_cells(len(rows), len(names))
    for row in rows:
        if len(row) != len(names):
            raise ValueError(f"corral.table: a row has {len(row)} cells; there are {len(names)} columns")
    cells = [[_cell(cell) for cell in row] for row in rows]
    return _data("table.json", _json({"columns": names, "data": cells}), _LARGEST_TEXT)


def _few_cells(rows: int, columns: int) -> None:
    if rows * columns > _MOST_CELLS:
        raise _NotRecordedError(f"it has {rows * columns} cells; at most {_MOST_CELLS} are recorded")


def _table(value: Any, columns: Any) -> tuple[list[Any], list[Any]]:
    wanted = "a DataFrame, a dict of columns, a list of dicts, or rows with columns=[…]"
    if hasattr(value, "columns") and hasattr(value, "values"):
        _few_cells(len(value), len(value.columns))
        return list(value.columns), value.values.tolist()
    if isinstance(value, dict):
        lengths = {len(column) for column in value.values()}
        if len(lengths) > 1:
            raise ValueError("corral.table: the columns of a dict must be of one length")
        _few_cells(next(iter(lengths), 0), len(value))
        return list(value), [list(row) for row in zip(*value.values())]  # noqa: B905
    if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
        raise _wrong("table", value, wanted)
    _few_cells(len(value), 1 if columns is None else len(columns))
    rows = value.tolist() if hasattr(value, "tolist") else list(value)
    if rows and all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(key for row in rows for key in row)) if columns is None else list(columns)
        return names, [[row.get(name) for name in names] for row in rows]
    if columns is None or not all(isinstance(row, (list, tuple)) for row in rows):
        raise _wrong("table", value, wanted)
    return list(columns), rows


def _cell(value: Any) -> object:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON has no such numbers
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**53) <= value <= 2**53:
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def text(value: Any) -> _File:
    if not isinstance(value, str):
        raise _wrong("text", value, "a str")
    return _data("txt", value.encode("utf-8", "replace"), _LARGEST_TEXT)


# ---- sound and moving pictures


def audio(value: Any) -> _File:
    wanted = "a path, or samples and their rate: (array, 16000)"
    if isinstance(value, (str, os.PathLike)):
        return _at("audio", value, _SOUNDS)
    if not isinstance(value, tuple) or len(value) != 2:
        raise _wrong("audio", value, wanted)
    rate = value[1].__index__() if hasattr(value[1], "__index__") else 0
    if not 1 <= rate <= 768_000:
        raise ValueError(f"corral.audio: the rate must be 1 to 768000 samples a second, not {value[1]!r}")
    return _data("wav", _wav(_array("audio", value[0], wanted), rate))


def _wav(samples: Any, rate: int) -> bytes:
    """16-bit samples of floats from -1 to 1, or of int16; of two dimensions, the shorter is the channels."""
    import io
    import wave

    import numpy

    if samples.ndim == 2 and samples.shape[0] < samples.shape[1]:
        samples = samples.T
    if samples.ndim == 1:
        samples = samples[:, None]
    if samples.ndim != 2 or not 1 <= samples.shape[1] <= 8:
        raise ValueError("corral.audio: expected samples, or samples x channels with at most 8 channels")
    if samples.dtype.kind == "f":
        floats = numpy.nan_to_num(samples.astype(numpy.float32), nan=0.0, posinf=1.0, neginf=-1.0)
        samples = (floats.clip(-1, 1) * 32767).round()
    elif samples.dtype != numpy.int16:
        raise ValueError(f"corral.audio: samples are floats from -1 to 1 or int16, not {samples.dtype}")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return buffer.getvalue()


def video(value: Any) -> _File:
    if not isinstance(value, (str, os.PathLike)):
        raise _wrong("video", value, "a path of an .mp4, .webm or .gif file")
    return _at("video", value, _VIDEOS)

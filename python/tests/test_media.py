"""Images, texts, histograms and the like: the artifacts that they become, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import struct
import wave
import zlib
from pathlib import Path

import pytest
from conftest import Runner

pytest.importorskip("numpy")


def kept(run: Runner) -> dict[str, bytes]:
    """The artifacts in the spool, by their names in the run."""
    found = {}
    for place in (run.directory.parent / "artifacts").glob("*"):
        _, _, name = (place / "name").read_text().partition("\n")
        found[name] = (place / "data").read_bytes()
    return found


def pixels(png: bytes) -> tuple[int, int, int, bytes]:
    """Width, height, color type and lines of a PNG without filters, its checksums checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        size, name = struct.unpack_from(">I4s", png, at)
        content = png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size)[0] == zlib.crc32(name + content)
        chunks[name] = content
        at += 12 + size
    width, height, depth, color, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    return width, height, color, zlib.decompress(chunks[b"IDAT"])


def test_arrays_become_png(run: Runner) -> None:
    run(
        """
        import numpy as np
        corral.image("grey", np.array([[0.0, 0.5, 2.0], [np.nan, 1.0, -1.0]]), 3)
        corral.image("rgb", np.arange(12, dtype=np.uint8).reshape(2, 2, 3), step=-1)
        corral.image("first", np.zeros((3, 5, 7)), np.int64(2))
        corral.image("mask", np.array([[True, False]]))
        """
    )
    found = kept(run)
    assert sorted(found) == ["media/first@2.png", "media/grey@3.png", "media/mask.png", "media/rgb@-1.png"]
    assert pixels(found["media/grey@3.png"]) == (3, 2, 0, bytes([0, 0, 128, 255, 0, 0, 255, 0]))
    assert pixels(found["media/rgb@-1.png"]) == (2, 2, 2, bytes([0, *range(6), 0, *range(6, 12)]))
    assert pixels(found["media/first@2.png"])[:3] == (7, 5, 2)
    assert pixels(found["media/mask.png"])[3] == bytes([0, 255, 0])


def test_images_of_files_bytes_and_objects(run: Runner, tmp_path: Path) -> None:
    dot = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (tmp_path / "dot.png").write_bytes(dot)
    run(
        f"""
        import pathlib
        place = pathlib.Path({str(tmp_path / "dot.png")!r})
        corral.image("a/b c", place, 1)
        corral.image("bytes", place.read_bytes(), 1)
        class Figure:
            def savefig(self, file, format):
                file.write(format.encode())
        corral.figure("plot", Figure(), 1)
        """
    )
    assert kept(run) == {"media/a=2Fb c@1.png": dot, "media/bytes@1.png": dot, "media/plot@1.png": b"png"}


def test_numbers_texts_and_tables(run: Runner) -> None:
    run(
        """
        import numpy as np
        corral.histogram("w", np.array([0.0, 1.0, 1.0, np.inf, np.nan]), 5, bins=2)
        corral.histogram("given", np.histogram([1, 2, 2, 3], bins=2), 5)
        corral.histogram("nothing", np.array([np.nan]), 5)
        corral.text("said", "<b>grüße</b>\\n", 5)
        corral.table("dict", {"a": [1, 2], "b": ["x", None]}, 5)
        corral.table("dicts", [{"a": np.float32(0.5)}, {"b": float("nan")}], 5)
        corral.table("rows", [[2**60, True]], 5, columns=["big", "flag"])
        """
    )
    found = {name: data.decode() for name, data in kept(run).items()}
    assert found.pop("media/said@5.txt") == "<b>grüße</b>\n"
    assert {name: json.loads(text) for name, text in found.items()} == {
        "media/w@5.histogram.json": {"edges": [0, 0.5, 1], "counts": [1, 2], "not_finite": 2},
        "media/given@5.histogram.json": {"edges": [1, 2, 3], "counts": [1, 3], "not_finite": 0},
        "media/nothing@5.histogram.json": {"edges": [], "counts": [], "not_finite": 1},
        "media/dict@5.table.json": {"columns": ["a", "b"], "data": [[1, "x"], [2, None]]},
        "media/dicts@5.table.json": {"columns": ["a", "b"], "data": [[0.5, None], [None, "nan"]]},
        "media/rows@5.table.json": {"columns": ["big", "flag"], "data": [[str(2**60), True]]},
    }


def test_sound_and_video(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"film")
    run(
        f"""
        import numpy as np
        corral.audio("tone", (np.array([0.0, 1.0, -1.0, 2.0]), 8000), 1)
        corral.audio("stereo", (np.zeros((2, 100), np.int16), 16000), 1)
        corral.video("clip", {str(tmp_path / "clip.mp4")!r}, 1)
        """
    )
    found = kept(run)
    assert found.pop("media/clip@1.mp4") == b"film"
    for name, data in found.items():
        (tmp_path / Path(name).name).write_bytes(data)
    with wave.open(str(tmp_path / "tone@1.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (8000, 1)
        assert struct.unpack("<4h", file.readframes(4)) == (0, 32767, -32767, 32767)
    with wave.open(str(tmp_path / "stereo@1.wav")) as file:
        assert (file.getnframes(), file.getnchannels()) == (100, 2)


def test_wrong_arguments_are_errors(run: Runner) -> None:
    run(
        """
        import numpy as np
        wrong = [
            (TypeError, lambda: corral.image(3, np.zeros((2, 2)))),
            (TypeError, lambda: corral.image("a", np.zeros((2, 2)), 1.5)),
            (TypeError, lambda: corral.image("a", object())),
            (TypeError, lambda: corral.figure("a", 3)),
            (TypeError, lambda: corral.text("a", b"x")),
            (TypeError, lambda: corral.table("a", [[1]])),
            (TypeError, lambda: corral.audio("a", np.zeros(3))),
            (TypeError, lambda: corral.video("a", b"x")),
            (ValueError, lambda: corral.image("", np.zeros((2, 2)))),
            (ValueError, lambda: corral.image("/" * 70, np.zeros((2, 2)))),
            (ValueError, lambda: corral.image("a", np.zeros((2, 2)), 2**63)),
            (ValueError, lambda: corral.image("a", np.zeros((2, 2, 2)))),
            (ValueError, lambda: corral.image("a", b"<svg/>")),
            (ValueError, lambda: corral.image("a", "page.html")),
            (ValueError, lambda: corral.histogram("a", np.zeros(3), bins=0)),
            (ValueError, lambda: corral.histogram("a", ([1, 2], [0, 1]))),
            (ValueError, lambda: corral.table("a", [[1, 2]], columns=["one"])),
            (ValueError, lambda: corral.audio("a", (np.zeros(3), 0))),
            (ValueError, lambda: corral.audio("a", (np.zeros(3, np.int64), 8000))),
        ]
        for number, (kind, call) in enumerate(wrong):
            try:
                call()
            except kind as error:
                assert str(error).startswith("corral."), error
            else:
                raise SystemExit(f"{number} was taken")
        """
    )
    assert kept(run) == {}


def test_what_cannot_be_kept_is_a_warning_of_its_name(run: Runner) -> None:
    run(
        """
        import warnings
        class Broken:
            def savefig(self, file, format):
                raise RuntimeError("no such font")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for step in range(3):
                corral.text("long", "x" * (5 << 20), step)
                corral.figure("plot", Broken(), step)
                corral.image("lost", "absent.png", step)
        assert [str(one.message) for one in told] == [
            "corral.text: 'long' is not recorded: it has 5242880 bytes; at most 4 MiB are recorded",
            "corral.figure: 'plot' is not recorded: savefig() failed: RuntimeError: no such font",
            "corral.image: 'lost' is not recorded: [Errno 2] No such file or directory: 'absent.png'",
        ]
        assert all(one.filename == __file__ for one in told)
        corral.text("long", "short", 3)
        """
    )
    assert kept(run) == {"media/long@3.txt": b"short"}


def test_outside_of_a_run_no_argument_is_looked_at(run: Runner) -> None:
    run(
        """
        for call in (corral.image, corral.figure, corral.histogram, corral.table, corral.text, corral.audio):
            call(None, None)
        corral.video(None, None)
        """,
        CORRAL_SEGMENT_DIR="",
    )


def test_values_too_near_or_too_far_for_bins(run: Runner) -> None:
    run(
        """
        import numpy as np
        ones = np.ones(64); ones[3] = np.nextafter(1.0, 2.0)
        corral.histogram("near", ones)
        corral.histogram("tiny", [0.0, 3e-320])
        corral.histogram("same", [2.0, 2.0])
        corral.histogram("far", [-1.7e308, 1.7e308])
        """
    )
    found = {name: json.loads(data) for name, data in kept(run).items()}
    assert len(found) == 4
    for one in found.values():
        assert all(low < high for low, high in zip(one["edges"], one["edges"][1:], strict=False))
        assert sum(one["counts"]) in (2, 64)


def test_only_regular_files_are_read(run: Runner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "device.png").symlink_to("/dev/zero")
    told = run(
        f"""
        for name in ("pipe", "folder", "device"):
            try:
                corral.image(name, "{tmp_path}/" + name + ".png")
            except ValueError as error:
                print(error)
        try:
            corral.artifact("{tmp_path}/pipe.png")
        except OSError as error:
            print(error)
        """
    )
    assert kept(run) == {}
    assert told.count("not a regular file") == 4


def test_what_is_too_large_is_refused_before_it_is_copied(run: Runner) -> None:
    told = run(
        """
        import warnings
        warnings.showwarning = lambda message, *_: print(message)

        class Tensor:
            def numel(self): return 1 << 28
            def element_size(self): return 4
            def detach(self): return self
            def cpu(self): raise SystemExit("copied")
        corral.image("tensor", Tensor())

        class Rows(list):
            def __len__(self): return 1 << 20
            def __iter__(self): raise SystemExit("read")
        corral.table("rows", Rows(), columns=["a", "b"])
        """
    )
    assert kept(run) == {}
    assert "'tensor' is not recorded" in told
    assert "'rows' is not recorded" in told

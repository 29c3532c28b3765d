"""`corral plot` over a real server: files, numbers, names that attack, and what it says when nothing can be drawn."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import Corral

SVG = "{http://www.w3.org/2000/svg}"
LOG = """
    import math, corral
    for i in range(500):
        corral.log({"loss": math.exp(-i / 100), "accuracy": 1 - math.exp(-i / 100)}, step=i)
    corral.log({"never": float("nan")}, step=0)
"""


@pytest.fixture
def recorded(corral: Corral) -> Corral:
    """Two runs, the newer of which has a name that attacks."""
    script = corral.script("log.py", LOG)
    corral("run", "--quiet", "--name", "plain", script)
    corral("run", "--quiet", "--name", '</text><script>&"é🏇', script)
    return corral


def plot(corral: Corral, *words: str, status: int = 0) -> bytes:
    return corral("plot", *words, status=status).stdout


def texts(svg: bytes) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_same_runs_are_the_same_bytes_in_every_format(recorded: Corral, tmp_path: Path) -> None:
    starts = {"svg": b"<svg ", "pdf": b"%PDF-", "png": b"\x89PNG"}
    for format, start in starts.items():
        files = [tmp_path / f"{i}.{format}" for i in range(2)]
        for file in files:
            plot(recorded, "@1", "@2", "--metric", "loss", "-o", str(file))
        assert files[0].read_bytes().startswith(start)
        assert files[0].read_bytes() == files[1].read_bytes()
        assert plot(recorded, "@1", "@2", "--metric", "loss", "--format", format) == files[0].read_bytes()
    assert plot(recorded, "@2", "--metric", "loss", "-o", "-").startswith(b"<svg ")


def test_names_stay_text(recorded: Corral) -> None:
    svg = plot(recorded, "@1", "@2", "--metric", "loss", "--axis", "step", "--style", "slide", "--title", "<b>&amp;")
    assert {"step", "loss", "plain", "<b>&amp;"} <= set(texts(svg))
    named = texts(plot(recorded, "@1", "@2", "--metric", "loss", "--style", "slide", "--legend", "top"))
    assert '</text><script>&"é🏇' in named
    assert b"<script" not in svg
    # Signs that XML has no way to write.
    assert "a\ufffdb\ufffd" in texts(plot(recorded, "@1", "--metric", "loss", "--title", "a\x01b\ufffe"))


def test_the_numbers_are_those_drawn(recorded: Corral, tmp_path: Path) -> None:
    file = tmp_path / "numbers.csv"
    svg = plot(recorded, "@2", "--metric", "loss", "--axis", "step", "--data", str(file))
    content = file.read_bytes()
    found = re.search(rb"data sha256:([0-9a-f]{64}); ", svg)
    assert found is not None
    assert found[1].decode() == hashlib.sha256(content).hexdigest()
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert sum(int(row["points"]) for row in rows) == 500
    points = recorded.points("@2", "loss")
    assert min(float(row["low"]) for row in rows) == min(float(point.value) for point in points)


def test_the_look_is_what_was_asked_for(recorded: Corral) -> None:
    def attributes(*words: str) -> dict[str, str]:
        return ET.fromstring(plot(recorded, "@2", "--metric", "loss", *words)).attrib

    assert attributes("--style", "acm1")["width"] == "240pt"
    assert attributes("--style", "acm1", "--width", "300", "--height", "99.5")["height"] == "99.5pt"
    assert "run time (min:s)" in texts(plot(recorded, "@2", "--metric", "loss", "--axis", "run"))
    assert "loss" not in texts(plot(recorded, "@2", "--metric", "loss", "--no-axis-titles"))
    assert b"#121315" in plot(recorded, "@2", "--metric", "loss", "--theme", "dark")
    assert "loss/2" in texts(plot(recorded, "@2", "--metric", "loss/2"))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["@1", "--metric", "los"], 1, "no metric 'los' in these runs; did you mean 'loss'?"),
        (["@1", "--metric", "los/2"], 1, "no metric 'los/2' in these runs"),
        (["@1", "--metric", "los * 2"], 2, "--metric 'los * 2': column 1: no metric 'los'; did you mean 'loss'?"),
        (
            ["@1", "--metric", "loss", "--axis", "metric", "--x-metric", "loss *"],
            2,
            "--x-metric 'loss *': column",
        ),
        (["@1", "--metric", "never"], 1, "nothing to draw: no points of never"),
        (["@1", "--metric", "loss", "--axis", "step", "--from", "900", "--to", "1000"], 1, "from 900 to 1000"),
        (["nobody", "--metric", "loss"], 1, "no run has the id or name nobody"),
        (["@1", "--metric", "loss", "--y", "lg"], 2, "--y 'lg': expected auto, zero, log"),
        (["@1", "--metric", "loss", "--width", "1e9"], 2, "--width '1000000000': expected 80 to 4000 points"),
        (["@1", "--metric", "loss", "--width", "wide"], 2, "--width 'wide': expected a number"),
        (["@1", "--metric", "loss", "--style", "acm3"], 2, "expected one of screen, acm1"),
        (["@1", "--metric", "loss", "--smooth", "ema:5"], 2, "--smooth 'ema:5'"),
        (["@1", "--metric", "loss", "--baseline", "nobody"], 2, "--baseline 'nobody': expected one of"),
        (["@1", "--metric", "loss", "--of", "gpu0"], 2, "--of 'gpu0': loss has no sources"),
        (["@1", "--metric", "loss", "--axis", "metric"], 2, "--x-metric METRIC"),
    ],
)
def test_what_cannot_be_drawn_is_said_and_leaves_no_file(
    recorded: Corral, tmp_path: Path, words: list[str], status: int, message: str
) -> None:
    file = tmp_path / "figure.svg"
    done = recorded("plot", *words, "-o", str(file), status=status)
    assert message in done.stderr.decode()
    assert not file.exists()


def test_a_run_without_the_metric_is_named(recorded: Corral) -> None:
    recorded("run", "--quiet", "--name", "empty", "true")
    done = recorded("plot", "@1", "@3", "--metric", "loss")
    assert done.stderr.decode() == "corral plot: no loss in empty\n"

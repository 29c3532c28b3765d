"""corral.read and `corral export` against a real server: every kind of result, damage, bounded memory, interruption."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, PATIENCE, Corral, until

PACKAGE = BUILD / "python"
KINDS = ["numpy", "pandas", "arrow", "lists"]
MIB = 1 << 20

LOG = """
    import sys, corral
    for i in range(int(sys.argv[1])):
        corral.log({"loss": 1 / (1 + i), "x/odd": float("nan") if i % 1000 == 0 else -0.0}, step=2 * i)
        corral.log("bare", i)
"""


def logged(corral: Corral, rounds: int) -> None:
    script = corral.script("train.py", LOG)
    corral("run", "--quiet", "--no-listeners", "--name", "otter", script, str(rounds), seconds=180)
    corral.wait_ended()


def read(corral: Corral, code: str) -> Any:
    """Returns `result` after the code, which runs as a program of its own, without the native module."""
    program = f"import json, corral\n{code}\nprint(json.dumps(result))"
    environment = corral.environment | {"PYTHONPATH": str(PACKAGE), "CORRAL_PURE_PYTHON": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env=environment,
        cwd=corral.home,
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


COLUMNS = {
    "numpy": """
steps = {s.metric: [None] * len(s) if s.step is None else s.step.tolist() for s in got}
rows = {s.metric: list(zip(s.time_ns.tolist(), s.value.tolist(), steps[s.metric])) for s in got}""",
    "lists": """
rows = {s.metric: list(zip(s.time_ns, s.value, s.step or [None] * len(s))) for s in got}""",
    "pandas": """
rows = {m: [(int(t), v, None if str(s) == "<NA>" else int(s))
            for t, v, s in zip(f["time"].astype("int64"), f["value"], f["step"])]
        for m, f in got.groupby("metric", observed=True)}""",
    "arrow": """
import pyarrow.compute as pc
rows = {m: [(r["time"].value, r["value"], r["step"]) for r in got.filter(pc.equal(got["metric"], m)).to_pylist()]
        for m in ["loss", "x/odd", "bare"]}""",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_result_has_every_point(corral: Corral, kind: str) -> None:
    if kind in ("pandas", "arrow"):
        pytest.importorskip("pandas" if kind == "pandas" else "pyarrow")
    logged(corral, 10_000)
    code = f'got = corral.read("otter", ["loss", "x/*", "bare"], as_="{kind}"){COLUMNS[kind]}\nresult = rows'
    rows = read(corral, code)
    exported = {name: [p for p in corral.points() if p.metric == name] for name in rows}
    assert set(rows) == {"loss", "x/odd", "bare"}
    for name, points in exported.items():
        assert len(rows[name]) == 10_000
        for (time, value, step), point in zip(rows[name], points, strict=True):
            assert (time, step) == (point.time_ns, point.step)
            assert (math.isnan(value) and math.isnan(point.value)) or value == point.value
    assert [step for _, _, step in rows["loss"]] == list(range(0, 20_000, 2))
    assert math.copysign(1, rows["x/odd"][1][1]) == -1


def test_a_range_and_a_reduction(corral: Corral) -> None:
    logged(corral, 20_000)
    result = read(
        corral,
        """
all_ = corral.read("@1", "bare", as_="numpy")[0]
middle = int(all_.time_ns[10_000])
seconds = (middle - all_.start_ns) / 1e9
result = {
    "half": len(corral.read("@1", "bare", end=middle, as_="numpy")[0]),
    "seconds": len(corral.read("@1", "bare", start=seconds, as_="numpy")[0]),
    "none": len(corral.read("@1", "bare", start=1e6, as_="numpy")[0]),
    "reduced": corral.read("@1", "bare", points=400, as_="lists")[0].value,
}""",
    )
    assert result["half"] == 10_000
    assert abs(result["seconds"] - 10_000) <= 200, "a float of seconds has no nanoseconds"
    assert result["none"] == 0
    assert 10 < len(result["reduced"]) <= 400
    assert result["reduced"][0] == 0
    assert result["reduced"][-1] == 19_999
    assert set(result["reduced"]) <= set(range(20_000))


def test_errors_say_what_to_do(corral: Corral) -> None:
    code = """
try:
    corral.read({arguments})
except {error} as error:
    result = str(error)"""
    said = read(corral, code.format(arguments='"@1"', error="ConnectionError"))
    assert f"corral serve --store {corral.store}" in said
    logged(corral, 10)
    assert "no run has the id or name nobody" in read(corral, code.format(arguments='"nobody"', error="LookupError"))
    said = read(corral, code.format(arguments='"@1", "y*"', error="LookupError"))
    assert "`corral ls metrics RUN` names them" in said


def resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def test_a_long_read_holds_little_of_the_server(corral: Corral) -> None:
    logged(corral, 1_000_000)
    pid = corral.server_pid()
    assert pid is not None
    code = 'corral.read("@1", {}, as_="numpy")'
    read(corral, f"{code.format(repr('bare'))}\nresult = 0")
    before = resident(pid)
    count = read(corral, f"result = sum(map(len, {code.format(repr('[lxb]*'))}))")
    assert count == 3_000_000
    assert resident(pid) - before < 64 * MIB


# Damage


BLOCK = "SELECT b.rowid, b.data FROM blocks b JOIN series s ON s.id = b.series WHERE s.name = 'bare' AND b.no = 1"


def damaged(corral: Corral) -> None:
    """The second block of `bare` is not what it was."""
    logged(corral, 30_000)
    db = sqlite3.connect(corral.store / "corral.db")
    rowid, data = until(lambda: db.execute(BLOCK).fetchone(), "points have become blocks")
    corral.close()
    broken = bytearray(data)
    broken[len(broken) // 2] ^= 0x10
    with db:
        db.execute("UPDATE blocks SET data = ? WHERE rowid = ?", (bytes(broken), rowid))
    db.close()
    corral.serve()


def test_damage_is_a_marked_gap_everywhere(corral: Corral, tmp_path: Path) -> None:
    damaged(corral)
    result = read(
        corral,
        """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    loss, bare = corral.read("@1", ["loss", "bare"], as_="numpy")[::-1]
result = {"told": [str(w.message) for w in told], "gaps": [vars(g) for g in bare.gaps], "values": bare.value.tolist(),
          "loss": len(loss)}""",
    )
    assert len(result["told"]) == 1
    assert "1 gaps in bare" in result["told"][0]
    assert result["loss"] == 30_000
    assert result["values"] == [*range(8192), *range(16_384, 30_000)]
    (gap,) = result["gaps"]
    assert gap["points"] == 8192
    for name in ("csv", "jsonl", "json"):
        said = corral("export", "@1", "--format", name).stderr.decode()
        assert said == "corral export: 1 gap: points are missing that were damaged\n", name
        assert corral("export", "@1", "--metric", "loss", "--format", name).stderr == b"", name
    marked = [r for r in csv.DictReader(corral("export", "@1").stdout.decode().splitlines()) if r["value"] == ""]
    assert [(r["metric"], int(r["time_ns"])) for r in marked] == [("bare", gap["from_ns"]), ("bare", gap["to_ns"])]
    lines = corral("export", "@1", "--metric", "bare", "--format", "jsonl").stdout.decode().splitlines()
    (told,) = [row["gap"] for row in map(json.loads, lines) if "gap" in row]
    assert told == {"from_ns": str(gap["from_ns"]), "to_ns": str(gap["to_ns"])}
    document = json.loads(corral("export", "@1", "--metric", "bare", "--format", "json").stdout)
    assert (len(document["points"]), len(document["gaps"])) == (30_000 - 8192, 1)


# Files


def test_the_formats_hold_the_same(corral: Corral) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    logged(corral, 20_000)
    python = {"CORRAL_PYTHON": sys.executable}
    for name in ("csv", "jsonl", "parquet"):
        corral("export", "@1", "--metric", "[lb]*", "-o", f"out.{name}", env=python)  # the ending names the format
    with (corral.home / "out.csv").open() as file:
        expected = [
            (r["metric"], int(r["time_ns"]), int(r["step"]) if r["step"] else None, float(r["value"]))
            for r in csv.DictReader(file)
        ]
    assert len(expected) == 40_000
    lines = map(json.loads, (corral.home / "out.jsonl").read_text().splitlines())
    told = [(r["metric"], int(r["time_ns"]), int(r["step"]) if r["step"] else None, r["value"]) for r in lines]
    assert told == expected
    table = parquet.read_table(corral.home / "out.parquet")
    columns = [table[name].to_pylist() for name in ("metric", "time", "step", "value")]
    assert [(m, t.value, s, v) for m, t, s, v in zip(*columns, strict=True)] == expected


def test_a_file_that_cannot_be_made_is_named(corral: Corral) -> None:
    logged(corral, 10)
    done = corral("export", "@1", "-o", "none/loss.csv", status=1)
    assert done.stderr == b"corral export: none/loss.csv: No such file or directory\n"


def test_parquet_without_pyarrow_says_what_to_do(corral: Corral) -> None:
    logged(corral, 10)
    done = corral(
        "export", "@1", "--format", "parquet", "--output", "x.parquet", env={"CORRAL_PYTHON": "nopython"}, status=1
    )
    assert b"CORRAL_PYTHON" in done.stderr
    isolated = corral(
        "export",
        "@1",
        "--format",
        "parquet",
        "--output",
        "x.parquet",
        env={"CORRAL_PYTHON": "/usr/bin/python3"},
        status=None,
    )
    if isolated.returncode != 0:  # Debian's Python has no pyarrow
        assert b"pip install pyarrow" in isolated.stderr
        assert not (corral.home / "x.parquet").exists()


@pytest.mark.parametrize("end", ["exporter", "server", "ctrl-c"])
def test_an_interrupted_export_leaves_no_file(corral: Corral, end: str) -> None:
    logged(corral, 400_000)
    old = corral.home / "out.jsonl"
    old.write_text("what was there before\n")
    export = corral.start("export", "@1", "--format", "jsonl", "--output", old)

    def writing() -> bool:
        return any(part.stat().st_size > 0 for part in corral.home.glob("out.jsonl.*.part"))

    until(writing, "it writes")
    os.kill(export.pid, signal.SIGSTOP)
    if end == "exporter":
        export.kill()
        export.wait()
    elif end == "ctrl-c":
        export.send_signal(signal.SIGINT)
        os.kill(export.pid, signal.SIGCONT)
        assert export.wait(PATIENCE) == -signal.SIGINT
        assert not list(corral.home.glob("*.part"))
    else:
        corral.kill_server()
        os.kill(export.pid, signal.SIGCONT)
        _, said = export.communicate(timeout=PATIENCE)
        assert export.returncode == 1, said
        assert b"corral export: " in said
        assert not list(corral.home.glob("*.part"))
    assert old.read_text() == "what was there before\n"


@pytest.mark.parametrize("when", ["at once", "while it writes"])
def test_parquet_ends_quietly_on_ctrl_c(corral: Corral, when: str) -> None:
    pytest.importorskip("pyarrow")
    logged(corral, 400_000)
    out = corral.home / "out.parquet"
    export = corral.start("export", "@1", "--format", "parquet", "--output", out, env={"CORRAL_PYTHON": sys.executable})
    command = Path(f"/proc/{export.pid}/cmdline")
    until(lambda: b"corral.export" in command.read_bytes(), "Python is started")
    if when == "while it writes":
        until(lambda: list(corral.home.glob("out.parquet.*.part")), "it writes")
    export.send_signal(signal.SIGINT)
    said, error = export.communicate(timeout=PATIENCE)
    assert (export.returncode, said, error) == (130, b"", b"")
    assert not list(corral.home.glob("out.parquet*"))


def test_an_export_that_fails_changes_no_file(corral: Corral) -> None:
    logged(corral, 10)
    old = corral.home / "out.csv"
    old.write_text("old\n")
    corral("export", "@1", "--metric", "nothing*", "--output", old, status=1)
    assert old.read_text() == "old\n"
    assert corral("export", "@1", "--metric", "bare", "--output", "/dev/stdout").stdout.count(b"\n") == 11

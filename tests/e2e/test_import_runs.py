"""`corral import` of runs that other tools recorded, and `corral run --tensorboard`.

The fixtures were written by tensorboardX, TensorBoard and W&B; the points beside them (`*.csv`) are what TensorBoard's
EventAccumulator and W&B's own messages say of them. `./dev proof importers` does the same with files of any size.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, Corral, until

FIXTURES = ROOT / "tests" / "fixtures" / "imports"
Row = tuple[str, str, int, int | None, str]


def row(found: dict[str, str]) -> Row:
    step = int(found["step"]) if found["step"] else None
    return found["metric"], found["source"], int(found["time_ns"]), step, repr(float(found["value"]))


def exported(corral: Corral, run: str, *options: str) -> list[Row]:
    text = corral("export", run, *options).stdout.decode()
    return sorted((row(found) for found in csv.DictReader(io.StringIO(text))), key=str)


def expected(name: str, run: str) -> list[Row]:
    with (FIXTURES / name).open() as file:
        return sorted((row(found) for found in csv.DictReader(file) if found["run"] == run), key=str)


def said(corral: Corral, *arguments: str | Path, status: int = 0, **options: Any) -> str:
    done = corral("import", *arguments, status=status, **options)
    return done.stdout.decode() + done.stderr.decode()


def test_tensorboard_points_are_those_of_its_own_reader(corral: Corral) -> None:
    assert "imported 3 runs: 384 points, 3 events, 4 params, 0 tags\n" in said(corral, FIXTURES / "tensorboard")
    for run in ("exp1", "exp2", "keras"):
        assert exported(corral, run) == expected("tensorboard.csv", run), run
    run = corral.get("/api/corral/v1/runs/exp1")
    assert run["params"] == {"amp": "true", "bs": "64", "lr": "0.1", "opt": "sgd"}
    assert run["host"] == "vm"


def test_tensorboard_media_arrive_by_step(corral: Corral) -> None:
    text = said(corral, FIXTURES / "tensorboard")
    assert re.search(r"media: (\d+) files \(\1 sent\)", text), text
    media = corral.get("/api/corral/v1/runs/exp1/media")["media"]
    assert [(row["name"], row["kind"], [step["step"] for step in row["steps"]]) for row in media] == [
        ("h", "histogram", ["1"]),
        ("img", "image", ["1"]),
        ("note/text_summary", "text", ["3"]),
    ]
    assert "media: " in said(corral, FIXTURES / "tensorboard")
    assert corral.get("/api/corral/v1/runs/exp1/media")["media"] == media


def test_wandb_points_are_those_of_its_own_messages(corral: Corral) -> None:
    assert "imported 1 run: 135 points, 0 events, 5 params, " in said(corral, FIXTURES / "wandb")
    assert exported(corral, "first") == expected("wandb.csv", "first")
    run = corral.get("/api/corral/v1/runs/first")
    assert run["params"]["model.name"] == "r18"
    assert run["tags"]["wandb.tags"] == "small,cpu"
    assert run["tags"]["summary.best"] == "0.25"
    assert (run["status"], run["exit_code"]) == ("finished", 0)


@pytest.mark.parametrize("source", ["tensorboard", "wandb"])
def test_a_repeated_import_adds_nothing(corral: Corral, source: str) -> None:
    said(corral, FIXTURES / source)
    before = {run["id"]: exported(corral, run["id"]) for run in corral.json("ls", "runs")}
    assert "(none new)" in said(corral, FIXTURES / source)
    assert {run["id"]: exported(corral, run["id"]) for run in corral.json("ls", "runs")} == before


def test_a_growing_event_file_adds_only_what_is_new(corral: Corral) -> None:
    (source,) = (FIXTURES / "tensorboard" / "keras" / "train").iterdir()
    content = source.read_bytes()
    log = corral.home / "log"
    log.mkdir()
    for size in (700, 701, 3000, len(content)):
        (log / source.name).write_bytes(content[:size])
        text = said(corral, log)
        assert ("is still being written" in text) == (size != len(content))
    whole = [("" if s == "train" else s, m, t, n, v) for m, s, t, n, v in expected("tensorboard.csv", "keras")]
    assert exported(corral, "log") == sorted(((m, s, t, n, v) for s, m, t, n, v in whole if s == ""), key=str)
    assert len(corral.json("ls", "runs")) == 1


def test_a_damaged_record_stops_its_file_alone(corral: Corral) -> None:
    log = corral.home / "log"
    for number, path in enumerate(sorted((FIXTURES / "tensorboard" / "keras").glob("*/*"))):
        content = bytearray(path.read_bytes())
        if number == 0:
            content[3000] ^= 1
        (log / path.parent.name).mkdir(parents=True)
        (log / path.parent.name / path.name).write_bytes(content)
    text = said(corral, log, status=1)
    assert re.search(r"log/train/\S+: the record at byte \d+ is damaged: its (content|length) does not match", text)
    sources = [source for _, source, *_ in exported(corral, "log")]
    assert 0 < sources.count("train") < 140
    assert sources.count("validation") == 140


def test_a_damaged_wandb_file_keeps_what_precedes(corral: Corral) -> None:
    (path,) = (FIXTURES / "wandb").glob("*/*.wandb")
    content = bytearray(path.read_bytes())
    content[9000] ^= 1
    (corral.home / "run-abc12345.wandb").write_bytes(content)
    assert "is damaged: its content does not match its checksum" in said(corral, "run-abc12345.wandb", status=1)
    assert 0 < len(exported(corral, "first")) < 135


# ---- tables


def test_an_export_can_be_imported_again(corral: Corral) -> None:
    said(corral, FIXTURES / "tensorboard")
    said(corral, FIXTURES / "wandb")
    corral("export", "exp1", "exp2", "first", "--output", "all.csv")
    ids = [corral.get(f"/api/corral/v1/runs/{run}")["id"] for run in ("exp1", "exp2", "first")]
    text = said(corral, "all.csv", "--experiment", "again")
    assert "imported 3 runs: 239 points, " in text
    made = [run["id"] for run in corral.json("ls", "runs", "--experiment", "again")]
    assert sorted(map(str, (exported(corral, run) for run in made))) == sorted(
        map(str, (exported(corral, run) for run in ids))
    )


def test_a_wide_table_says_what_it_is_not(corral: Corral) -> None:
    table = corral.home / "job.csv"
    table.write_text(
        "epoch,step,timestamp,loss,model\n0,10,2026-01-02T03:04:05Z,0.5,r18\n0,20,2026-01-02T03:04:06Z,,r18\n"
    )
    assert "left out: 2 cells of column 'model' that are not numbers" in said(corral, table)
    begin = 1_767_323_045 * 10**9
    rows = [("epoch", "", begin, 10, "0.0"), ("epoch", "", begin + 10**9, 20, "0.0"), ("loss", "", begin, 10, "0.5")]
    assert exported(corral, "job") == rows
    with table.open("a") as file:
        file.write("1,30,2026-01-02T03:04:07Z,0.25,r18\n")
    assert "imported 1 run (none new): 5 points (2 new)" in said(corral, table)


def test_a_table_without_a_point_makes_no_run(corral: Corral) -> None:
    table = corral.home / "job.csv"
    table.write_text("step;loss\n1;1.234,5\n2;x\n")
    text = said(corral, table, status=1)
    assert "left out: 2 cells of column 'loss' that are not numbers" in text
    assert f"nothing was imported: {table} has no points, events, params or tags" in text
    table.write_text("step,loss\n")
    assert "nothing was imported" in said(corral, table, status=1)
    assert corral.runs() == []
    table.write_text("step;loss\n1;0,5\n2;0,25\n")
    text = said(corral, table)
    assert "imported 1 run: 2 points" in text
    assert "numbers are read with decimal commas" in text
    assert [p.value for p in corral.points("job", "loss")] == [0.5, 0.25]


def test_a_file_store_of_mlflow_names_the_commands_that_import_it(corral: Corral) -> None:
    store = corral.home / "old runs" / "mlruns"
    artifacts = store / "0" / "0a" / "artifacts"
    artifacts.mkdir(parents=True)
    shutil.copytree(FIXTURES / "tensorboard", artifacts / "logs")
    (store / "0" / "meta.yaml").write_text("artifact_location: file:///x/mlruns/0\nexperiment_id: '0'\nname: Default\n")
    for path in (store, store.parent):
        text = said(corral, path, status=1)
        assert f"mlflow migrate-filestore --source '{store}' --target sqlite:///mlflow.db\n" in text
        assert "  corral import mlflow.db" in text
    # Others have files of that name, too.
    (store / "0" / "meta.yaml").write_text("package: {name: x}\n")
    assert "imported" in said(corral, store)


def test_errors_in_a_table_name_line_and_column(corral: Corral) -> None:
    table = corral.home / "job.csv"
    table.write_text("metric,value\nloss,1\nloss,one\n")
    assert "job.csv: line 3, column 6: value 'one' is not a number" in said(corral, table, status=1)
    table.write_text("metric,value\nloss,1\nloss,2\n")
    assert "2 points (1 new)" in said(corral, table)


def test_parquet_holds_the_same_as_csv(corral: Corral) -> None:
    pytest.importorskip("pyarrow")
    python = {"CORRAL_PYTHON": sys.executable}
    said(corral, FIXTURES / "tensorboard")
    corral("export", "exp1", "exp2", "--format", "parquet", "--output", "two.parquet", env=python)
    assert "imported 2 runs: 104 points" in said(corral, "two.parquet", "--experiment", "again", env=python)
    assert "(none new)" in said(corral, "two.parquet", "--experiment", "again", env=python)
    made = [run["id"] for run in corral.json("ls", "runs", "--experiment", "again")]
    assert sorted(map(str, (exported(corral, run) for run in made))) == sorted(
        map(str, (exported(corral, run) for run in ("exp1", "exp2")))
    )


def test_aim_without_its_package_says_what_to_install(corral: Corral) -> None:
    (corral.home / ".aim").mkdir()
    pythonless = said(corral, corral.home, status=1, env={"CORRAL_PYTHON": "nopython"})
    assert "it reads aim: install Python 3, or name one with CORRAL_PYTHON" in pythonless
    text = said(corral, corral.home, status=1, env={"CORRAL_PYTHON": "/usr/bin/python3"})
    assert "pip install aim" in text


def test_a_killed_import_goes_on_without_loss_or_repetition(corral: Corral) -> None:
    table = corral.home / "big.csv"
    table.write_text("step,a,b\n" + "".join(f"{i},{i / 7},{i}\n" for i in range(200_000)))
    for points in (1, 100_000):
        kill_at(corral, corral.start("import", table), points)
    assert "imported 1 run (none new): 400000 points" in said(corral, table)
    rows = exported(corral, "big")
    assert len(rows) == len(set(rows)) == 400_000


def kill_at(corral: Corral, importing: subprocess.Popen[bytes], points: int) -> None:
    until(lambda: importing.poll() is not None or stored(corral) >= points, "some points are there")
    importing.kill()
    importing.wait()


def stored(corral: Corral) -> int:
    shown = corral("show", "big", "--format", "json", status=None)
    metrics = json.loads(shown.stdout)["metrics"] if shown.returncode == 0 else []
    return sum(int(metric["points"]) for metric in metrics)


# ---- misuse


def test_what_cannot_be_imported_is_said(corral: Corral) -> None:
    (corral.home / "notes.txt").write_text("nothing")
    (corral.home / "empty").mkdir()
    for name in ("notes.txt", "empty"):
        assert f"{name} is none of what can be imported: a directory of TensorBoard" in said(corral, name, status=1)
    assert "--run and --operators are for traces" in said(corral, FIXTURES / "wandb", "--run", "@1", status=2)
    assert "holds 3 runs; --name is for one" in said(corral, FIXTURES / "tensorboard", "--name", "x", status=2)
    both = said(corral, FIXTURES, status=2)
    assert "holds runs of W&B and event files of TensorBoard" in both


# ---- beside the hardware

WRITER = """
import struct, sys, time
from pathlib import Path

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ 0x82F63B78 if i & 1 else i >> 1
    TABLE.append(i)

def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)

def scalar(step, value):
    return event(step, b"\\x0a\\x04loss\\x15" + struct.pack("<f", value))

def image(step):
    file = b"\\x89PNG\\r\\n\\x1a\\n"
    return event(step, b"\\x0a\\x03img\\x22" + bytes([len(file) + 2]) + b"\\x22" + bytes([len(file)]) + file)

def event(step, summary):
    return record(b"\\x09" + struct.pack("<d", time.time()) + b"\\x10" + bytes([step]) + b"\\x2a"
                  + bytes([len(summary) + 2]) + b"\\x0a" + bytes([len(summary)]) + summary)

folder = Path(sys.argv[1])
folder.mkdir(parents=True)
with open(folder / "events.out.tfevents.1.host", "wb", buffering=0) as file:
    file.write(record(b"\\x09" + struct.pack("<d", time.time())))
    for step in range(100):
        file.write(scalar(step, step / 4))
        if step % 49 == 0:
            file.write(image(step))
        if step == 50:
            while not Path("go").exists():
                time.sleep(0.01)
"""


def test_event_files_appear_in_the_run_that_writes_them(corral: Corral) -> None:
    (corral.home / "write.py").write_text(WRITER)
    old = corral.home / "tb" / "old"
    old.mkdir(parents=True)
    (path,) = (FIXTURES / "tensorboard" / "exp2").iterdir()
    (old / path.name).write_bytes(path.read_bytes())
    command = ("--quiet", "--no-listeners", "--name", "job", "--tensorboard", "tb", "--", sys.executable, "write.py")
    running = corral.start("run", *command, "tb/new")
    until(lambda: len(live(corral)) == 51, "the first half of the points")
    (corral.home / "go").touch()
    assert running.wait(60) == 0
    corral.wait_spool_empty()
    points = exported(corral, "job", "--metric", "loss")
    assert sorted((source, step, value) for _, source, _, step, value in points) == sorted(
        ("new", step, repr(step / 4)) for step in range(100)
    )
    (row,) = corral.get("/api/corral/v1/runs/job/media")["media"]
    assert (row["name"], row["kind"]) == ("new/img", "image")
    assert [step["step"] for step in row["steps"]] == ["0", "49", "98"]


def live(corral: Corral) -> list[Row]:
    done = corral("export", "job", "--metric", "loss", status=None)
    if done.returncode != 0:
        return []
    return [row(found) for found in csv.DictReader(io.StringIO(done.stdout.decode()))]

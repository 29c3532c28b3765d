"""`corral compare` and `corral.compare()` on runs whose difference is planted."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from support import BUILD, Corral

# 60 steps of 6 ms, with waits before them; the seed shifts them a little.
TRAIN = """
    import corral, sys, time
    wait, seed = float(sys.argv[1]), int(sys.argv[2])
    corral.param("wait", sys.argv[1])
    for step in range(60):
        with corral.phase("data wait", kind="wait"):
            time.sleep(wait * (1 + seed / 200))
        with corral.phase("step"):
            time.sleep(0.006)
        corral.log({"done": step / 60})
"""


@pytest.fixture
def groups(corral: Corral) -> Corral:
    script = corral.script("train.py", TRAIN)
    for seed in range(3):
        for name, wait in (("short", "0.004"), ("long", "0.1")):
            corral("run", "--quiet", "--no-listeners", "--name", name, script, wait, str(seed))
    return corral


def test_the_wait_is_what_differs(groups: Corral) -> None:
    found = groups.json("compare", "short", "long")
    (one,) = found["differences"]
    # 10 ms and 106 ms a step, and what sleeping takes longer; a busy machine adds to both.
    assert one["verdict"] == "greater"
    assert 1 < one["low"] < one["ratio"] < one["high"]
    assert one["ratio"] > 1.5
    assert one["parts"][0]["name"] == "data wait"
    whole = sum(part["b_s"] - part["a_s"] for part in one["parts"])
    means = [group["mean"] for group in found["groups"]]
    assert whole == pytest.approx(means[1] - means[0], rel=0.05)
    assert {"part": "param", "key": "wait", "a": "0.004", "b": "0.1"} in one["set_up"]
    assert [len(group["units"]) for group in found["groups"]] == [3, 3]
    text = groups("compare", "short", "long").stdout.decode()
    assert "slower than short" in text
    assert text.startswith("time per step, within a margin of 2 % (post hoc)\n")
    assert "data wait" in text
    back = groups.json("compare", "long", "short")["differences"][0]
    assert back["ratio"] * one["ratio"] == pytest.approx(1)


def test_groups_by_a_param_and_by_filters(groups: Corral) -> None:
    by = groups.json("compare", "short", "long", "--by", "params.wait")
    assert [group["name"] for group in by["groups"]] == ["0.004", "0.1"]
    filtered = groups.json("compare", "params.wait = '0.004'", "params.wait = '0.1'")
    assert filtered["differences"][0]["ratio"] == by["differences"][0]["ratio"]


def test_the_name_of_a_workload_is_a_group(corral: Corral) -> None:
    script = corral.script("train.py", TRAIN)
    for name in ("alone", "other"):
        for seed in range(2):
            corral("run", "--quiet", "--no-listeners", "--workload", f"of {name}", script, "0.004", str(seed))
    found = corral.json("compare", "of alone", "of other")
    assert [len(group["units"]) for group in found["groups"]] == [2, 2]


def test_formats_and_conditions(groups: Corral) -> None:
    rows = list(csv.DictReader(io.StringIO(groups("compare", "short", "long", "--format", "csv").stdout.decode())))
    assert [(row["a"], row["b"], row["n_a"], row["verdict"]) for row in rows] == [("short", "long", "3", "greater")]
    assert "| GROUP | UNIT |" in groups("compare", "short", "long", "--format", "markdown").stdout.decode()
    assert "\\begin{tabular}" in groups("compare", "short", "long", "--format", "latex").stdout.decode()
    assert groups("compare", "short", "long", "--fail-if", "slower > 3%", status=None).returncode == 1
    assert groups("compare", "short", "long", "--fail-if", "faster", status=None).returncode == 0
    assert groups("compare", "short", "long", "--fail-if", "slower > 9000%", status=None).returncode == 0
    assert groups("compare", "short", "long", "--fail-if", "not equivalent", status=None).returncode == 1
    broken = groups.script("broken.py", "raise SystemExit(1)\n")
    groups("run", "--quiet", "--name", "broken", broken, status=None)
    done = groups("compare", "short", "broken", "--fail-if", "slower > 3%", status=None)
    assert done.returncode == 1
    assert "cannot be judged: too few values" in done.stderr.decode()
    done = groups("compare", "short", "long", "--metric", "corral.supervisor.cpu", "--fail-if", "slower", status=None)
    assert "a metric is not faster or slower" in done.stderr.decode()


def test_times_to_a_target(groups: Corral) -> None:
    found = groups.json("compare", "short", "long", "--target", "done >= 0.5")
    assert found["value"] == "time to done >= 0.5"
    assert found["margin"] is None
    (one,) = found["differences"]
    assert one["verdict"] == "too few"
    assert one["ratio"] is None
    target = one["target"]
    assert [target[key] for key in ("reached_a", "n_a", "reached_b", "n_b")] == [3, 3, 3, 3]
    assert 0 < target["mean_a_s"] < target["mean_b_s"] <= target["budget_s"]
    missed = groups.json("compare", "short", "long", "--target", "done > 1")
    assert [(group["n"], group["missed"]) for group in missed["groups"]] == [(0, 3), (0, 3)]
    done = groups("compare", "short", "long", "--target", "done >= 0.5", "--fail-if", "slower", status=None)
    assert done.returncode == 1
    assert "3 against 3 runs cannot show a difference at 5 %" in done.stdout.decode()
    assert "cannot be judged: too few values" in done.stderr.decode()
    for words, message in (
        (["--target", "done"], "target"),
        (["--target", "done > 1", "--metric", "done"], "without --metric"),
        (["--target", "done > 1", "--fail-if", "slower > 3%"], "have no interval"),
    ):
        done = groups("compare", "short", "long", *words, status=None)
        assert done.returncode == 2, words
        assert message in done.stderr.decode(), done.stderr


def test_imported_runs_count_though_their_end_is_unknown(corral: Corral) -> None:
    for name, least in (("a", 0.5), ("b", 0.25)):
        for number in range(2):
            table = corral.home / f"{name}{number}.csv"
            rows = (f"{step},{least + number / 100 + 1 / (1 + step)}\n" for step in range(20))
            table.write_text("step,loss\n" + "".join(rows))
            corral("import", table, "--name", name)
    assert {run["status"] for run in corral.runs()} == {"unknown"}
    for of in ("last", "min", "max", "mean"):
        found = corral.json("compare", "a", "b", "--metric", "loss", "--of", of)
        assert [group["n"] for group in found["groups"]] == [2, 2], of
        warning = "2 of 2 were imported and their end is unknown: they count as if they had finished."
        assert warning in found["groups"][0]["warnings"]
    corral("report", "a", "b", "--metric", "loss", "--of", "last", "-o", "loss.md")
    assert "were imported and their end is unknown" in (corral.home / "loss.md").read_text()
    # Their duration is unknown.
    done = corral("compare", "a", "b", "--metric", "duration", status=1)
    assert b"a: 2 of 2 do not count: its end is unknown." in done.stdout
    assert b"a and b cannot be compared: a has no value that counts." in done.stdout
    assert done.stderr.decode() == "corral compare: nothing could be compared: no run of a side counts\n"
    done = corral("report", "a", "b", "--metric", "duration", "-o", "time.md")  # a plan may have nothing to compare
    assert b"nothing could be compared" in done.stderr


def test_wrong_input_is_named(groups: Corral) -> None:
    for words, message in (
        (["short"], "expected two groups or more"),
        (["short", "short"], "is in two groups"),
        (["short", "nobody"], "no run, name or workload is called 'nobody'"),
        (["short", "long", "--margin", "0"], "--margin '0'"),
        (["short", "long", "--fail-if", "worse"], "--fail-if 'worse'"),
        (["short", "params.wait ="], "filter"),
        (["short", "long", "--by", "colour"], "params.KEY"),
    ):
        done = groups("compare", *words, status=None)
        assert done.returncode == (1 if "nobody" in words else 2), words
        assert message in done.stderr.decode(), done.stderr


def test_python_gives_a_frame_of_the_same_numbers(groups: Corral) -> None:
    script = """
import corral, json
found = corral.compare(["short", "long"], as_="dict")
print(json.dumps(found["differences"][0]["ratio"]))
try:
    corral.compare(["short", "nobody"], as_="dict")
except LookupError as error:
    print(error)
filters = ["params.wait = '0.004'", {"filter": "params.wait = '0.1'"}]
lists = [[run["id"] for unit in group["units"] for run in unit["runs"]] for group in found["groups"]]
for groups in (filters, lists):
    print(corral.compare(groups, as_="dict")["differences"][0]["ratio"])
by = corral.compare(["short", "long"], by="params.wait", value="duration", margin=0.5, as_="dict")
print(by["value"], by["margin"], [group["name"] for group in by["groups"]])
for arguments in (("short",), (["short", 1],), (["short", "long"], {"margin": 2}), (["short", "long"], {"as_": "csv"})):
    try:
        corral.compare(arguments[0], **dict(*arguments[1:]))
    except (TypeError, ValueError) as error:
        print(type(error).__name__)
frame = corral.compare(["short", "long"])
print(frame.loc[0, "verdict"], frame.attrs["comparison"] == found)
"""
    environment = groups.environment | {"PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, env=environment, cwd=groups.home, capture_output=True, timeout=120
    )
    lines = done.stdout.decode().splitlines()
    assert json.loads(lines[0]) == groups.json("compare", "short", "long")["differences"][0]["ratio"]
    assert "no run, name or workload is called 'nobody'" in lines[1]
    assert lines[2:4] == [lines[0], lines[0]]
    assert lines[4] == "duration 0.5 ['0.004', '0.1']"
    assert lines[5:9] == ["TypeError", "TypeError", "ValueError", "ValueError"]
    if len(lines) == 9:
        assert "needs pandas" in done.stderr.decode()
        pytest.skip("pandas is not there")
    assert lines[9] == "greater True"

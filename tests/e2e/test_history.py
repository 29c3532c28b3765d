"""`corral history` on runs that became slower at a planted commit."""

from __future__ import annotations

import csv
import io
import subprocess

import pytest
from support import Corral

TRAIN = """
    import corral, sys, time
    length, seed = float(sys.argv[1]), int(sys.argv[2])
    corral.log("val_acc", 0.9 - length, step=1)
    for step in range(16):
        with corral.phase("step"):
            time.sleep(5 * length * (1 + seed / 500))
"""


@pytest.fixture
def nightly(corral: Corral) -> Corral:
    """Six runs of 20 ms a step, and after a commit three of 60 ms: a busy machine adds some."""
    script = corral.script("train.py", TRAIN)

    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=script.parent, check=True, capture_output=True)

    git("init", "-q")
    for length, runs in (("0.004", 6), ("0.012", 3)):
        git("commit", "-q", "--allow-empty", "-m", length)
        for seed in range(runs):
            corral(
                "run", "--quiet", "--no-listeners", "--name", "nightly", script, length, str(seed), cwd=script.parent
            )
    return corral


def test_the_commit_that_made_it_slower(nightly: Corral) -> None:
    found = nightly.json("history", "nightly")
    (history,) = found["histories"]
    assert [segment["n"] for segment in history["segments"]] == [6, 3]
    (change,) = history["changes"]
    assert (change["confirmed"], change["worse"]) == (False, True)
    # Sleeping takes longer on a busy machine, the more the shorter it is.
    assert 1.5 < change["ratio"] < 3.5
    commits = {unit["commit"] for unit in history["units"]}
    assert len(commits) == 2
    before, after = history["units"][5], history["units"][6]
    assert before["commit"] != after["commit"]
    assert before["commit"][:8] in change["text"]
    assert after["commit"][:8] in change["text"]
    assert "suspected, 3 of 8 runs" in change["text"]

    told = nightly("history", "nightly").stdout.decode()
    assert "slower" in told
    assert after["commit"][:8] in told
    rows = list(csv.DictReader(io.StringIO(nightly("history", "nightly", "--format", "csv").stdout.decode())))
    assert [row["segment"] for row in rows] == ["0"] * 6 + ["1"] * 3


def test_a_check_fails_for_the_worse_alone(nightly: Corral) -> None:
    checked = nightly("history", "nightly", "--check", status=1)
    assert b"--check: nightly: Between" in checked.stderr
    metric = ("history", "nightly", "--metric", "val_acc", "--of", "last", "--margin", "0.5%")
    assert b"--better" in nightly(*metric, "--check", status=2).stderr
    nightly(*metric, "--better", "less", "--check")
    nightly(*metric, "--better", "greater", "--check", status=1)
    limit = ("history", "nightly", "--metric", "val_acc", "--of", "last", "--check")
    beyond = nightly(*limit, "--at-least", "0.89", status=1)
    assert b"the newest run is beyond the limits: 0.888" in beyond.stderr
    assert b"3 of 9 runs are beyond the limits." in beyond.stdout
    nightly(*limit, "--at-most", "0.89")
    assert b"--at-most 'much'" in nightly(*limit, "--at-most", "much", status=2).stderr
    negative = nightly.script("negative.py", "import corral\ncorral.log('val_acc', -0.4, step=1)")
    nightly("run", "--quiet", "--no-listeners", "--name", "nightly", negative)
    within = nightly(*limit, "--at-least", "-1")
    assert b"within the limits; its value is -0.4" in within.stderr
    assert b"beyond the limits: -0.4" in nightly(*limit, "--at-least", "0", status=1).stderr
    failing = nightly.script("fail.py", "raise SystemExit(3)")
    nightly("run", "--quiet", "--no-listeners", "--name", "nightly", failing, status=3)
    judged = nightly("history", "nightly", "--metric", "duration", "--check", status=1)
    assert b"the newest run has no value" in judged.stderr
    assert b"no run, name or workload is called" in nightly("history", "unheard-of", status=1).stderr


def test_an_outlier_is_told_where_nothing_changed(corral: Corral) -> None:
    script = corral.script("size.py", "import corral, sys\ncorral.log('size', float(sys.argv[1]), step=1)")
    for size in (5.0, 5.01, 4.99, 5.0, 50.0, 5.01, 4.99, 5.0, 5.01):
        corral("run", "--quiet", "--no-listeners", "--name", "same", script, str(size))
    told = corral("history", "same", "--metric", "size", "--of", "last").stdout.decode()
    assert "1 run counted as the median of those around." in told
    assert "No change was found." in told

"""`corral plan generate`: the published study, orders by a seed, and mistakes."""

from __future__ import annotations

from pathlib import Path

from support import ROOT, Corral

STUDY = ROOT / "examples" / "studies" / "collocation" / "published.yaml"


def test_the_published_study(corral: Corral) -> None:
    plan = corral.home / "study.csv"
    done = corral("plan", "generate", STUDY, "-o", plan)
    assert done.stderr == b"618 runs in 198 workloads\n"
    assert done.stdout == b""
    text = plan.read_bytes()
    assert len(text) == 84119, "the length of the published file"
    rows = text.decode().splitlines()
    assert len(rows) == 1 + 618

    refused = corral("plan", "generate", STUDY, "-o", plan, status=1)
    assert b"is there already" in refused.stderr
    assert plan.read_bytes() == text

    shuffled = corral("plan", "generate", STUDY, "--seed", "7").stdout.decode().splitlines()
    assert shuffled[0].endswith("seed 7")
    assert shuffled[1] == rows[0]
    assert shuffled[2:] != rows[1:]
    assert sorted(shuffled[2:]) == sorted(rows[1:])
    assert corral("plan", "generate", STUDY, "--seed", "7").stdout.decode().splitlines() == shuffled


def test_mistakes_are_said_with_their_place(corral: Corral) -> None:
    spec = corral.script(
        "matrix.yaml",
        """\
        row: {File: train.py, Params: "--batch {batch}"}
        jobs: {S: {batch: 1}}
        experiments:
          e: {jobs: [S, T], Colocation: mps}
        """,
    )
    done = corral("plan", "generate", spec, status=1)
    said = done.stderr.decode()
    assert f"{spec}:4:17: jobs 'T': 'T' is not a job" in said
    assert "Colocation: is not a column of a plan; did you mean Collocation?" in said
    assert done.stdout == b""
    corral("plan", "generate", Path("nowhere.yaml"), status=1)
    corral("plan", "generate", spec, "--seed", "many", status=2)

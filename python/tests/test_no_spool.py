"""A rank on a host without the run's spool says so, once for its host, and trains on."""

from __future__ import annotations

from conftest import Runner


def said(run: Runner, **environment: str) -> str:
    process = run.start(
        "corral.log('loss', 1.0)\nprint('trained')", CORRAL_SEGMENT_DIR=str(run.directory / "away"), **environment
    )
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "trained\n"), error
    return error


def test_one_line_names_the_place_and_the_host(run: Runner) -> None:
    (line,) = said(run).splitlines()
    assert line.startswith("corral: nothing is recorded: ")
    assert str(run.directory / "away") in line


def test_of_the_ranks_of_a_host_the_first_says_it(run: Runner) -> None:
    assert said(run, LOCAL_RANK="1") == ""
    assert len(said(run, LOCAL_RANK="0").splitlines()) == 1

"""The verb `./dev proof`, and the smoke of every proof: the long run of each is started by hand (docs/proofs.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from proof import proofs


def prove(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "dev", "proof", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# A minute where nothing else runs.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", proofs())
def test_the_smoke_of_each_proof_passes(name: str, tmp_path: Path) -> None:
    done = prove(name, "--smoke", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\nproof {name} passed, " in done.stdout


def test_proofs_are_listed_with_a_line_each() -> None:
    listed = prove()
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(proofs())
    assert all(len(line.split()) > 1 for line in listed.stdout.splitlines())


def test_an_unknown_proof_is_named_with_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "power.py").write_text('"""Holds."""\n')
    done = prove("powr", CORRAL_PROOFS=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == "proof: unknown proof 'powr'; did you mean 'power'? known: power\n"


@pytest.mark.parametrize(
    ("status", "said"),
    [(0, "passed"), (1, "failed (exit status 1)"), (77, "was skipped: it did not pass")],
)
def test_how_a_proof_ended_is_said(tmp_path: Path, status: int, said: str) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "__main__.py").write_text(
        f'"""Ends."""\nimport sys\nfrom _answer import answer\nprint(answer, *sys.argv[1:])\nsys.exit({status})\n'
    )
    (tmp_path / "_answer.py").write_text("answer = 42\n")
    done = prove("shared", "--fast", CORRAL_PROOFS=str(tmp_path))
    assert done.returncode == status, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "42 --fast"
    assert lines[1].startswith(f"proof shared {said}, ")
    # A skipped proof proves nothing, so there is no row for it.
    assert ("| `./dev proof shared --fast` | " in done.stdout) == (status != 77)

"""Finds what a proof runs, and builds it where it is missing. Shared by proofs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORRAL_BUILD", ROOT / "build" / "release"))
SKIPPED = 77


def corral() -> Path:
    """The program `corral` with its Python package beside it."""
    return built("corral", "corral", "corral_python")


def built(name: str, *targets: str) -> Path:
    """A file below the build folder; its targets are built first when it is missing."""
    path = BUILD / name
    if not path.exists():
        print(f"building {', '.join(targets)} ...", flush=True)
        subprocess.run([ROOT / "dev", "build", "release", *targets], check=True)
    return path


def packages(environment: str) -> Path:
    """The list of an environment's PyPI packages, with their hashes."""
    return ROOT / "tools" / f"pip-{environment}-packages.lock"


def python_of(environment: str) -> Path:
    """The interpreter of an environment below build/proofs, which is made where it is missing."""
    folder, wanted = ROOT / "build" / "proofs" / environment, packages(environment)
    stamp, python = folder / "stamp", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        print(f"installing the packages of {wanted.relative_to(ROOT)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "-r", wanted], check=True)
        stamp.write_bytes(wanted.read_bytes())
    return python


def python_or_why_not(environment: str) -> Path | None:
    """The same; None after having said why there is none."""
    try:
        return python_of(environment)
    except subprocess.CalledProcessError as error:
        print(f"needs the packages of {packages(environment).relative_to(ROOT)}: {error}")
        return None

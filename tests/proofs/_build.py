"""Finds what a proof runs, and builds it where it is missing. Shared by proofs."""

from __future__ import annotations

import os
import subprocess
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

"""A checkout builds wherever it lies: a path with spaces, with letters beyond ASCII, and of 200 bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import PATIENCE, PYTHON, ROOT

BYTES = 200
LONGEST_NAME = 100
COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "src", "python", "tools")
TARGETS = ("corral", "corral_core", "corral_python")


def long_place(below: Path) -> Path:
    place = below / "a space" / "größer"
    while len(os.fsencode(place)) + 2 < BYTES:
        place /= "x" * min(LONGEST_NAME, BYTES - len(os.fsencode(place)) - 1)
    return place


@pytest.mark.skipif(shutil.which("cmake") is None or shutil.which("ninja") is None, reason="needs cmake and ninja")
@pytest.mark.timeout(900)
def test_it_builds_and_logs(tmp_path: Path) -> None:
    place = long_place(tmp_path)
    assert len(os.fsencode(place)) >= BYTES - 1
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place / name)
    build = place / "build" / "release"
    for command in (
        ["cmake", "--preset", "release", "-DCORRAL_TESTS=OFF", "-DCORRAL_WEB=OFF"],
        ["cmake", "--build", "--preset", "release", "-j2", "--target", *TARGETS],
    ):
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=2 * PATIENCE)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    # The launcher runs the command although nothing else is built, and the module logs.
    script = place / "log.py"
    script.write_text("import corral\nfrom corral import _native\ncorral.log('loss', 1.0)\nprint(_native.__file__)\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(build / "python")}
    ran = subprocess.run(
        [build / "corral", "run", PYTHON, script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(build / "python" / "corral" / "_native.abi3.so")
    subprocess.run([build / "corral", "serve", "--stop"], env=environment, check=True, capture_output=True)

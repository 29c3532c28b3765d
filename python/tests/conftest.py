from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
import segment_reader
from package import PACKAGE, RUN
from training import Training


@dataclass
class Runner:
    """Runs Python code as `corral run` would: in its own process, with a segment directory."""

    directory: Path
    pure: bool

    def environment(self, **more: str) -> dict[str, str]:
        environment = {key: value for key, value in os.environ.items() if "RANK" not in key and "SLURM_ST" not in key}
        environment |= {
            "PYTHONPATH": str(PACKAGE),
            "PYTHONDEVMODE": "1",
            "CORRAL_SEGMENT_DIR": str(self.directory),
            "CORRAL_RUN_ID": RUN,
            "CORRAL_PURE_PYTHON": "1" if self.pure else "",
        }
        return environment | more

    def start(self, code: str, **more: str) -> subprocess.Popen[str]:
        script = self.directory.parent / "script.py"
        script.write_text("import corral\n" + textwrap.dedent(code))
        return subprocess.Popen(
            [sys.executable, str(script)],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, code: str, status: int = 0, **more: str) -> str:
        process = self.start(code, **more)
        out, error = process.communicate(timeout=60)
        assert process.returncode == status, error
        assert status == -signal.SIGKILL or error == ""
        return out

    def sessions(self) -> list[segment_reader.Session]:
        return segment_reader.read(self.directory)

    def one(self) -> segment_reader.Session:
        (session,) = self.sessions()
        return session


@pytest.fixture(params=["native", "pure"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    directory = tmp_path / "seg"
    directory.mkdir()
    (directory / "drops").write_bytes(bytes(4096))
    return Runner(directory, request.param == "pure")


@pytest.fixture
def training(tmp_path: Path) -> Training:
    return Training(tmp_path)

"""MLflow's own clients against Corral, or with --peer against MLflow's own server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import CLOUD, FILES, Server
from support import ROOT

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "clients").glob("*.py"))
VERSIONS = {"2.22.5": ROOT / ".venv-mlflow2", "3.17.2": ROOT / ".venv-mlflow3"}
ONLY = {
    "otlp": ["3.17.2"],
    "assessments": ["3.17.2"],
    "evaluation_datasets": ["3.17.2"],
}  # programs that not every version can run
LIMIT_S = 200
TESTS = [
    (program, version, storage)
    for storage in (FILES, CLOUD)
    for program in PROGRAMS
    for version in ONLY.get(program, list(VERSIONS))
]


def environment(server: Server, name: str) -> dict[str, str]:
    home = server.home / "client"
    home.mkdir()
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "GIT_PYTHON_REFRESH": "quiet",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": server.url,
        "TEST_NAME": name,
        "TEST_STORAGE": server.storage,
    }


@pytest.mark.parametrize(("program", "version", "server"), TESTS, indirect=["server"])
def test_client(program: str, version: str, server: Server) -> None:
    path = Path(__file__).parent / "clients" / f"{program}.py"
    done = subprocess.run(
        [VERSIONS[version] / "bin" / "python", "-P", path],
        check=False,
        cwd=server.home,
        env=environment(server, f"{program}-{version}"),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]

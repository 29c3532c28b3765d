"""A real MLflow server of a test's own, on a port of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

from support import ROOT, alive, until

PYTHON = ROOT / ".venv-mlflow3" / "bin" / "python"
START_S = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Peer:
    """`mlflow server` on SQLite and a directory; one worker, because the answers are what counts."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = directory / "peer.log"
        command: list[str | Path] = [PYTHON, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        command += ["--backend-store-uri", f"sqlite:///{directory}/peer.db"]
        command += ["--artifacts-destination", directory / "files"]
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=directory, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        until(self._answers, "MLflow's server answers", START_S)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def close(self) -> None:
        """Its workers too: they are in its process group."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        until(lambda: not alive(self._process.pid), "MLflow's server is gone")

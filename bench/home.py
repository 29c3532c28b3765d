"""A store and a spool of their own for one benchmark, and the commands that use them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 60


class Home:
    """`with Home(build) as home:` removes everything at the end, the server first."""

    def __init__(self, build: Path) -> None:
        self.binary = build / "corral"
        self.directory = Path(tempfile.mkdtemp(prefix="corral-bench-"))
        self.store = self.directory / "store"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CORRAL_")} | {
            "CORRAL_STORE": str(self.store),
            "CORRAL_SPOOL": str(self.directory / "spool"),
            "XDG_CONFIG_HOME": str(self.directory),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.store.exists():
            self.corral("serve", "--stop", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def corral(self, *arguments: str | Path, check: bool = True) -> str:
        done = subprocess.run(
            [self.binary, *arguments],
            env=self.environment,
            cwd=self.directory,
            check=check,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def popen(self, *arguments: str | Path, new_session: bool = False) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.binary, *arguments],
            env=self.environment,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=new_session,
        )

    def serve(self) -> dict[str, Any]:
        """Starts the store's server and gives its record; stopped by the end of the `with`."""
        self.popen("serve", "--idle-exit", new_session=True)
        return self.server()

    def server(self) -> dict[str, Any]:
        """The record of the server, once there is one."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                record: dict[str, Any] = json.loads((self.store / "server.json").read_text())
                return record
            except (FileNotFoundError, json.JSONDecodeError):
                time.sleep(0.02)
        raise TimeoutError("the server did not start")

"""A PostgreSQL server of a test's own, reached by a Unix socket in its directory."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from support import until


def programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parent.parent.name))
    return found[-1].parent if found else None


class Postgres:
    """Runs as the user `postgres` for root, who may not; ends with close() or with this process."""

    def __init__(self, bin_: Path) -> None:
        self._bin = bin_
        self.directory = Path(tempfile.mkdtemp(prefix="corral-pg-"))
        self._as = ["setpriv", "--pdeathsig", "QUIT"]
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
            self._as += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        self.directory.chmod(0o755)
        self._data = self.directory / "data"
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        (self._data / "pg_hba.conf").write_text("local all guarded scram-sha-256\nlocal all all trust\n")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.directory}'\nfsync = on\n"
                "recovery_init_sync_method = syncfs\nshared_buffers = 32MB\n"
            )
        self._server: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._as, self._bin / program, *arguments], cwd=self.directory, check=True, capture_output=True
        )

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*self._as, self._bin / "postgres", "-D", self._data],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        ready: list[str | Path] = [self._bin / "pg_isready", "-q", "-h", self.directory]
        until(lambda: subprocess.run(ready, check=False).returncode == 0, "the database server answers")

    def stop_at_once(self) -> None:
        """As when its machine fails."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait()
            self._server = None

    def sql(self, text: str, database: str = "postgres") -> str:
        done = self._run("psql", "-h", self.directory, "-U", "postgres", "-AtX", "-c", text, database)
        return done.stdout.decode().strip()

    def dump(self, database: str) -> bytes:
        return self._run("pg_dump", "-h", self.directory, "-U", "postgres", database).stdout

    def put_back(self, database: str, dump: bytes, owner: str) -> None:
        """The database as it was when it was dumped; its connections are cut."""
        self.sql(f"DROP DATABASE {database} WITH (FORCE)")
        self.sql(f"CREATE DATABASE {database} OWNER {owner}")
        psql: list[str | Path] = [self._bin / "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"]
        subprocess.run(
            [*self._as, *psql, self.directory, database],
            input=dump,
            cwd=self.directory,
            check=True,
            capture_output=True,
        )

    def url(self, user: str, database: str) -> str:
        return f"postgresql://{user}@/{database}?host={self.directory}"

    def close(self) -> None:
        self.stop_at_once()
        shutil.rmtree(self.directory, ignore_errors=True)

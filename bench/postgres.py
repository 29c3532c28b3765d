"""A PostgreSQL server of a benchmark's own, in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Self


class Postgres:
    """Run by the unprivileged user `postgres` when we are root; listens on a Unix socket in its folder only."""

    def __init__(self) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            raise FileNotFoundError("PostgreSQL is not installed")
        self.programs = found[-1].parent
        self.directory = Path(tempfile.mkdtemp(prefix="corral-bench-pg-"))
        self.data = self.directory / "data"
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            subprocess.run(["chown", self.user, self.directory], check=True)

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(command, user=self.user, cwd="/", check=True, capture_output=True, text=True)
        return done.stdout

    def __enter__(self) -> Self:
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-U", "bench", "--no-sync", "--locale=C.UTF-8")
        options = f"-k {self.directory} -c listen_addresses='' -c shared_buffers=1GB -c max_wal_size=4GB"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-o", options, "-l", str(self.directory / "log"), "start")
        self.pid = int((self.data / "postmaster.pid").read_text().split()[0])
        return self

    def __exit__(self, *_: object) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")
        subprocess.run(["rm", "-rf", str(self.directory)], check=True)

    @property
    def vacuum(self) -> str:
        """A command that does at once what autovacuum does within minutes: the room of deleted rows is free again."""
        return f"{self.programs / 'psql'} -q '{self.address}' -c VACUUM"

    def compact_bytes(self) -> int:
        """Size of all tables with their indexes, without the space of deleted rows."""
        self.run("psql", "-q", self.address, "-c", "VACUUM FULL")
        tables = "FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        return int(self.run("psql", "-At", self.address, "-c", f"SELECT sum(pg_total_relation_size(oid)) {tables}"))

    @property
    def address(self) -> str:
        return f"host={self.directory} user=bench dbname=postgres"

    @property
    def url(self) -> str:
        return f"postgresql://bench@/postgres?host={self.directory}"

"""A plan in a folder of its own, its scheduler, and what both leave."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import uuid
from pathlib import Path
from typing import Any

from support import Corral, alive, control_groups, until

PLAN_S = 180  # for a whole plan on a busy machine
HEADER = "Experiment,Workload,Name,Status,Run,Devices,Collocation,File,Params"
# Says that it has started, waits for a file where one is named, and ends as requested:
# work.sh NAME [SECONDS|FILE [STATUS]]
WORK = """#!/bin/sh
echo "$1 $$" >> starts
case "$2" in
  */*) while [ ! -e "$2" ]; do sleep 0.02; done ;;
  "") ;;
  *) sleep "$2" ;;
esac
echo "last words of $1"
exit "${3:-0}"
"""


class Plan:
    def __init__(self, corral: Corral, rows: list[str], header: str = HEADER) -> None:
        self.corral = corral
        self.folder = corral.home / "plans"
        self.folder.mkdir(exist_ok=True)
        work = self.folder / "work.sh"
        work.write_text(WORK)
        work.chmod(0o755)
        self.path = self.folder / "plan.csv"
        self.write(rows, header)

    def write(self, rows: list[str], header: str = HEADER) -> None:
        # At once: the scheduler may read it meanwhile.
        new = self.path.with_suffix(".new")
        new.write_text("\n".join([header, *rows]) + "\n")
        new.replace(self.path)

    # The scheduler

    def start(self, *options: str, **more: Any) -> subprocess.Popen[bytes]:
        return self.corral.start("run", self.path, "--no-listeners", *options, **more)

    def run(self, *options: str, status: int | None = 0, **more: Any) -> str:
        """To its end; what it said."""
        more.setdefault("seconds", PLAN_S)
        done = self.corral("run", self.path, "--no-listeners", *options, status=status, **more)
        return (done.stdout + done.stderr).decode()

    def end(self, scheduler: subprocess.Popen[bytes], status: int | None = 0) -> str:
        _, said = scheduler.communicate(timeout=PLAN_S)
        assert status is None or scheduler.returncode == status, said.decode()
        return said.decode()

    def kill(self, scheduler: subprocess.Popen[bytes]) -> None:
        scheduler.kill()
        scheduler.wait()

    # Views of the plan

    def rows(self) -> dict[str, dict[str, str]]:
        """The file's rows by name."""
        return {row["Name"]: row for row in csv.DictReader(self.path.read_text().splitlines())}

    def status(self, name: str) -> str:
        return self.rows()[name]["Status"].split(" ")[0]

    def starts(self) -> list[str]:
        """Names of the runs in the order in which their commands started."""
        file = self.folder / "starts"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def pid_of(self, name: str) -> int:
        lines = (self.folder / "starts").read_text().splitlines()
        return next(int(line.split()[1]) for line in reversed(lines) if line.split()[0] == name)

    def until_started(self, *names: str) -> None:
        until(lambda: set(names) <= set(self.starts()), f"{names} have started")

    def allow(self, name: str = "go") -> None:
        (self.folder / name).touch()

    def processes(self) -> list[int]:
        """Commands of its runs that live."""
        return [pid for name in set(self.starts()) if alive(pid := self.pid_of(name))]

    def supervisors(self) -> list[int]:
        return [pid for pid in self.corral.processes() if b"--order-fd" in command_line(pid)]

    def document(self) -> Any:
        """Returns the server's document of the plan."""
        plans = self.corral.get("/api/corral/v1/plans")["plans"]
        return self.corral.get(f"/api/corral/v1/plans/{plans[0]['id']}")


def command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def interrupt(scheduler: subprocess.Popen[bytes]) -> None:
    os.kill(scheduler.pid, signal.SIGINT)


def own_name() -> str:
    """For workloads whose control groups are looked for: tests run beside each other."""
    return "w" + uuid.uuid4().hex[:8]


def groups(name: str) -> set[str]:
    """Control groups on this machine of workloads whose names begin with `name`."""
    return {str(group) for group in control_groups(f"corral-{name}")}

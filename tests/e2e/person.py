"""A terminal with somebody before it, for tests of commands that use one. A real pty."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

from support import Corral, until


class Person:
    """A terminal with somebody before it."""

    def __init__(self, corral: Corral, rows: int = 24, columns: int = 80) -> None:
        self.corral = corral
        self.master, self.slave = pty.openpty()
        self.seen = b""
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.slave)

    def start(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        return self.corral.start(*arguments, **self.seat())

    def shell(self) -> subprocess.Popen[bytes]:
        """One with job control."""
        shell = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile", "-i"],
            env=self.corral.environment | {"PS1": "$ ", "HISTFILE": "/dev/null"},
            cwd=self.corral.home,
            start_new_session=True,
            **self.seat(),
        )
        self.until_seen(b"$ ")
        self.modes = termios.tcgetattr(self.slave)
        return shell

    def seat(self) -> dict[str, Any]:
        def sit() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        return {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave, "preexec_fn": sit}

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def look(self) -> bytes:
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                break
        return self.seen

    def until_seen(self, text: bytes) -> None:
        try:
            until(lambda: text in self.look(), f"{text!r} is on the screen")
        except AssertionError:
            raise AssertionError(f"{text!r} is not in {self.seen!r}") from None

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """The screen is looked at meanwhile: one that nobody reads holds a process up."""
        until(lambda: (self.look(), process.poll() is not None)[1], "it ends")
        self.look()
        return process.returncode

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def raw(self) -> bool:
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def as_before(self) -> bool:
        return termios.tcgetattr(self.slave) == self.modes

    def close(self) -> None:
        for end in (self.master, self.slave):
            if end >= 0:
                os.close(end)
        self.master = self.slave = -1

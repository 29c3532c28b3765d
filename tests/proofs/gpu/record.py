"""Prints, keeps and concludes a proof."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = Any
LIMIT_S = 600  # per command


@dataclass
class Record:
    """Checks, and everything that was printed: files of a step below `folder`/NUMBER."""

    folder: Path
    smoke: bool
    step: int = 0
    checks: list[Json] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def say(self, text: str) -> None:
        print(f"[{self.step}] {text}", flush=True)

    def keep(self, name: str, content: Json) -> Path:
        """Keeps text as it is, anything else as JSON."""
        path = self.folder / str(self.step) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1) + "\n")
        return path

    def check(self, what: str, good: bool, seen: Json = None) -> bool:
        self.checks.append({"step": self.step, "what": what, "good": good, "seen": seen})
        self.say(f"{'ok' if good else 'FAILED'}: {what}" + ("" if seen is None else f" ({json.dumps(seen)})"))
        return good

    def impossible(self, what: str, why: str) -> None:
        """A part that this machine does not allow: it is neither passed nor failed."""
        self.checks.append({"step": self.step, "what": what, "good": None, "seen": why})
        self.say(f"not possible: {what}: {why}")

    def finding(self, what: str, seen: Json) -> None:
        """A measured fact that decides a question of the listeners; not a check."""
        self.checks.append({"step": self.step, "what": what, "good": None, "seen": seen, "finding": True})
        self.say(f"found: {what}: {json.dumps(seen)}")

    def count(self, good: bool | None) -> int:
        return sum(1 for one in self.checks if one["good"] is good and not one.get("finding"))

    def seconds(self, whole: float) -> float:
        """A duration, cut short in a smoke."""
        return min(whole, 1.5) if self.smoke else whole

    def run(self, name: str, command: Sequence[str | Path], variables: dict[str, str] | None = None) -> tuple[int, str]:
        """A command to its end; what it printed is kept as `name`. Status -1: it could not be started."""
        began = time.monotonic()
        try:
            done = subprocess.run(
                [str(part) for part in command],
                env={**os.environ, **self.environment, **(variables or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                check=False,
                text=True,
                errors="replace",
            )
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            said = late.stdout or b""
            status, text = 124, f"{said.decode(errors='replace')}\nended after {LIMIT_S} s"
        except OSError as error:
            status, text = -1, str(error)
        head = f"$ {' '.join(map(str, command))}\n"
        self.keep(name, f"{head}{text}\n[exit status {status}, {time.monotonic() - began:.2f} s]\n")
        return status, text


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else float("nan")


def within(a: float, b: float, share: float) -> bool:
    """Returns true if the two differ by at most that share of the greater."""
    return abs(a - b) <= share * max(abs(a), abs(b))

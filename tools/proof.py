"""Runs a long proof: `./dev proof NAME [ARGS]`; without NAME lists them with one line each.

A proof is a Python module of tests/proofs: NAME.py, or a folder NAME with __main__.py; a name that begins with `_` is
shared code. The first line of its docstring is what the list says. It runs as `python -m NAME ARGS`, with --smoke in at
most 60 s and on any machine. Its exit status is 0 when it passed, 77 when it was skipped, anything else when it failed;
the last line that it prints is the result in one sentence.
"""

from __future__ import annotations

import ast
import difflib
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROOFS = Path(os.environ.get("CORRAL_PROOFS", ROOT / "tests" / "proofs"))
SMOKE_S = 60
SKIPPED = 77
MISUSE = 2


def proofs() -> dict[str, Path]:
    """Each proof's main file, by name."""
    found = {path.stem: path for path in PROOFS.glob("*.py")}
    found |= {path.parent.name: path for path in PROOFS.glob("*/__main__.py")}
    return {name: found[name] for name in sorted(found) if not name.startswith("_")}


def purpose(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "no description"
    return text.splitlines()[0]


def run(name: str, arguments: list[str]) -> tuple[int, str]:
    """The exit status and the last line printed; all of it is passed on as it comes."""
    path = os.pathsep.join(filter(None, [str(PROOFS), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", name, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    last = ""
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        last = line.strip() or last
    return process.wait(), last


def commit() -> str:
    """The commit that is checked out, with `+` when files differ from it; "archive" without git."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "archive"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def prove(name: str, arguments: list[str]) -> int:
    began = time.monotonic()
    try:
        status, last = run(name, arguments)
    except KeyboardInterrupt:
        print(f"proof {name} was interrupted: it did not pass")
        return 130
    seconds = time.monotonic() - began
    outcome = {0: "passed", SKIPPED: "was skipped: it did not pass"}.get(status, f"failed (exit status {status})")
    print(f"proof {name} {outcome}, {seconds:.0f} s")
    if "--smoke" in arguments and seconds > SMOKE_S:
        print(f"a smoke may take {SMOKE_S} s")
    if status in (0, 1) and not {"--smoke", "--help"} & set(arguments):
        command = shlex.join(["./dev", "proof", name, *arguments])
        print(
            f"the row for docs/proofs.md:\n| {name} | {commit()} | `{command}` | {outcome}, {seconds:.0f} s: {last} |"
        )
    return status


def main(arguments: list[str]) -> int:
    known = proofs()
    if not arguments:
        for name, path in known.items():
            print(f"{name:12} {purpose(path)}")
        return 0
    name = arguments[0]
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        print(f"proof: unknown proof '{name}'; {hint}known: {', '.join(known) or 'none'}", file=sys.stderr)
        return MISUSE
    return prove(name, arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

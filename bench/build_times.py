"""Build times, each from nothing or after one object was deleted, without ccache and in a build folder of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Figure, Peer

ROOT = Path(__file__).resolve().parent.parent
ONE_FILE = {
    "src/query/chart/chart.cpp": "src/query/CMakeFiles/corral_query.dir/chart.cpp.o",
    "src/http/server.cpp": "src/http/CMakeFiles/corral_http.dir/server.cpp.o",
    "src/cli/arguments.cpp": "src/cli/CMakeFiles/corral_cli.dir/arguments.cpp.o",
}


def seconds(command: list[str | Path]) -> float:
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def empty_program_s(directory: Path) -> float:
    """The floor of any rebuild: what the compiler takes to compile and link a program that does nothing."""
    source = directory / "empty.cpp"
    source.write_text("int main() {}\n")
    return seconds(["g++", "-O2", "-g1", source, "-o", directory / "empty"])


def figures(build: Path) -> list[Figure]:
    del build
    jobs = os.cpu_count() or 2
    with tempfile.TemporaryDirectory(prefix="corral-build-") as name:
        folder = Path(name) / "build"
        floor = empty_program_s(Path(name))
        together = Path(name) / "together"
        configured = seconds(["cmake", "--preset", "release", "-B", together, "-DCORRAL_CCACHE=OFF"])
        whole = seconds(["ninja", "-C", together, f"-j{jobs}", "all"])
        seconds(["cmake", "--preset", "dev", "-B", folder, "-DCORRAL_CCACHE=OFF"])
        alone = seconds(["ninja", "-C", folder, f"-j{jobs}", "all"])
        figures = [
            Figure(f"release build with all tests, {jobs} jobs", configured + whole, "s", 360),
            Figure("of it, configuring", configured, "s"),
            Figure("the same, each source alone (preset dev)", alone, "s"),
        ]
        for source, made in ONE_FILE.items():
            (folder / made).unlink()
            figures.append(
                Figure(
                    f"rebuild after {source}",
                    seconds(["ninja", "-C", folder, "all"]),
                    "s",
                    20,
                    peer=Peer("an empty program", floor),
                )
            )
    return figures

"""Build times of clones, with a compiler cache of their own: from nothing, in a second clone, and after a change of one
source.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Figure, Peer

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ["corral", "corral_python"]
CHANGED = ["src/query/chart/chart.cpp", "src/http/server.cpp", "src/cli/arguments.cpp"]
# A function that is used: a comment or a declaration would be found in the compiler's cache.
CHANGE = "\nnamespace corral { [[gnu::used]] static int changed_for_a_measurement() { return 1; } }\n"


class Clone:
    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "CCACHE_DIR": str(cache)}
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, folder], check=True)
        self.configuring, _ = self.seconds("cmake", "--preset", "release", "-DCORRAL_WEB=OFF")

    def seconds(self, *command: str) -> tuple[float, float]:
        """Returns the command's seconds on the clock, and of CPU."""
        began, cpu = time.monotonic(), cpu_s()
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began, cpu_s() - cpu

    def build(self, *targets: str) -> tuple[float, float]:
        return self.seconds("cmake", "--build", "--preset", "release", "--target", *targets)

    def change(self, source: str) -> float:
        with (self.folder / source).open("a") as file:
            file.write(CHANGE)
        return self.build("corral")[0]


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def empty_program_s(directory: Path) -> float:
    """The floor of any rebuild: what the compiler takes to compile and link a program that does nothing."""
    source = directory / "empty.cpp"
    source.write_text("int main() {}\n")
    began = time.monotonic()
    subprocess.run(["g++", "-O2", "-g1", source, "-o", directory / "empty"], check=True)
    return time.monotonic() - began


def figures(build: Path) -> list[Figure]:
    del build
    with tempfile.TemporaryDirectory(prefix="corral-build-") as name:
        floor = Peer("an empty program", empty_program_s(Path(name)))
        cache = Path(name) / "ccache"
        first = Clone(Path(name) / "first", cache)
        program, program_cpu = first.build(*PROGRAM)
        tests, tests_cpu = first.build("all")
        second = Clone(Path(name) / "in another" / "second", cache)
        again, _ = second.build("all")
        found = [
            Figure(f"program and Python module, {os.cpu_count()} jobs", program + first.configuring, "s", 300),
            Figure("of it, CPU", program_cpu, "s"),
            Figure("the same and all tests", first.configuring + program + tests, "s", 720),
            Figure("of it, CPU", program_cpu + tests_cpu, "s"),
            Figure("all of it in a second clone, from the compiler's cache", second.configuring + again, "s", 90),
        ]
        for source in CHANGED:
            found.append(Figure(f"program after a change of {source}", first.change(source), "s", 10, peer=floor))
        return found

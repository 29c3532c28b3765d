"""Follows CONTRIBUTING's recipes in a scratch clone: a listener, a route with a command, a column, a kind of chart.

Each recipe copies the new files of `files/` and adds lines to the files that the recipe names, and to no others; a
recipe that touches more files than it may fails. The clone is then built, and the new parts are used. --smoke follows
the recipes and checks the sources without building the program.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = Path(__file__).resolve().parent / "files"


@dataclass(frozen=True)
class Line:
    """Adds `text` to `file` after the first match of `after`."""

    file: str
    after: str
    text: str


@dataclass(frozen=True)
class Recipe:
    name: str
    most: int  # files that it may touch, generated ones aside
    new: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()


METRIC = """    {"host.uptime", "s", "", kGauge, kOnce, kHost, "scheduler", kSlow,
     "Seconds since the host booted. From /proc/uptime."},
"""
RECIPES = (
    Recipe(
        "a listener",
        5,
        tuple(f"src/collect/uptime/uptime_listener{end}" for end in (".h", ".cpp", "_test.cpp")),
        (
            Line(
                "src/collect/sampler/listeners.cpp",
                r'#include "collect/tree/tree_listener.h"\n',
                '#include "collect/uptime/uptime_listener.h"\n',
            ),
            Line(
                "src/collect/sampler/listeners.cpp",
                r"constexpr auto kListeners = .*\n",
                '    {"uptime", "How long the host is up.", metric::Owner::kHost, open_uptime_listener},\n',
            ),
            Line("src/metric/catalogue.cpp", r"constexpr auto kCatalogue = .*\n", METRIC),
        ),
    ),
    Recipe(
        "a route with a command",
        8,
        ("src/server/api/greeting.cpp", "src/cli/greet.cpp"),
        (
            Line(
                "src/server/api/handlers.h",
                r"using Handler = .*\n",
                "Handler greeting;\n",
            ),
            Line(
                "src/server/routes.cpp",
                r"constexpr std::array kApi = \{\n",
                '    get<api::greeting>("/api/corral/v1/greeting", "a greeting"),\n',
            ),
            Line("src/cli/command.h", r"// `args` without.*\n", "int greet_command(std::span<char* const> args);\n"),
            Line(
                "src/cli/main.cpp",
                r"constexpr std::array kCommands = \{\n",
                '    Verb{"greet", "print the server\'s greeting", greet_command},\n',
            ),
            Line("docs/api.md", r"\|---\|---\|\n", "| `GET /api/corral/v1/greeting` | a greeting |\n"),
            Line("docs/cli.md", r"(?=## corral trust)", "## corral greet\nPrints the server's greeting.\n\n"),
        ),
    ),
    Recipe(
        "a column of the list of runs",
        1,
        lines=(
            Line(
                "web/src/pages/runs/columns.ts",
                r"export const kColumns.*\n",
                '  plain("user", "User", 80, { value: "tags.mlflow.user", onWish: true }),\n',
            ),
        ),
    ),
    Recipe("a kind of chart", 2, ("web/src/charts/dial.ts", "web/src/charts/dial.test.ts")),
)


class ProofError(Exception):
    """The sentence that the proof ends with."""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout[-6000:])
        raise ProofError(f"{' '.join(str(word) for word in command[:4])} exited with {done.returncode}")
    return done.stdout


def scratch_clone(to: Path) -> Path:
    """The checkout as it is, changes included, without what git ignores."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=ROOT)
    clone = to / "corral"
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if not source.exists():
            continue
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, clone / name, follow_symlinks=False)
    for made in ("web/node_modules", "web/dist"):
        if (ROOT / made).exists():
            (clone / made).symlink_to(ROOT / made)
    run("git", "init", "-q", cwd=clone)
    run("git", "add", "-A", cwd=clone)
    run("git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "as it was", cwd=clone)
    return clone


def follow(recipe: Recipe, clone: Path) -> None:
    for name in recipe.new:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FILES / name, clone / name)
    for line in recipe.lines:
        text = (clone / line.file).read_text(encoding="utf-8")
        place = re.search(line.after, text)
        if place is None:
            raise ProofError(f"{recipe.name}: {line.file} has no line that matches {line.after!r}")
        (clone / line.file).write_text(text[: place.end()] + line.text + text[place.end() :], encoding="utf-8")
    touched = {*recipe.new, *(line.file for line in recipe.lines)}
    print(f"{recipe.name}: {len(touched)} files")
    if len(touched) > recipe.most:
        raise ProofError(f"{recipe.name} touches {len(touched)} files, more than {recipe.most}")


def check_sources(clone: Path) -> None:
    """Every new or changed C++ source compiles by itself; layers, formats and types hold."""
    run(sys.executable, "tools/check_layers.py", cwd=clone)
    changed = run("git", "status", "--porcelain", "-uall", cwd=clone).splitlines()
    sources = [line[3:] for line in changed if line.endswith((".cpp", ".h"))]
    run("clang-format", "--dry-run", "--Werror", *sources, cwd=clone)
    flags = ("-std=c++20", "-iquote", "src", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", '-DCORRAL_VERSION="0"')
    for source in sources:
        if source.endswith(".cpp"):
            run("g++", *flags, source, cwd=clone)
    if (clone / "web/node_modules").exists():
        run_tool = ("npm", "exec", "--")
        run(*run_tool, "tsc", "--noEmit", cwd=clone / "web")
        run(
            *run_tool,
            "vitest",
            "run",
            "--testTimeout=60000",
            "--update",
            "src/charts/dial.test.ts",
            "src/pages/runs",
            cwd=clone / "web",
        )


def build_and_use(clone: Path, home: Path) -> None:
    run("cmake", "--preset", "release", cwd=clone)
    targets = ("corral", "corral_program", "corral_python", "corral_metric_test", "corral_collect_test")
    run("cmake", "--build", "--preset", "release", "--target", *targets, cwd=clone)
    build = clone / "build/release"
    run(build / "src/metric/corral_metric_test", cwd=clone, CORRAL_UPDATE_GOLDEN="1")
    if "host.uptime" not in (clone / "docs/metrics.md").read_text(encoding="utf-8"):
        raise ProofError("docs/metrics.md was not written anew")
    run(build / "src/collect/corral_collect_test", "--gtest_filter=UptimeListener.*", cwd=clone)
    corral = build / "corral"
    environment = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    run(corral, "run", "--name", "first", "sleep", "3", cwd=home, **environment)
    try:
        metrics = json.loads(run(corral, "ls", "metrics", "@1", "--format", "json", cwd=home, **environment))
        if not any(metric["name"] == "host.uptime" and metric["points"] for metric in metrics):
            raise ProofError("the new listener measured nothing")
        greeting = run(corral, "greet", cwd=home, **environment)
        if not greeting.startswith("hello from"):
            raise ProofError(f"corral greet printed {greeting!r}")
    finally:
        run(corral, "serve", "--stop", cwd=home, **environment)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="only check the sources")
    smoke = parser.parse_args().smoke
    with tempfile.TemporaryDirectory(prefix="corral-recipes-") as folder:
        try:
            clone = scratch_clone(Path(folder))
            for recipe in RECIPES:
                follow(recipe, clone)
            check_sources(clone)
            if not smoke:
                home = Path(folder) / "home"
                home.mkdir()
                build_and_use(clone, home)
        except ProofError as failed:
            print(f"failed: {failed}")
            return 1
    what = "follow CONTRIBUTING and compile" if smoke else "follow CONTRIBUTING, were built and work"
    print(f"{len(RECIPES)} recipes {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

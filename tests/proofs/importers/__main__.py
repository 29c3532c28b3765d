"""Proves that `corral import` reads what TensorBoard, W&B, Aim and Arrow read of the runs that they wrote.

    ./dev proof importers                    runs of 3,000 steps by every tool
    ./dev proof importers wandb aim          these tools alone
    ./dev proof importers --torch PYTHON     PyTorch's SummaryWriter too, by a Python that has it
    ./dev proof importers --smoke            small runs that the tools wrote before, without the tools

Each tool writes runs into a directory, others.py reads them with the tool's own reader, and `corral import` imports
them, twice. Passed: every point, param, text and medium is the same, and the second import adds nothing. Needs the
packages of tools/pip-importers-packages.lock, which are installed below build/proofs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import _build
from explain import Bench, opened
from importers.others import content_of

OTHERS = Path(__file__).with_name("others.py")
FIXTURES = _build.ROOT / "tests" / "fixtures" / "imports"
TOOLS = ("tensorboardX", "tensorboard", "wandb", "aim", "parquet", "csv")
Things = Counter[tuple[Any, ...]]


def call(bench: Bench, *words: str | Path) -> str:
    done = subprocess.run(
        [bench.corral, *words],
        env={**bench.environment, "CORRAL_PYTHON": str(bench.python)},
        cwd=bench.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"corral {' '.join(map(str, words[:3]))} exited with {done.returncode}: {done.stderr[-2000:]}"
        )
    return done.stdout


def points_of(run: str, text: str) -> Iterator[tuple[Any, ...]]:
    for row in csv.DictReader(text.splitlines()):
        step = int(row["step"]) if row["step"] else None
        yield "point", run, row["metric"], row["source"], int(row["time_ns"]), step, repr(float(row["value"]))


def asked(bench: Bench, path: str) -> bytes:
    """An answer of the store's server."""
    url = json.loads((bench.folder / "store" / "server.json").read_text())["url"]
    with urllib.request.urlopen(url + path) as answer:
        return bytes(answer.read())


def media_of(bench: Bench, run: str) -> Iterator[tuple[Any, ...]]:
    """Name, kind, step and content of each medium of a run."""
    place = f"/api/corral/v1/runs/{run}"
    for row in json.loads(asked(bench, f"{place}/media"))["media"]:
        for one in row["steps"]:
            data = asked(bench, f"{place}/artifacts/{quote(one['path'])}")
            yield row["name"], row["kind"], int(one["step"]), content_of(row["kind"], data)


def stored(bench: Bench, experiment: str) -> Things:
    """The points, params, texts and media that the store has of an experiment's runs."""
    things: Things = Counter()
    for listed in json.loads(call(bench, "ls", "runs", "--experiment", experiment, "--format", "json")):
        run, name = listed["id"], listed["name"]
        things.update(points_of(name, call(bench, "export", run)))
        shown = json.loads(call(bench, "show", run, "--format", "json"))
        things.update(("param", name, key, value) for key, value in shown["params"].items())
        things.update(("medium", name, *medium) for medium in media_of(bench, run))
        for event in json.loads(asked(bench, f"/api/corral/v1/runs/{run}/events"))["events"]:
            attributes = event["attributes"]
            if "text" in attributes:
                step = int(attributes["step"])
                things["text", name, event["name"], attributes["text"], step] += 1
    return things


def told(expected: Things, found: Things) -> list[str]:
    lines = []
    for what, some in (("is missing", expected - found), ("is not in the source", found - expected)):
        lines += [f"    {what}: {thing}" for thing in list(some)[:5]]
    return lines


def compare(bench: Bench, kind: str, source: Path, expected: Things) -> bool:
    print(call(bench, "import", source, "--experiment", kind).splitlines()[0], flush=True)
    found = stored(bench, kind)
    again = call(bench, "import", source, "--experiment", kind).splitlines()[0]
    lines = told(expected, found)
    if "(none new)" not in again or stored(bench, kind) != found:
        lines.append(f"    the second import added something: {again}")
    kinds = Counter(thing[0] for thing in expected.elements())
    numbers = ", ".join(f"{kinds[one]} {one}s" for one in ("point", "param", "text")) + f", {kinds['medium']} media"
    print(f"{kind:14} {numbers}: {'the same' if not lines else 'DIFFERENT'}", *lines, sep="\n", flush=True)
    return not lines


def prove(bench: Bench, kind: str, writer: str | Path, steps: int) -> bool:
    source, lines = bench.folder / kind, bench.folder / f"{kind}.jsonl"
    packages = subprocess.run(
        [bench.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    environment = {**os.environ, "OTHER_PACKAGES": packages.stdout.strip(), "HOME": str(bench.folder)}
    for python, words in ((writer, ("write", kind, source, steps)), (bench.python, ("read", kind, source, lines))):
        done = subprocess.run(
            [str(python), str(OTHERS), *map(str, words)],
            env=environment,
            cwd=bench.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            print(f"{kind}: the tool itself failed to {words[0]}: {done.stderr[-1500:]}")
            return False
    expected = Counter(tuple(json.loads(line)) for line in lines.read_text().splitlines())
    file = source / f"one.{kind}"
    return compare(bench, kind, file if file.exists() else source, expected)


def smoke(bench: Bench) -> bool:
    """The fixtures, whose points the tools' readers gave."""
    good = True
    for kind in ("tensorboard", "wandb"):
        expected: Things = Counter()
        with (FIXTURES / f"{kind}.csv").open() as file:
            for row in csv.DictReader(file):
                step = int(row["step"]) if row["step"] else None
                value = repr(float(row["value"]))
                time = int(row["time_ns"])
                expected["point", row["run"], row["metric"], row["source"], time, step, value] += 1
        call(bench, "import", FIXTURES / kind, "--experiment", kind)
        found = Counter({thing: n for thing, n in stored(bench, kind).items() if thing[0] == "point"})
        lines = told(expected, found)
        print(f"{kind:14} {expected.total()} points", *(lines or ["    the same"]), sep="\n")
        good = good and not lines
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"of {', '.join(TOOLS)} (default: all)")
    parser.add_argument("-n", type=int, default=3000, help="steps of a run (default: 3000)")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.tools) - set(TOOLS)):
        parser.error(f"unknown tool {unknown[0]}")
    python = sys.executable if chosen.smoke else _build.python_or_why_not("importers")
    if python is None:
        return _build.SKIPPED
    with opened("importers-") as bench:
        bench.python = python
        if chosen.smoke:
            good = smoke(bench)
            print("the fixtures are the same" if good else "the fixtures differ")
            return 0 if good else 1
        writers = {tool: python for tool in chosen.tools or TOOLS}
        if chosen.torch:
            writers["torch"] = chosen.torch
        results = {tool: prove(bench, tool, writer, chosen.n) for tool, writer in writers.items()}
    wrong = [tool for tool, good in results.items() if not good]
    print(
        f"{len(results) - len(wrong)} of {len(results)} tools the same"
        + (f"; different: {', '.join(wrong)}" if wrong else "")
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

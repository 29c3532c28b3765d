"""Proves that `corral report` says of 40 real runs what they show, and that nothing of it is lost on the way.

    ./dev proof report                10 blocks of four set-ups of examples/studies/edge-pipeline: 6 minutes
    ./dev proof report --keep DIR     the same, and copies the documents there, for a reader
    ./dev proof report --smoke        2 blocks of a few days each

A pipeline, the same again, with a wider network, and with twice the passes over its data. Each value is computed anew
from the recorded steps, each ratio and interval by SciPy from the values that stand beside the report. Passed: all
agree; the same again is not called different, and twice the passes are called slower; every run stands in the HTML,
Markdown and LaTeX; `--check` finds nothing changed in all four. Needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import math
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

from _build import ROOT, SKIPPED
from explain import Bench, opened
from same import call

PROGRAM = ROOT / "examples" / "studies" / "edge-pipeline" / "pipeline.py"
PLAN = """Experiment,Workload,File,Params,Repeat,Baseline,Tags,Env
report,base,{program},--days {days},{blocks},yes,corral.margin=5%,
report,again,{program},--days {days},{blocks},,corral.margin=5%,AGAIN=1
report,wide,{program},--days {days} --width 192,{blocks},,corral.margin=5%,
report,more passes,{program},--days {days} --passes 20,{blocks},,corral.margin=5%,
"""
FORMATS = ("html", "pdf", "md", "tex")
VALUE_ERROR = 0.005  # a share: steps are given with their own begins and ends
Rows = list[dict[str, str]]


def table(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def wrong_values(bench: Bench, runs: Rows) -> list[str]:
    """The runs whose value is not the mean time of their steps in the time that the report names."""
    wrong = []
    for row in runs:
        phases = json.loads(call(bench, "ls", "phases", row["runs"], "--format", "json"))
        begins = [int(one["start_ns"]) for one in phases if one["name"] == "step"]
        inside = sorted(one for one in begins if int(row["from_ns"]) <= one < int(row["to_ns"]))
        measured = (inside[-1] - inside[0]) / (len(inside) - 1) / 1e9
        if abs(measured / float(row["value"]) - 1) > VALUE_ERROR:
            wrong.append(f"{row['name']}: {row['value']} s in the report, {measured:.6f} s by its steps")
    return wrong


def wrong_ratios(runs: Rows, differences: Rows) -> list[str]:
    from scipy.stats import t  # type: ignore[import-untyped]

    values: dict[str, list[float]] = defaultdict(list)
    for row in runs:
        values[row["group"]].append(math.log(float(row["value"])))
    wrong = []
    for row in differences:
        logs = [b - a for a, b in zip(values[row["a"]], values[row["b"]], strict=True)]  # a pair of each block
        half = t.ppf(0.5 + float(row["confidence"]) / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
        expected = {"ratio": mean(logs), "low": mean(logs) - half, "high": mean(logs) + half}
        for name, log in expected.items():
            if abs(math.log(float(row[name])) - log) > 1e-9:
                wrong.append(f"{row['b']}: {name} {row[name]} in the report, {math.exp(log)} by SciPy")
    return wrong


def wrong_verdicts(differences: Rows) -> list[str]:
    found = {row["b"]: row["verdict"] for row in differences}
    wrong = []
    if found["again"] not in ("equivalent", "inconclusive"):
        wrong.append(f"the same again: {found['again']}")
    if found["more passes"] != "greater":
        wrong.append(f"twice the passes: {found['more passes']}")
    return wrong


def prove(bench: Bench, blocks: int, days: int, judged: bool) -> list[str]:
    plan = bench.folder / "study.csv"
    plan.write_text(PLAN.format(program=PROGRAM, days=days, blocks=blocks))
    bench.environment["CORRAL_PYTHON"] = str(bench.python)
    call(bench, "run", "study.csv", "--shuffle", "1", "--quiet")
    wrong = []
    for form in FORMATS:
        call(bench, "report", "study.csv", "-o", f"study.{form}")
        call(bench, "report", "--check", f"study.{form}")
    runs, differences = table(bench.folder / "study-runs.csv"), table(bench.folder / "study-differences.csv")
    if len(runs) != 4 * blocks or any(row["status"] != "finished" for row in runs):
        wrong.append(f"{len(runs)} runs instead of {4 * blocks}, or some failed")
    for form in ("html", "md", "tex"):
        text = (bench.folder / f"study.{form}").read_text().replace("\\", "")  # before signs of Markdown and LaTeX
        wrong += [f"{row['name']} does not stand in study.{form}" for row in runs if row["name"] not in text]
    print(
        *(f"{row['b']}: {row['ratio']} ({row['low']} to {row['high']}), {row['verdict']}" for row in differences),
        sep="\n",
    )
    wrong += wrong_values(bench, runs) + wrong_ratios(runs, differences)
    return wrong + (wrong_verdicts(differences) if judged else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="directory for the documents")
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    if any(importlib.util.find_spec(name) is None for name in ("numpy", "scipy")):
        print("needs NumPy and SciPy")
        return SKIPPED
    blocks, days = (2, 12) if chosen.smoke else (10, 60)
    with opened("report-") as bench:
        wrong = prove(bench, blocks, days, judged=not chosen.smoke)
        if chosen.keep:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            for path in bench.folder.glob("study*"):
                shutil.copy(path, chosen.keep)
    print(*wrong, sep="\n")
    print(f"{4 * blocks} runs in {len(FORMATS)} documents: {len(wrong)} statements were wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

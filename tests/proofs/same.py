"""Proves that `corral compare` seldom finds a difference between real runs of one and the same set-up.

    ./dev proof same                  100 comparisons of 5 runs with 5
    ./dev proof same -n 20 --runs 10  20 comparisons of 10 with 10
    ./dev proof same --smoke          one comparison of 2 with 2, which is shown and not judged

A run is a small training of 2 s and at least 100 steps in NumPy. The ten of a comparison run one after the other, and
chance decides which of them belong to the first group. "Different" are the verdicts greater, less and different within
the margin. Passed: as many as 5 % of all comparisons, and what chance adds to that in one of twenty such proofs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from math import comb

from explain import Bench, opened

LEVEL = 0.05
TRAIN = """
import sys, time
import corral
import numpy

random = numpy.random.default_rng(int(sys.argv[1]))
inputs, weights = random.normal(size=(256, 512)), random.normal(size=(512, 256))
end = time.monotonic() + float(sys.argv[2])
steps = 0
while time.monotonic() < end or steps < 100:  # fewer than 50 have no steady part
    with corral.phase("step"):
        for _ in range(int(sys.argv[3])):
            weights -= 1e-6 * inputs.T @ numpy.tanh(inputs @ weights)
    steps += 1
"""


def allowed(comparisons: int) -> int:
    """The smallest number of false differences that a true level of 5 % exceeds in less than 5 % of proofs."""
    cumulated, count = 0.0, -1
    while cumulated < 1 - LEVEL:
        count += 1
        cumulated += comb(comparisons, count) * LEVEL**count * (1 - LEVEL) ** (comparisons - count)
    return count


def call(bench: Bench, *words: str) -> str:
    done = subprocess.run(
        [bench.corral, *words], env=bench.environment, cwd=bench.folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"corral {' '.join(words[:3])} exited with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def compare(bench: Bench, number: int, runs: int, smoke: bool) -> str:
    """The verdict about two groups of one set-up. Steps of a smoke are short: it may run beside other tests."""
    seconds, work = ("1", "1") if smoke else ("2", "8")
    groups = [f"a{number}", f"b{number}"] * runs
    random.Random(number).shuffle(groups)
    for seed, name in enumerate(groups):
        words = ["run", "--quiet", "--name", name, "--", str(bench.python), "train.py", str(seed), seconds, work]
        call(bench, *words)
    found = json.loads(call(bench, "compare", f"a{number}", f"b{number}", "--format", "json"))
    (one,) = found["differences"]
    print(f"{number:4} {one['text']}", flush=True)
    return str(one["verdict"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=100, help="comparisons (default: 100)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each group (default: 5)")
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.n, chosen.runs = 1, 2
    verdicts: Counter[str] = Counter()
    with opened("same-") as bench:
        (bench.folder / "train.py").write_text(TRAIN)
        for number in range(chosen.n):
            verdicts[compare(bench, number, chosen.runs, chosen.smoke)] += 1
    different = sum(verdicts[one] for one in ("greater", "less", "different within the margin"))
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{different} of {chosen.n} found different, at most {allowed(chosen.n)} allowed ({told})")
    return 0 if chosen.smoke or (different <= allowed(chosen.n) and not verdicts["too few"]) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Proves that a cured program's step time lies within the bounds that `corral explain` predicts for it without waits.

    ./dev proof what_if                    programs of examples/bottlenecks that wait for data, 20 pairs in all
    ./dev proof what_if -n 4 one_worker    this one, 4 pairs
    ./dev proof what_if --smoke            one pair, which is shown and not judged

A pair is a run of the program and one of it cured, one after the other. Passed: 18 of 20 lie within the bounds.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import _build
from explain import PROGRAMS, SECONDS, SMOKE_SECONDS, Bench, Program, has_torch, opened, programs

NAMES = ["one_worker", "slow_transform"]
WITHIN = 0.9  # share of the pairs


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def judge(bench: Bench, program: Program, seconds: int) -> bool:
    """Runs a pair, and prints it."""
    ill: dict[str, Any] = bench.explain(program, seconds)
    cured = bench.explain(program, seconds, "--cure")["what_if"]["step_s"]
    found, verdict = ill["what_if"], ill["bottleneck"]
    bounds = found["without_waits"]
    if bounds["lower_s"] is None:
        print(f"{program.name:16} nothing predicted: {bounds['reason']}", flush=True)
        return False
    within = bool(bounds["lower_s"] <= cured <= bounds["upper_s"])
    print(
        f"{program.name:16} {milliseconds(found['step_s'])} observed, {milliseconds(bounds['lower_s'])} to "
        f"{milliseconds(bounds['upper_s'])} predicted, {milliseconds(cured)} cured: {'within' if within else 'beyond'} "
        f"({verdict['part']}: {verdict['resource']})",
        flush=True,
    )
    return within


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help=f"default: {', '.join(NAMES)}")
    parser.add_argument("-n", type=int, default=10, help="pairs of each (default: 10)")
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.programs, chosen.n = ["one_worker"], 1
    if not has_torch():
        return _build.SKIPPED
    within = pairs = 0
    with opened("what-if-") as bench:
        for program in programs(PROGRAMS, chosen.programs or NAMES):
            for _ in range(chosen.n):
                within += judge(bench, program, SMOKE_SECONDS if chosen.smoke else SECONDS)
                pairs += 1
    print(f"{within} of {pairs} cured programs took as long as predicted")
    return 0 if chosen.smoke or within >= WITHIN * pairs else 1


if __name__ == "__main__":
    sys.exit(main())

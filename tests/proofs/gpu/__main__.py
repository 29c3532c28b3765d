"""The GPU code on a real NVIDIA GPU, within 45 minutes: what the driver answers, and whether Corral reads it right.

Eight steps, each kept under the output folder as it was printed: fixtures for the fake drivers. No setting of the
machine is changed; step 7 starts and ends an MPS daemon of its own. Step 8 changes settings and puts them back, only
with --settings and as root. Needs Python 3 and, for loads, the driver's libcuda.so.1; no network, no packages.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
import traceback
from pathlib import Path

from _build import ROOT, SKIPPED

from gpu import machine as machines
from gpu import reading, running, sampling, settings
from gpu.machine import Machine
from gpu.record import Record

STEPS = {
    1: ("identity", reading.identity),
    2: ("every function and field that reads", reading.answers),
    3: ("unit activity: windows", sampling.windows),
    4: ("PCIe counters", sampling.pcie),
    5: ("the driver's own samples, energy, process samples", sampling.rings),
    6: ("corral beside nvidia-smi", running.recording),
    7: ("profilers, MPS, DCGM", running.sharing),
    8: ("MIG profiles; settings", settings.settings),
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev proof gpu", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="on the project's fake drivers, within 60 s")
    parser.add_argument(
        "--settings", action="store_true", help="change MIG, clocks and power, and put them back (root)"
    )
    parser.add_argument("--steps", default="", help="only these, as 1,2,5 (default: all)")
    parser.add_argument("--out", type=Path, help="output folder (default: build/proofs/gpu-TIME)")
    return parser.parse_args()


def take(number: int, machine: Machine) -> None:
    record = machine.record
    record.step = number
    name, step = STEPS[number]
    record.say(name)
    began = time.monotonic()
    try:
        step(machine)
    except Exception:  # a step that fails must not take the next ones with it
        record.keep("traceback.txt", traceback.format_exc())
        record.check(f"step {number} runs to its end", False, traceback.format_exc().splitlines()[-1])
    record.say(f"took {time.monotonic() - began:.0f} s")


def chosen(given: argparse.Namespace) -> list[int]:
    numbers = [int(one) for one in given.steps.split(",")] if given.steps else list(STEPS)
    unknown = [number for number in numbers if number not in STEPS]
    if unknown:
        sys.exit(f"unknown step {unknown[0]}; steps are 1 to {len(STEPS)}")
    return numbers


def main() -> int:
    given = options()
    if given.settings and os.geteuid() != 0 and not given.smoke:
        print("--settings changes the GPU, which only root can")
        return 2
    if not given.smoke:
        try:
            ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            print(f"no NVIDIA driver is installed here: {error}")
            return SKIPPED
    out = given.out or ROOT / "build" / "proofs" / time.strftime("gpu-%Y%m%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)
    record = Record(out.resolve(), given.smoke)
    machine = machines.fake(record) if given.smoke else machines.real(record)
    machine.settings = given.settings
    for number in chosen(given):
        take(number, machine)
    record.step = 0
    record.keep("checks.json", record.checks)
    good, bad, left = (record.count(outcome) for outcome in (True, False, None))
    print(f"everything printed is kept in {record.folder}")
    print(f"{good} checks passed, {bad} failed, {left} not possible here")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())

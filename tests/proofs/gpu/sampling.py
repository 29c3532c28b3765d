"""Steps 3 to 5: windows of unit activity, counters that wrap, and the driver's own samples."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from gpu import gpm
from gpu.machine import PROOFS, Machine
from gpu.nvml import SUCCESS, Nvml
from gpu.record import median, within

WRAP = 2.0**32
NOBODY = 65534
TICK_S = 0.01
PCIE = {"tx": (197, 20), "rx": (198, 21)}  # field, GPM's metric
COPIED = {"h2d": "rx", "d2h": "tx"}  # direction -> the expected transfer of the GPU
RINGS = {0: "power, mW", 1: "GPU utilization, %", 2: "memory utilization, %", 5: "SM clock", 6: "memory clock"}


def windows(machine: Machine) -> None:
    """G6, G7: from which length on windows are answered, and how steady they are, by user."""
    record = machine.record
    rounds = 2 if record.smoke else 15
    with machine.load("sm", 120):
        time.sleep(record.seconds(2))
        own = gpm.windows(machine.nvml, rounds)
        record.keep(f"windows-uid{os.geteuid()}.json", own)
        if os.geteuid() == 0:
            record.keep("windows-nobody.json", as_nobody(machine, rounds))
    supported = next(one for one in own if one["window_ms"] == 120)
    if supported["sampling"] != [SUCCESS]:
        nvml = Nvml(machine.nvml)
        record.impossible("unit activity", "sampling: " + ", ".join(nvml.words(s) for s in supported["sampling"]))
        return
    good = [one["window_ms"] for one in own if one["status"] == [SUCCESS]]
    record.finding("windows that are answered, ms", good)
    record.check("a window of 120 ms is answered every time", 120 in good, supported["status"])


def as_nobody(machine: Machine, rounds: int) -> Any:
    """The same without root's rights."""
    command = [sys.executable, "-m", "gpu.gpm", machine.nvml, str(rounds)]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(PROOFS)},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return {"failed": str(error)}
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr[-500:]}


def pcie(machine: Machine) -> None:
    """G1: the counters each 10 ms beside GPM's rates and the bytes that were copied."""
    record = machine.record
    for kind, direction in COPIED.items():
        seconds = record.seconds(20)
        with machine.load(kind, seconds + 4) as copying:
            time.sleep(record.seconds(2))
            readings, rates = watch_pcie(machine, seconds)
            copied = json.loads((copying.communicate()[0] or "{}").strip() or "{}") if copying else {}
        record.keep(f"pcie-{kind}.json", {"readings": readings, "rates": rates, "copied": copied})
        compare_pcie(machine, direction, readings, rates, copied)


def watch_pcie(machine: Machine, seconds: float) -> tuple[list[Any], list[Any]]:
    """Raw counters with their times, and GPM's windows of 200 ms."""
    nvml = Nvml(machine.nvml)
    meter = gpm.Gpm(nvml)
    numbers = [(field, 0) for field, _ in PCIE.values()]
    readings: list[Any] = []
    rates: list[Any] = []
    began = due = time.perf_counter()
    started = meter.sample(0) == SUCCESS
    taken = began
    while time.perf_counter() - began < seconds:
        values = nvml.fields(numbers)
        now = time.perf_counter()
        readings.append([now - began, *([one["number"], one["type"], one["status"]] for one in values)])
        if started and now - taken >= 0.2 and meter.sample(1) == SUCCESS:
            _, metrics = meter.metrics()
            rates.append([now - began, {name: metrics[metric] for name, (_, metric) in PCIE.items()}])
            started, taken = meter.sample(0) == SUCCESS, time.perf_counter()
        due += TICK_S
        time.sleep(max(0.0, due - time.perf_counter()))
    return readings, rates


def compare_pcie(
    machine: Machine, direction: str, readings: list[Any], rates: list[Any], copied: dict[str, Any]
) -> None:
    record = machine.record
    column = 1 + list(PCIE).index(direction)
    good = [(one[0], one[column][0]) for one in readings if one[column][2] == SUCCESS]
    if len(good) < 2:
        record.impossible(f"PCIe bytes, {direction}", "the driver does not give the counter")
        return
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(good)]
    falls = sum(1 for _, grown in steps if grown < 0)
    beyond = max(value for _, value in good) >= WRAP
    total = sum(grown + WRAP if grown < 0 else grown for _, grown in steps)
    lasted = good[-1][0] - good[0][0]
    facts = {"type": readings[0][column][1], "beyond 32 bits": beyond, "falls": falls, "B/s": total / lasted}
    facts["longest tick, ms"] = max(passed for passed, _ in steps) * 1e3
    facts["changes every, ms"] = lasted * 1e3 / max(1, sum(1 for _, grown in steps if grown != 0))
    record.finding(f"counter of bytes, {direction}", facts)
    monitored = [one[1][direction][1] * 2**20 for one in rates if one[1][direction][0] == SUCCESS]
    if monitored:
        mean = statistics.fmean(monitored)
        record.check(f"{direction}: counter and GPM agree within 10 %", within(mean, total / lasted, 0.1), mean)
    if copied.get("bytes"):
        rate = copied["bytes"] / copied["seconds"]
        # Headers and flow control come on top of what was copied.
        fits = 0.95 * rate <= total / lasted <= 1.3 * rate
        record.check(f"{direction}: counter and bytes copied agree (-5 to +30 %)", fits, rate)


def rings(machine: Machine) -> None:
    """Samples that the driver takes by itself; energy beside power; samples of processes."""
    record, nvml = machine.record, Nvml(machine.nvml)
    with machine.load("sm", 100):
        time.sleep(record.seconds(3))
        for kind, name in RINGS.items():
            one_ring(machine, nvml, kind, name)
        energy(machine, nvml)
        processes(machine, nvml)


def one_ring(machine: Machine, nvml: Nvml, kind: int, name: str) -> None:
    record = machine.record
    status, samples = nvml.samples(kind)
    now_us = time.time() * 1e6
    record.keep(f"ring-{kind}.json", {"status": status, "now_us": now_us, "samples": samples})
    if status != SUCCESS or len(samples) < 2:
        record.impossible(f"samples of {name}", nvml.words(status))
        return
    gaps = [(b - a) / 1e3 for (a, _), (b, _) in itertools.pairwise(samples)]
    late = (now_us - samples[-1][0]) / 1e3
    record.finding(f"ring of {name}", {"samples": len(samples), "every ms": median(gaps), "newest, ms ago": late})
    record.check(f"samples of {name} are in order and by the wall clock", min(gaps) >= 0 and -50 < late < 60e3)


def energy(machine: Machine, nvml: Nvml) -> None:
    record = machine.record
    seconds = record.seconds(60)
    began = time.perf_counter()
    readings: list[Any] = []
    while time.perf_counter() - began < seconds:
        values = nvml.fields([(83, 0), (185, 0), (186, 0)])
        readings.append([time.perf_counter() - began, *((one["status"], one["number"]) for one in values)])
        time.sleep(0.02)
    record.keep("energy.json", readings)
    if any(one[1][0] != SUCCESS or one[3][0] != SUCCESS for one in readings):
        record.impossible("energy beside power", "the driver does not give both")
        return
    joules = (readings[-1][1][1] - readings[0][1][1]) / 1e3
    pairs = list(itertools.pairwise(readings))
    summed = sum((b[0] - a[0]) * (a[3][1] + b[3][1]) / 2e3 for a, b in pairs)
    changes = sum(1 for a, b in pairs if b[1][1] != a[1][1])
    record.finding("energy is renewed every, ms", readings[-1][0] * 1e3 / max(1, changes))
    agree = within(joules, summed, 0.1)
    record.check("energy and power over time agree within 10 %", agree, {"counter J": joules, "summed J": summed})


def processes(machine: Machine, nvml: Nvml) -> None:
    """G2: samples as they come, and those that the listener leaves out."""
    record = machine.record
    calls: list[Any] = []
    since = 0
    odd = {"above 100 %": 0, "of the future": 0, "not newer": 0, "of no list": 0}
    for _ in range(10 if record.smoke else 200):
        status, samples = nvml.process_samples(since)
        now_us, listed = int(time.time() * 1e6), nvml.listed_pids()
        calls.append({"since_us": since, "now_us": now_us, "status": status, "samples": samples, "listed": len(listed)})
        for one in samples:
            odd["above 100 %"] += max(one["sm"], one["memory"], one["encoder"], one["decoder"]) > 100
            odd["of the future"] += one["timestamp_us"] > now_us
            odd["not newer"] += one["timestamp_us"] <= since
            odd["of no list"] += one["pid"] not in listed
        stamps = [one["timestamp_us"] for one in samples if one["timestamp_us"] <= now_us]
        since = max([since, *stamps])
        time.sleep(0.05)
    record.keep("process-samples.json", calls)
    record.finding("samples of processes that the listener leaves out", odd)
    record.finding("statuses of process samples", sorted({nvml.words(one["status"]) for one in calls}))

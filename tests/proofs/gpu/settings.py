"""Step 8: MIG profiles; and only with --settings and as root instances, clocks and power, all put back."""

from __future__ import annotations

import ctypes
import math
import os
import re
import struct
from ctypes import byref, c_uint
from pathlib import Path
from typing import Any

from gpu.machine import Machine, changing
from gpu.nvml import INVALID_ARGUMENT, SUCCESS, Nvml
from gpu.running import PLAN, module_path

PROFILES = 64
# Lines of nvidia-smi -q that change by themselves.
MOVING = re.compile(
    r"Timestamp|Draw|Temp|Util|Used|Free|Clocks?\b.*Event|: \d+ (?:MHz|C|%)|Throughput|Replay|Fan|Process|PID"
    r"|Idle|Active|Performance State|Counter|us$|Count"
)


def settings(machine: Machine) -> None:
    variables = changing(machine)
    profile = profiles(machine, variables)
    if not (machine.settings or machine.fake):
        machine.record.impossible("settings", "they are changed only with --settings, as root")
        return
    divided(machine, profile, variables)
    tuned(machine, variables)


def profiles(machine: Machine, variables: dict[str, str]) -> str:
    """G4: each number with each version's status; a gap is a number that is refused below one that is known. Returns
    the name of profile 0, one slice of compute."""
    record = machine.record
    os.environ.update({name: value for name, value in variables.items() if name == "FAKE_NVML_STATE"})
    nvml = Nvml(variables.get("CORRAL_NVML_LIBRARY", machine.nvml))
    table = []
    for number in range(PROFILES):
        row: dict[str, Any] = {"number": number}
        for version in (1, 2, 3):
            block = (ctypes.c_ubyte * 4096)()
            name = "nvmlDeviceGetGpuInstanceProfileInfo" + ("V" if version > 1 else "")
            if version > 1:
                struct.pack_into("<I", block, 0, 152 | version << 24)
            status = nvml.call(name, nvml.device, c_uint(number), byref(block)) if nvml.has(name) else None
            row[f"v{version}"] = status
            if status == SUCCESS:
                row[f"v{version}_bytes"] = bytes(block[:152]).hex()
        table.append(row)
    record.keep("profiles.json", table)
    known = [row["number"] for row in table if SUCCESS in (row["v1"], row["v2"], row["v3"])]
    refused = [row["number"] for row in table if row["v1"] == INVALID_ARGUMENT]
    record.finding("MIG profile numbers", {"known": known, "gaps": [n for n in refused if n < max(known, default=0)]})
    return smallest(bytes.fromhex(table[0].get("v1_bytes", "")), nvml.memory()["v1"]["total"] >> 20)


def smallest(info: bytes, total_mib: int) -> str:
    """As the names have it: slices of compute, and eighths of the memory in whole GB."""
    if not info:
        return ""
    slices, memory_mib = struct.unpack_from("<8xI28xQ", info)
    eighths = round(memory_mib / total_mib * 8) / 8
    return f"{slices}g.{round(eighths * math.ceil(total_mib / 1024))}gb"


def divided(machine: Machine, profile: str, variables: dict[str, str]) -> None:
    """Two instances by a plan, what the listeners see of them, and that they are gone afterwards."""
    record = machine.record
    before = state(machine, "before-mig.txt", variables)
    if not profile:
        record.impossible("MIG instances", "the driver has no profile 0")
        return
    script = record.keep("instance.py", (Path(__file__).parent / "client.py").read_text())
    rows = [f"proof,1,0,{profile},{script},proc+nvidia+nvidia-processes,want=65,part{n}" for n in (1, 2)]
    plan = record.keep("mig.csv", PLAN + "\n".join(rows) + "\n")
    status, said = record.run("mig.txt", [machine.corral, "run", plan], module_path() | variables)
    record.check("two MIG instances are made and used", status == 0, said.splitlines()[-4:])
    _, points = record.run("mig-points.txt", [machine.corral, "export", "part1", "--metric", "*"], variables)
    record.finding("instances with values of their own", sorted(set(re.findall(r"gpu\d+\.mig\d+", points))))
    restored(machine, "after-mig.txt", before, variables)


def tuned(machine: Machine, variables: dict[str, str]) -> None:
    record = machine.record
    before = state(machine, "before-clocks.txt", variables)
    script = record.keep("tuned.py", (Path(__file__).parent / "client.py").read_text())
    head = "Experiment,Workload,Devices,Collocation,Model,Listeners,Params,Name,Clocks,Power\n"
    plan = record.keep("clocks.csv", f"{head}proof,1,0,-,{script},proc+nvidia,want=65,slow,sm=1200,400W\n")
    status, said = record.run("clocks.txt", [machine.corral, "run", plan], module_path() | variables)
    record.check("clocks and power are set for a run", status == 0, said.splitlines()[-4:])
    restored(machine, "after-clocks.txt", before, variables)


def state(machine: Machine, name: str, variables: dict[str, str]) -> list[str]:
    """The machine's settings as nvidia-smi or the fake's state file has them, without what moves by itself."""
    if machine.fake:
        text = Path(variables["FAKE_NVML_STATE"]).read_text()
        machine.record.keep(name, text)
        return sorted(text.splitlines())
    _, text = machine.record.run(name, ["nvidia-smi", "-q"])
    return [line for line in text.splitlines()[1:-1] if not MOVING.search(line)]


def restored(machine: Machine, name: str, before: list[str], variables: dict[str, str]) -> None:
    machine.record.run("undo-" + name, [machine.corral, "undo"], variables)
    after = state(machine, name, variables)
    changed = [line for line in after if line not in before] + [line for line in before if line not in after]
    machine.record.check("the GPU is set as it was before", not changed, changed[:10])

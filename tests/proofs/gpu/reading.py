"""Steps 1 and 2: what the machine is, and what every function and field of the driver answers."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

from gpu.machine import HOST_NAMESPACE, TOOLS, Machine
from gpu.nvml import ALL_LINKS, CHANGES, NOT_AVAILABLE, READS, SUCCESS, Nvml, symbols

FIELDS = (3, 4, *range(74, 84), 94, 138, 139, 185, 186, 190, 197, 198, 202, 204, 269, 270, 271)
POWER = (185, 186)
LINKS = (138, 139, 202, 204)
BY_OTHERS = {  # functions that a later step calls, with the arguments that it needs
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetProcessesUtilizationInfo",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetSupportedGraphicsClocks",
    "nvmlErrorString",
    "nvmlGpmMetricsGet",
    "nvmlGpmMigSampleGet",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleFree",
    "nvmlGpmSampleGet",
    "nvmlComputeInstanceGetInfo_v2",
    "nvmlGpuInstanceGetComputeInstanceProfileInfo",
    "nvmlGpuInstanceGetComputeInstances",
    "nvmlGpuInstanceGetInfo",
}


def in_host_namespace() -> bool:
    return os.readlink("/proc/self/ns/pid") == HOST_NAMESPACE


def identity(machine: Machine) -> None:
    record = machine.record
    record.run("nvidia-smi-q.txt", ["nvidia-smi", "-q"])
    record.run("nvidia-smi-L.txt", ["nvidia-smi", "-L"])
    for path in ("/proc/driver/nvidia/params", "/proc/driver/nvidia/version"):
        if Path(path).exists():
            record.keep(Path(path).name + ".txt", Path(path).read_text())
    tools = {name: shutil.which(name, path=record.environment.get("PATH")) for name in TOOLS}
    there = {
        "tools": tools,
        "torch": importlib.util.find_spec("torch") is not None,
        "devices": sorted(str(path) for path in Path("/dev").glob("nvidia*")),
        "host_pid_namespace": in_host_namespace(),
        "root": os.geteuid() == 0,
        "kernel": os.uname().release,
    }
    record.keep("machine.json", there)
    record.finding("tools", sorted(name for name, path in tools.items() if path))
    nvml = Nvml(machine.nvml)
    version = nvml.read("nvmlSystemGetDriverVersion")
    record.check("the driver tells its version", version["status"] == SUCCESS, version["values"])


def answers(machine: Machine) -> None:
    record, nvml = machine.record, Nvml(machine.nvml)
    known = symbols()
    told: dict[str, Any] = {}
    for name in known:
        if CHANGES.match(name):
            told[name] = {"not called": "it changes something"}
        elif name in BY_OTHERS:
            told[name] = {"there": nvml.has(name)}
        elif not nvml.has(name):
            told[name] = {"there": False}
        else:
            told[name] = nvml.read(name)
    record.keep("symbols.json", told)
    unread = [name for name in known if not CHANGES.match(name) and name not in BY_OTHERS | READS.keys()]
    record.check("every function that reads is known to this proof", not unread, unread or len(known))
    if not machine.fake:
        lacking = [name for name, answer in told.items() if answer.get("there") is False]
        record.finding("functions that this driver lacks", lacking)
    asked = [(number, ALL_LINKS if number in LINKS else 0) for number in FIELDS]
    asked += [(number, scope) for number in POWER for scope in (1, 2)]
    asked += [(number, 0) for number in LINKS]
    fields = nvml.fields(asked)
    record.keep("fields.json", fields)
    types = {one["field"]: one["type"] for one in fields if one["status"] == SUCCESS}
    record.finding("value types of fields", types)
    for number in (197, 198):
        one = next(one for one in fields if one["field"] == number)
        record.finding(f"field {number}", {name: one[name] for name in ("status", "type", "number")})
    memory(machine, nvml)


def memory(machine: Machine, nvml: Nvml) -> None:
    """Determines if `used` of v2 includes reserved memory."""
    record, found = machine.record, nvml.memory()
    record.keep("memory.json", found)
    new = found.get("v2")
    if new is None or NOT_AVAILABLE in new.values() or new["total"] == 0:
        record.impossible("memory of the device", f"the driver gives {found}")
        return
    includes = new["used"] + new["free"] == new["total"]
    apart = new["used"] + new["reserved"] + new["free"] == new["total"]
    record.finding("used of v2 includes what is reserved", includes)
    record.check("the parts of memory add up to its total, one way or the other", includes or apart, new)

"""NVML by ctypes: only what reads. Layouts are those of the vendor's header; every answer is kept raw."""

from __future__ import annotations

import ctypes
import re
import struct
import time
from ctypes import byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SUCCESS, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 0, 2, 3, 6, 7
ALL_LINKS = 0xFFFFFFFF
FIELD_SIZE = 40
SAMPLE_SIZE = 16
USE_SIZE = 32  # size of a process's sample
NOT_AVAILABLE = 2**64 - 1
UNTOUCHED = 0xA5

# Arguments: D device, H a handle, u/U an unsigned of 32/64 bits, s text, b a block, n room of a list (in and out),
# a number itself. Versioned structs have their version word first.
READS: dict[str, list[Any]] = {
    "nvmlSystemGetDriverVersion": ["s"],
    "nvmlDeviceGetCount": ["u"],
    "nvmlDeviceGetCount_v2": ["u"],
    "nvmlDeviceGetHandleByIndex": [0, "H"],
    "nvmlDeviceGetHandleByIndex_v2": [0, "H"],
    "nvmlDeviceGetUUID": ["D", "s"],
    "nvmlDeviceGetName": ["D", "s"],
    "nvmlDeviceGetPciInfo": ["D", "b"],
    "nvmlDeviceGetPciInfo_v2": ["D", "b"],
    "nvmlDeviceGetPciInfo_v3": ["D", "b"],
    "nvmlDeviceGetMaxPcieLinkGeneration": ["D", "u"],
    "nvmlDeviceGetMaxPcieLinkWidth": ["D", "u"],
    "nvmlDeviceGetUtilizationRates": ["D", "b"],
    "nvmlDeviceGetMemoryInfo": ["D", "b"],
    "nvmlDeviceGetMemoryInfo_v2": ["D", (40, 2)],
    "nvmlDeviceGetPowerUsage": ["D", "u"],
    "nvmlDeviceGetTotalEnergyConsumption": ["D", "U"],
    "nvmlDeviceGetClockInfo": ["D", 1, "u"],
    "nvmlDeviceGetCurrentClocksEventReasons": ["D", "U"],
    "nvmlDeviceGetCurrentClocksThrottleReasons": ["D", "U"],
    "nvmlDeviceGetTemperature": ["D", 0, "u"],
    "nvmlDeviceGetPerformanceState": ["D", "u"],
    "nvmlDeviceGetPersistenceMode": ["D", "u"],
    "nvmlDeviceGetEccMode": ["D", "u", "u"],
    "nvmlDeviceGetComputeMode": ["D", "u"],
    "nvmlDeviceGetPowerManagementLimit": ["D", "u"],
    "nvmlDeviceGetPowerManagementDefaultLimit": ["D", "u"],
    "nvmlDeviceGetPowerManagementLimitConstraints": ["D", "u", "u"],
    "nvmlDeviceGetEncoderUtilization": ["D", "u", "u"],
    "nvmlDeviceGetDecoderUtilization": ["D", "u", "u"],
    "nvmlDeviceGetComputeRunningProcesses": ["D", "n", "b"],
    "nvmlDeviceGetComputeRunningProcesses_v2": ["D", "n", "b"],
    "nvmlDeviceGetComputeRunningProcesses_v3": ["D", "n", "b"],
    "nvmlDeviceGetMPSComputeRunningProcesses_v2": ["D", "n", "b"],
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": ["D", "n", "b"],
    "nvmlDeviceGetSupportedMemoryClocks": ["D", "n", "b"],
    "nvmlDeviceGetMigMode": ["D", "u", "u"],
    "nvmlDeviceGetMaxMigDeviceCount": ["D", "u"],
    "nvmlDeviceGetMigDeviceHandleByIndex": ["D", 0, "H"],
    "nvmlDeviceGetGpuInstanceId": ["D", "u"],
    "nvmlDeviceGetComputeInstanceId": ["D", "u"],
    "nvmlDeviceGetGpuInstanceProfileInfo": ["D", 0, "b"],
    "nvmlDeviceGetGpuInstanceProfileInfoV": ["D", 0, (152, 2)],
    "nvmlDeviceGetGpuInstancePossiblePlacements_v2": ["D", 0, "b", "n"],
    "nvmlDeviceGetGpuInstanceRemainingCapacity": ["D", 0, "u"],
    "nvmlDeviceGetGpuInstances": ["D", 0, "b", "n"],
    "nvmlGpmQueryDeviceSupport": ["D", (0, 1)],
}
CHANGES = re.compile(r"^nvml(?:Device(?:Set|Reset|Create)|\w*InstanceCreate|\w*Destroy|Init|Shutdown)")


def symbols() -> list[str]:
    """Every function that Corral looks up, from its sources."""
    found: set[str] = set()
    for source in ("src/collect/nvidia/nvml.h", "src/collect/nvidia/nvml.cpp", "src/collocate/nvidia/control.cpp"):
        found |= set(re.findall(r'"(nvml\w+)"', (ROOT / source).read_text()))
    return sorted(found)


class Nvml:
    """The library, initialised. `device` is the first GPU."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        status = self.call("nvmlInit_v2")
        if status != SUCCESS:
            raise OSError(f"NVML does not start: {self.words(status)}")
        self.device = c_void_p()
        status = self.call("nvmlDeviceGetHandleByIndex_v2", c_uint(0), byref(self.device))
        if status != SUCCESS:
            raise OSError(f"there is no GPU 0: {self.words(status)}")

    def has(self, name: str) -> bool:
        return hasattr(self.library, name)

    def call(self, name: str, *arguments: Any) -> int:
        function = getattr(self.library, name)
        function.restype = c_int
        return int(function(*arguments))

    def words(self, status: int) -> str:
        function = self.library.nvmlErrorString
        function.restype = c_char_p
        return str((function(c_int(status)) or b"?").decode())

    def read(self, name: str, device: c_void_p | None = None) -> dict[str, Any]:
        """One function of READS: its status, outputs and time."""
        arguments: list[Any] = []
        outputs: list[Any] = []
        for kind in READS[name]:
            if kind == "D":
                arguments.append(device or self.device)
            elif isinstance(kind, int):
                arguments.append(c_uint(kind))
            elif kind == "s":
                outputs.append(ctypes.create_string_buffer(96))
                arguments += [outputs[-1], c_uint(96)]
            else:
                outputs.append(self._output(kind))
                arguments.append(byref(outputs[-1]))
        began = time.perf_counter()
        status = self.call(name, *arguments)
        took = time.perf_counter() - began
        return {
            "status": status,
            "words": self.words(status),
            "us": round(took * 1e6, 1),
            "values": [self._shown(one) for one in outputs] if status == SUCCESS else [],
        }

    @staticmethod
    def _output(kind: Any) -> Any:
        if kind == "u":
            return c_uint()
        if kind == "U":
            return c_ulonglong()
        if kind == "H":
            return c_void_p()
        if kind == "n":
            return c_uint(1024)
        block = (ctypes.c_ubyte * 65536)()
        ctypes.memset(block, UNTOUCHED, len(block))
        if isinstance(kind, tuple):
            size, version = kind
            ctypes.memset(block, 0, max(size, 8))
            struct.pack_into("<I", block, 0, size | version << 24 if size else version)
        return block

    @staticmethod
    def _shown(value: Any) -> Any:
        if isinstance(value, ctypes.Array):
            raw = bytes(value)
            if len(raw) == 96:
                return raw.split(b"\0")[0].decode(errors="replace")
            return raw.rstrip(bytes([UNTOUCHED])).hex()
        return value.value

    def memory(self) -> dict[str, dict[str, int]]:
        """Bytes of both versions, as far as the driver has them."""
        found = {}
        old = (c_ulonglong * 3)()
        if self.call("nvmlDeviceGetMemoryInfo", self.device, old) == SUCCESS:
            found["v1"] = dict(zip(("total", "free", "used"), old, strict=True))
        new = (c_ulonglong * 5)()
        new[0] = 40 | 2 << 24
        if self.has("nvmlDeviceGetMemoryInfo_v2") and self.call("nvmlDeviceGetMemoryInfo_v2", self.device, new) == 0:
            found["v2"] = dict(zip(("total", "reserved", "free", "used"), list(new)[1:], strict=True))
        return found

    def fields(self, asked: list[tuple[int, int]]) -> list[dict[str, Any]]:
        """Values by (field, scope): type, status, raw bytes and number."""
        block = ctypes.create_string_buffer(FIELD_SIZE * len(asked))
        for i, (number, scope) in enumerate(asked):
            struct.pack_into("<II16xIi", block, i * FIELD_SIZE, number, scope, 0, 999)
        status = self.call("nvmlDeviceGetFieldValues", self.device, c_int(len(asked)), block)
        found = []
        for i, (number, scope) in enumerate(asked):
            _, _, stamp, latency, kind, one, raw = struct.unpack_from("<IIqqIi8s", block, i * FIELD_SIZE)
            found.append(
                {
                    "field": number,
                    "scope": scope,
                    "status": status or one,
                    "type": kind,
                    "raw": raw.hex(),
                    "number": number_of(kind, raw),
                    "timestamp_us": stamp,
                    "latency_us": latency,
                }
            )
        return found

    def samples(self, kind: int, since_us: int = 0) -> tuple[int, list[tuple[int, float]]]:
        """The driver's ring of one type: times (us) and numbers."""
        room, value_type = c_uint(), c_uint()
        head = (self.device, c_uint(kind), c_ulonglong(since_us), byref(value_type), byref(room))
        status = self.call("nvmlDeviceGetSamples", *head, None)
        if status != SUCCESS:
            return status, []
        block = ctypes.create_string_buffer(SAMPLE_SIZE * max(1, room.value))
        status = self.call("nvmlDeviceGetSamples", *head, block)
        found = []
        for i in range(room.value if status == SUCCESS else 0):
            stamp, raw = struct.unpack_from("<Q8s", block, i * SAMPLE_SIZE)
            found.append((stamp, number_of(value_type.value, raw)))
        return status, found

    def process_samples(self, since_us: int) -> tuple[int, list[dict[str, int]]]:
        count = c_uint(4096)
        block = ctypes.create_string_buffer(USE_SIZE * count.value)
        status = self.call("nvmlDeviceGetProcessUtilization", self.device, block, byref(count), c_ulonglong(since_us))
        names = ("pid", "timestamp_us", "sm", "memory", "encoder", "decoder")
        return status, [
            dict(zip(names, struct.unpack_from("<I4xQIIII", block, i * USE_SIZE), strict=True))
            for i in range(min(count.value, 4096) if status == SUCCESS else 0)
        ]

    def listed_pids(self) -> set[int]:
        """Returns the pids of the compute list, whatever the size of its entries."""
        found: set[int] = set()
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"):
            if not self.has(name):
                continue
            answer = self.read(name)
            if answer["status"] != SUCCESS or not answer["values"][0]:
                continue
            count, raw = answer["values"][0], bytes.fromhex(answer["values"][1])
            size = max(16, len(raw) // count // 8 * 8)
            found |= {struct.unpack_from("<I", raw, i * size)[0] for i in range(count)}
        return found


def number_of(kind: int, raw: bytes) -> float:
    """Decodes NVML's value types: double, u32, unsigned long, u64, i64, i32, u16."""
    formats = ("<d", "<I", "<Q", "<Q", "<q", "<i", "<H")
    if kind >= len(formats):
        return float("nan")
    return float(struct.unpack_from(formats[kind], raw)[0])

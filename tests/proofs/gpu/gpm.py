"""Unit activity (GPM) by ctypes: samples, and metrics between two of them.

As a program, prints what windows of several lengths give: run so to ask as another user.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
import time
from ctypes import byref, c_void_p
from typing import Any

from gpu.nvml import SUCCESS, Nvml

METRICS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 20, 21, 60, 61)
METRIC_SIZE = 40
ROOM = 512  # more than any driver's
WINDOWS_MS = (50, 80, 100, 101, 110, 120, 150, 200)


class Gpm:
    def __init__(self, nvml: Nvml) -> None:
        self.nvml = nvml
        self.handles = [c_void_p(), c_void_p()]
        for handle in self.handles:
            nvml.call("nvmlGpmSampleAlloc", byref(handle))

    def sample(self, slot: int) -> int:
        return self.nvml.call("nvmlGpmSampleGet", self.nvml.device, self.handles[slot])

    def metrics(self) -> tuple[int, dict[int, tuple[int, float]]]:
        """Status and value of each metric from slot 0 to slot 1."""
        block = ctypes.create_string_buffer(24 + METRIC_SIZE * ROOM)
        struct.pack_into("<II", block, 0, 1, len(METRICS))
        struct.pack_into("<QQ", block, 8, *(handle.value or 0 for handle in self.handles))
        for i, metric in enumerate(METRICS):
            struct.pack_into("<IIdQQQ", block, 24 + i * METRIC_SIZE, metric, 0, float("nan"), 0, 0, 0)
        status = self.nvml.call("nvmlGpmMetricsGet", block)
        found = {}
        for i, metric in enumerate(METRICS):
            _, one, value = struct.unpack_from("<Iid", block, 24 + i * METRIC_SIZE)
            found[metric] = (one, value)
        return status, found

    def window(self, seconds: float) -> dict[str, Any]:
        first = self.sample(0)
        began = time.perf_counter()
        time.sleep(seconds)
        second = self.sample(1)
        lasted = time.perf_counter() - began
        if first != SUCCESS or second != SUCCESS:
            return {"sampling": first or second, "lasted_ms": lasted * 1e3}
        status, found = self.metrics()
        return {"sampling": SUCCESS, "status": status, "lasted_ms": lasted * 1e3, "metrics": found}


def windows(library: str, rounds: int) -> list[dict[str, Any]]:
    """Per window length: statuses, and of each metric how its values spread."""
    gpm = Gpm(Nvml(library))
    found = []
    for length in WINDOWS_MS:
        taken = [gpm.window(length / 1e3) for _ in range(rounds)]
        good = [one for one in taken if one.get("status") == SUCCESS]
        spread = {}
        for metric in METRICS if good else ():
            values = [one["metrics"][metric][1] for one in good if one["metrics"][metric][0] == SUCCESS]
            statuses = sorted({one["metrics"][metric][0] for one in good})
            spread[metric] = {"statuses": statuses}
            if values:
                spread[metric] |= {"least": min(values), "most": max(values), "mean": sum(values) / len(values)}
        found.append(
            {
                "window_ms": length,
                "sampling": sorted({one["sampling"] for one in taken}),
                "status": sorted({one["status"] for one in taken if "status" in one}),
                "metrics": spread,
            }
        )
    return found


if __name__ == "__main__":
    print(json.dumps(windows(sys.argv[1], int(sys.argv[2]))))

"""Trains for 20 s beside a meter, `codecarbon` or `zeus`, and says what that measured, and when.

The window is the meter's own: from its first reading of the package's counter that counts to its last one.
"""

from __future__ import annotations

import json
import sys
import time

import corral

STEPS, STEP = 200, 0.1


def train() -> None:
    for _ in range(STEPS):
        with corral.phase("step"):
            end = time.monotonic() + STEP
            while time.monotonic() < end - STEP / 2:
                pass
            time.sleep(max(end - time.monotonic(), 0))


def watched(kind, *methods: str) -> list[int]:
    """Times in ns at which these methods of a meter's counter have read it."""
    times: list[int] = []
    for name in methods:
        setattr(kind, name, watching(getattr(kind, name), times))
    return times


def watching(original, times: list[int]):
    def method(self, *args):
        result = original(self, *args)
        times.append(time.time_ns())
        return result

    return method


def zeus() -> dict:
    from zeus.device.cpu.rapl import RAPLCPU
    from zeus.monitor import ZeusMonitor

    monitor = ZeusMonitor(gpu_indices=[], cpu_indices=[0])
    time.sleep(3)  # the process that counts its wraps is starting
    times = watched(RAPLCPU, "get_total_energy_consumption")
    monitor.begin_window("training", sync_execution=False)
    train()
    found = monitor.end_window("training", sync_execution=False)
    return {
        "from": times[0],
        "to": times[-1],
        "cpu": sum(found.cpu_energy.values()),
        "dram": sum((found.dram_energy or {}).values()),
    }


def codecarbon() -> dict:
    from codecarbon import OfflineEmissionsTracker
    from codecarbon.core.rapl import RAPLFile

    tracker = OfflineEmissionsTracker(
        country_iso_code="DEU",
        measure_power_secs=1,
        save_to_file=False,
        log_level="error",
        rapl_include_dram=True,
    )
    starts, reads = watched(RAPLFile, "start"), watched(RAPLFile, "delta")
    tracker.start()
    train()
    tracker.stop()
    found = tracker.final_emissions_data
    return {
        "from": starts[0],
        "to": reads[-1],
        "cpu": found.cpu_energy * 3.6e6,
        "dram": found.ram_energy * 3.6e6,
    }


if __name__ == "__main__":
    meter, file = sys.argv[1:]
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"zeus": zeus, "codecarbon": codecarbon}[meter](), out)

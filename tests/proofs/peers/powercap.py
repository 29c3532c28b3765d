"""A tree like /sys/class/powercap, whose counters follow a known power; run as a program, it moves them.

    python powercap.py FOLDER

There is one package, with its cores and its memory. The package's counter wraps 15 s after the start.
"""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

RANGE_UJ = 262_143_328_850
WRAPS_AFTER = 15.0  # s
PERIOD = 7.0  # s
TICK = 0.002  # s


@dataclass(frozen=True)
class Zone:
    folder: str
    name: str
    watts: float
    swing: float  # watts
    start_uj: int

    def joules(self, seconds: float) -> float:
        """Since the start."""
        turn = 2 * math.pi / PERIOD
        return self.watts * seconds + self.swing / turn * (1 - math.cos(turn * seconds))

    def value(self, seconds: float) -> int:
        return (self.start_uj + round(self.joules(seconds) * 1e6)) % RANGE_UJ


def _package() -> Zone:
    zone = Zone("intel-rapl:0", "package-0", 120, 60, 0)
    return Zone(zone.folder, zone.name, zone.watts, zone.swing, RANGE_UJ - round(zone.joules(WRAPS_AFTER) * 1e6))


PACKAGE = _package()
DRAM = Zone("intel-rapl:0/intel-rapl:0:1", "dram", 15, 0, 5_000_000_000)
CORES = Zone("intel-rapl:0/intel-rapl:0:0", "core", 70, 40, 9_000_000_000)
ZONES = (PACKAGE, CORES, DRAM)


def make(folder: Path) -> Path:
    """Makes the tree, and returns a folder that can stand for /sys/class: it has that one's other links too."""
    classes, devices = folder / "class", folder / "devices" / "intel-rapl"
    (classes / "powercap").mkdir(parents=True)
    for kind in Path("/sys/class").iterdir():
        if kind.name == "powercap" or not kind.is_dir():
            continue
        (classes / kind.name).mkdir()
        for link in kind.iterdir():
            if link.is_symlink():
                (classes / kind.name / link.name).symlink_to(link.readlink())
    devices.mkdir(parents=True)
    for zone in ZONES:
        (devices / zone.folder).mkdir()
        (devices / zone.folder / "name").write_text(f"{zone.name}\n")
        (devices / zone.folder / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
        (devices / zone.folder / "energy_uj").write_text(f"{zone.value(0):012}\n")
        (classes / "powercap" / Path(zone.folder).name).symlink_to(devices / zone.folder)
    (devices / "enabled").write_text("1\n")
    (devices / "subsystem").symlink_to("/sys/class/powercap")
    (classes / "powercap" / "intel-rapl").symlink_to(devices)
    return classes


def move(folder: Path) -> None:
    """Says when it started, in ns of the clock, and goes on until it is ended."""
    files = [os.open(folder / "devices" / "intel-rapl" / zone.folder / "energy_uj", os.O_WRONLY) for zone in ZONES]
    started = time.time_ns()
    print(started, flush=True)
    while True:
        seconds = (time.time_ns() - started) / 1e9
        for zone, file in zip(ZONES, files, strict=True):
            os.pwrite(file, f"{zone.value(seconds):012}\n".encode(), 0)  # in place: a reader sees a whole number
        time.sleep(TICK)


if __name__ == "__main__":
    move(Path(sys.argv[1]))

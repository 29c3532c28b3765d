"""Runs as TensorBoard's and Aim's pages read them: `python page_files.py tensorboard|aim FOLDER RUNS METRICS POINTS`.

It runs in the environment of `./dev bench pages`. The values are those of bench/web/fill.mjs. Prints the hash of Aim's
first run.
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from pathlib import Path


def times(a: int, b: int) -> int:
    return a * b & 0xFFFFFFFF


def value_of(run: int, metric: int, i: int) -> float:
    bits = times(i + 1, 0x9E3779B1) ^ times(run * 31 + metric + 7, 0x85EBCA6B)
    bits = times(bits ^ bits >> 15, 0x2C1B3C6D)
    noise = (bits ^ bits >> 13) / 2**32
    wave = 120 + 40 * math.sin(i / (900 + 37 * metric)) + 6 * run
    return round(wave + 12 * noise + (150 if noise > 0.9995 else 0), 3)


def main() -> None:
    kind, folder, *sizes = sys.argv[1:]
    runs, metrics, points = map(int, sizes)
    for run in range(runs):
        if kind == "tensorboard":
            writer = import_module("tensorboardX").SummaryWriter(str(Path(folder) / f"run-{run}"))
        else:
            own = import_module("aim").Run(repo=folder, system_tracking_interval=None, capture_terminal_logs=False)
            own.name = f"run-{run}"
            if run == 0:
                print(own.hash, flush=True)
        for i in range(points):
            for metric in range(metrics):
                name, value = f"bench/metric{metric:02}", value_of(run, metric, i)
                if kind == "tensorboard":
                    writer.add_scalar(name, value, i)
                else:
                    own.track(value, name=name, step=i)
        (writer if kind == "tensorboard" else own).close()


if __name__ == "__main__":
    main()

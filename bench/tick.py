"""CPU of the sampler: corral_bench_collect, beside a frame of procps' top, which radT's host listener runs."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from figures import Figure, Peer

FRAMES = 20


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def top_frame_us() -> float | None:
    """CPU of one more frame of `top -b -i`; None where there is no top."""
    top = shutil.which("top")
    if top is None:
        return None
    spent = []
    for frames in (1, 1 + FRAMES):
        before = children_cpu()
        subprocess.run([top, "-b", "-i", "-d", "0.05", "-n", str(frames)], stdout=subprocess.DEVNULL, check=True)
        spent.append(children_cpu() - before)
    return (spent[1] - spent[0]) / FRAMES * 1e6


def google_benchmark(binary: Path) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [binary, "--benchmark_format=json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return {result["name"]: result for result in json.loads(done.stdout)["benchmarks"]}


def figures(build: Path) -> list[Figure]:
    results = google_benchmark(build / "bench" / "corral_bench_collect")
    top = top_frame_us()
    peer = Peer("a frame of top -b -i", top)
    bare = {
        kind: next(r for name, r in results.items() if name.startswith(f"bare_thread/{kind}/"))["cpu_us_per_tick"]
        for kind in ("wake", "wake_and_read")
    }
    sampler = next(result for name, result in results.items() if name.startswith("sampler_thread/default_set"))
    return [
        Figure("tick of the host's files, warm", results["tick_of_the_host"]["cpu_time"], "us", 150, peer=peer),
        Figure("tick of the default set, warm", results["tick_of_the_default_set"]["cpu_time"], "us", 150, peer=peer),
        Figure("walk over 20 processes, warm", results["walk_over_processes/20"]["cpu_time"], "us", 500, peer=peer),
        Figure("walk over 200 processes, warm", results["walk_over_processes/200"]["cpu_time"], "us", peer=peer),
        Figure("read of the perf events", results["read_perf_events"]["cpu_time"], "us"),
        Figure(
            "tick of 8 NVIDIA GPUs, fake driver's time included", results["tick_of_eight_gpus"]["cpu_time"], "us", 1000
        ),
        Figure("sampler thread at 10 Hz, all of it, per tick", sampler["cpu_us_per_tick"], "us", peer=peer),
        Figure("the least here: a thread that only wakes at 10 Hz", bare["wake"], "us"),
        Figure("the same with one bare pread of each of the host's files", bare["wake_and_read"], "us"),
        Figure("read of the host's files at 10 Hz, on the clock", sampler["proc_median_us"], "us", 150, peer=peer),
    ]

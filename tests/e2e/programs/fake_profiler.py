#!/usr/bin/python3 -S
"""Stands in for nsys and ncu: runs the command as they do, and writes reports and tables of their formats.

What it was called with goes to $FAKE_PROFILER_LOG. A report is the JSON of the words before the command.
"""

import json
import os
import subprocess
import sys

KERNELS = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,3000000,3,1000000.0,1000000.0,900000,1100000,1.0,"void gemm<float, 4>(float *, int)"
25.0,1000000,2,500000.0,500000.0,400000,600000,1.0,ncclDevKernel_AllReduce_Sum_f32_RING_LL
"""
COPIES = """Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
100.0,1000000,4,250000.0,250000.0,200000,300000,1.0,[CUDA memcpy Host-to-Device]
"""
RAW = """==PROF== Connected to process 4242 (/usr/bin/python3.11)
"ID","Process ID","Kernel Name","Block Size","gpu__time_duration.sum","dram__bytes.sum"
"","","","","us","Mbyte"
"0","4242","gemm","(128, 1, 1)","1,500.00","3.5"
"1","4242","relu","(128, 1, 1)","500.00","1.5"
"""
TABLES = {"cuda_gpu_kern_sum": KERNELS, "cuda_gpu_mem_time_sum": COPIES}


def run(words: list[str], output: str | None, ending: str) -> int:
    """`words`: options, then the command, which begins at the first that is no option."""
    command = next(i for i, word in enumerate(words) if os.path.isabs(word) and os.access(word, os.X_OK))
    status = subprocess.run(words[command:], check=False).returncode
    if output is not None and "FAKE_PROFILER_NO_REPORT" not in os.environ:
        with open(output + ending, "w", encoding="utf-8") as file:
            json.dump(words[:command], file)
    return status


def nsys(words: list[str]) -> int:
    if words[0] == "profile":
        output = next(word.partition("=")[2] for word in words if word.startswith("--output="))
        return run(words[1:], output, ".nsys-rep")
    assert words[0] == "stats"
    options = dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    name = options["--report"]
    if name not in TABLES or "FAKE_PROFILER_NO_STATS" in os.environ:
        print(f"ERROR: Report '{name}' could not be found.")
        return 1
    print(f"Processing [{words[-1]}] with [{name}.py]...")
    with open(f"{options['--output']}_{name}.csv", "w", encoding="utf-8") as file:
        file.write(TABLES[name])
    return 0


def ncu(words: list[str]) -> int:
    if "--import" in words:
        print(RAW, end="")
        return 0
    output = words[words.index("--export") + 1] if "--export" in words else None
    return run(words, output, ".ncu-rep")


if __name__ == "__main__":
    with open(os.environ["FAKE_PROFILER_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(sys.argv) + "\n")
    sys.exit((nsys if os.path.basename(sys.argv[0]) == "nsys" else ncu)(sys.argv[1:]))

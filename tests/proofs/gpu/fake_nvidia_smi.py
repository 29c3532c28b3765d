#!/usr/bin/env python3
"""A fake nvidia-smi for the smoke: what fake.timeline says, in nvidia-smi's forms."""

import sys
import time

VALUES = {"power.draw": "77.00", "utilization.gpu": "12", "memory.used": "19073", "clocks.sm": "1980"}

if "-L" in sys.argv:
    print("GPU 0: NVIDIA H200 (UUID: GPU-00000000-1111-2222-3333-444444444444)")
elif "-q" in sys.argv:
    print("==============NVSMI LOG==============\nDriver Version : 580.95.05\nAttached GPUs : 1")
else:
    [query] = [one.split("=", 1)[1].split(",") for one in sys.argv if one.startswith("--query-gpu=")]
    while True:
        print(", ".join(VALUES.get(name, "[N/A]") for name in query), flush=True)
        time.sleep(0.1)

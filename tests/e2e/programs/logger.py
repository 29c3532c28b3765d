"""Logs steps 0, 1, 2, ... of the metric `x`; counts the calls that returned in a file that knows nothing of Corral.
At each pause it prints the step, and ends when that file says so.

Arguments: counter file, number of calls, calls between two pauses, pause in seconds.
"""

import mmap
import os
import sys
import time

import corral  # type: ignore[import-not-found, unused-ignore]

path, plan, burst, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
with open(path, "r+b") as file:
    cells = memoryview(mmap.mmap(file.fileno(), 4096)).cast("Q")
RETURNED, DONE, PID, STOP = 0, 1, 2, 3
cells[PID] = os.getpid()
log = corral.log
for step in range(plan):
    log("x", step * 0.5, step=step)
    cells[RETURNED] = step + 1
    if step % burst == burst - 1:
        print(step)
        if cells[STOP]:
            break
        time.sleep(pause)
cells[DONE] = 1

"""An MPS client of step 7: want=MIB of memory, then works; the one of 64 MiB kills itself."""

import argparse
import os
import signal
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--want", type=int, default=64)
want = parser.parse_args().want
if "FAKE_NVML_STATE" not in os.environ:
    status = subprocess.call([sys.executable, "-m", "gpu.load", "h2d", "5", str(want)])
    if status != 0:
        sys.exit(status)
if want == 64:
    os.kill(os.getpid(), signal.SIGKILL)

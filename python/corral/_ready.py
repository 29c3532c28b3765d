"""The moment from which runs that share hardware train together: each waits here until all have loaded.

`CORRAL_READY` names a directory of the workload and how many runs it has, "PATH:COUNT". Each run puts a file of its
own there, as the scheduler does for one that has ended; who finds as many files as runs goes on. Polled: a run that
waits for its neighbours measures nothing yet.
"""

from __future__ import annotations

import os
import time
import warnings

_PAUSE_S = 0.001
_SLOW_PAUSE_S = 0.02
_QUICK_S = 5.0  # after which it looks less often


def wait(run: str, timeout: float) -> float | None:
    """Seconds waited; None if there are no other runs to wait for, or they did not come in time."""
    place, _, count = os.environ.get("CORRAL_READY", "").rpartition(":")
    if not place or not count.isdigit():
        return None
    began = time.monotonic()
    try:
        with open(os.path.join(place, run), "a"):
            pass
        while len(os.listdir(place)) < int(count):
            waited = time.monotonic() - began
            if waited > timeout:
                warnings.warn(f"not all runs of the workload were ready after {timeout:g} s", RuntimeWarning, 3)
                return None
            time.sleep(_PAUSE_S if waited < _QUICK_S else _SLOW_PAUSE_S)
    except OSError as error:  # in a container that does not see it
        warnings.warn(f"the workload's other runs cannot be waited for: {error}", RuntimeWarning, 3)
        return None
    return time.monotonic() - began

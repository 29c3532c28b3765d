"""python -m corral._attached FOLDER PID: the command of a run that corral.init() began (_init.py).

Writes where that process is to log, waits for its end or for corral.finish(), and ends as it did: 0 or 1, or 255 when
nobody can know.
"""

from __future__ import annotations

import os
import select
import shutil
import sys

_UNKNOWN = 255


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _wait(pid: int, finished: int) -> None:
    """Until the process ends, or something can be read from `finished`."""
    poll = select.poll()
    poll.register(finished, select.POLLIN)
    try:
        poll.register(os.pidfd_open(pid), select.POLLIN)
    except ProcessLookupError:
        return
    except OSError:  # a kernel before 5.3
        while _alive(pid) and not poll.poll(200):
            pass
        return
    poll.poll()


def main(folder: str, pid: int) -> int:
    # For writing, too, so that it has no end while nobody else has it open.
    finished = os.open(os.path.join(folder, "ended"), os.O_RDWR | os.O_CLOEXEC)
    names = ("CORRAL_RUN_ID", "CORRAL_SEGMENT_DIR", "CORRAL_SPOOL_LIMIT")
    draft = os.path.join(folder, "draft")
    with open(draft, "w", encoding="utf-8") as file:
        file.writelines(f"{name}={os.environ[name]}\n" for name in names)
    os.rename(draft, os.path.join(folder, "environment"))
    _wait(pid, finished)
    try:
        with open(os.path.join(folder, "status"), encoding="ascii") as file:
            status = int(file.read())
    except (OSError, ValueError):
        status = _UNKNOWN
    shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

"""`corral demo`: two real trainings side by side, shown, and nothing left of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import urllib.request
from pathlib import Path

from support import Corral, until

SECONDS = "4s"


def start(corral: Corral, *options: str, **streams: int) -> tuple[subprocess.Popen[bytes], str]:
    """The demo and the page's address."""
    temporary = corral.home / "tmp"
    temporary.mkdir(exist_ok=True)
    demo = corral.start("demo", "--time", SECONDS, *options, env={"TMPDIR": str(temporary)}, **streams)
    assert demo.stdout is not None
    said = b""
    while b"http" not in said:
        line = demo.stdout.readline()
        assert line, demo.communicate()
        said += line
    address = re.search(rb"http://\S+", said)
    assert address is not None
    return demo, address[0].decode()


def runs_at(address: str) -> dict[str, dict[str, object]]:
    with urllib.request.urlopen(f"{address}/api/corral/v1/runs", timeout=60) as answer:
        return {run["name"]: run for run in json.load(answer)["runs"]}


def end(demo: subprocess.Popen[bytes]) -> str:
    demo.send_signal(signal.SIGINT)
    out, error = demo.communicate(timeout=100)
    assert demo.returncode == 0, error
    return out.decode()


def until_stays(demo: subprocess.Popen[bytes]) -> str:
    assert demo.stdout is not None
    said = ""
    while "until Ctrl-C" not in said:
        line = demo.stdout.readline().decode()
        assert line, demo.communicate()
        said += line
    return said


def test_two_trainings_are_shown_and_nothing_is_left(corral: Corral) -> None:
    demo, address = start(corral)
    until(lambda: len(runs_at(address)) == 2, "both are stored")
    said = until_stays(demo)
    runs = runs_at(address)
    assert set(runs) == {"quick-loader", "slow-loader"}
    assert {run["status"] for run in runs.values()} == {"finished"}
    assert len({run["workload"] for run in runs.values()}) == 1
    slow = next(line for line in said.splitlines() if line.startswith("slow-loader: "))
    quick = next(line for line in said.splitlines() if line.startswith("quick-loader: "))
    assert "data" in slow, said
    assert slow.partition(":")[2] != quick.partition(":")[2]
    end(demo)
    assert not list((corral.home / "tmp").iterdir())
    assert not list(corral.processes())


def test_the_progress_stays_within_the_time(corral: Corral) -> None:
    terminal, theirs = os.openpty()
    shown = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # EIO: the demo has ended
            while some := os.read(terminal, 4096):
                shown.extend(some)

    reader = threading.Thread(target=read)
    reader.start()
    demo, _ = start(corral, stderr=theirs)
    os.close(theirs)
    until_stays(demo)
    end(demo)
    reader.join()
    os.close(terminal)
    seconds = [int(one) for one in re.findall(rb"training: (\d+) s of", shown)]
    assert seconds
    assert max(seconds) <= int(SECONDS.removesuffix("s"))


def test_ctrl_c_ends_the_trainings(corral: Corral) -> None:
    demo, address = start(corral)
    until(lambda: len(runs_at(address)) == 2, "both are stored")
    assert "corral run train.py" in end(demo), "the next step"
    assert not list((corral.home / "tmp").iterdir())
    assert not list(corral.processes())


def test_what_is_kept_can_be_served(corral: Corral) -> None:
    kept = corral.home / "kept"
    demo, _ = start(corral, "--keep", str(kept))
    until_stays(demo)
    assert f"corral serve --store '{kept}/store'" in end(demo)
    assert "corral.epochs" in (kept / "train.py").read_text()
    runs = json.loads(corral("ls", "runs", "--store", kept / "store", "--format", "json").stdout)
    assert {run["name"] for run in runs} == {"quick-loader", "slow-loader"}
    refused = corral("demo", "--keep", kept, status=1)
    assert b"exists; name a new directory" in refused.stderr


def test_without_python_it_says_so(corral: Corral) -> None:
    refused = corral("demo", status=1, env={"CORRAL_PYTHON": "no-such-python"})
    assert b"need Python 3.10" in refused.stderr


def test_no_other_store_is_touched(corral: Corral) -> None:
    other = 'experiment = "digits"\nformat = "json"\nlimit = 1'
    corral.configure(f'store = "{corral.home}/mine"\nspool = "{corral.home}/my-spool"\n{other}')
    demo, _ = start(corral)
    said = until_stays(demo)
    assert re.search(r"quick-loader +demo ", said), said
    assert re.search(r"slow-loader +demo ", said), said
    end(demo)
    for name in ("mine", "my-spool", "store", "spool"):
        assert not Path(corral.home / name).exists(), name

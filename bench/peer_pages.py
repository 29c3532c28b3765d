"""Corral's page and those of MLflow, TensorBoard and Aim on the same runs in the same browser, by turns.

8 runs of 24 metrics of 2,000 points, logged by each tool's own writer. Measured are a page of one run until its first
chart is there, and a page of all runs until every chart in sight is there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from figures import Figure, Peer
from home import Home
from store_peers import PYTHON

import store
import web

HERE = Path(__file__).resolve().parent
# TensorBoard, tensorboardX and Aim; `./dev bench pages` installs them.
OTHERS = HERE.parent / ".cache" / "pages-venv" / "bin"
RUNS, METRICS = 8, 24
PATIENCE_S = 300
PORTS = {"mlflow": 45881, "tensorboard": 45882, "aim": 45883}
NAMES = {"mlflow": "MLflow", "tensorboard": "TensorBoard", "aim": "Aim"}


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@contextmanager
def served(command: list[str | Path], port: int, folder: Path) -> Iterator[str]:
    environment = os.environ | {"HOME": str(folder), "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    url = f"http://127.0.0.1:{port}"
    if answers(url):
        raise RuntimeError(f"another server answers at {url}: end it first")
    with (folder / f"{port}.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not answers(url):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]}: {(folder / f'{port}.log').read_text()[-2000:]}")
                time.sleep(0.2)
            yield url
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(PATIENCE_S)
            with suppress(ProcessLookupError):  # workers that Aim leaves behind
                os.killpg(server.pid, signal.SIGKILL)


def write(kind: str, folder: Path, points: int) -> str:
    sizes = [str(RUNS), str(METRICS), str(points)]
    command: list[str | Path] = [OTHERS / "python", HERE / "peers" / "page_files.py", kind, folder, *sizes]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout.strip()


def start(stack: ExitStack, folder: Path, points: int) -> dict[str, Any]:
    """The address of each peer that is installed, and of Aim the first run."""
    local = ["--host", "127.0.0.1", "--port"]
    found: dict[str, Any] = {}
    port = PORTS["mlflow"]
    mlflow: list[str | Path] = [PYTHON, "-m", "mlflow", "server", *local, str(port), "--workers", "1"]
    mlflow += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", folder / "files"]
    found["mlflow"] = {"url": stack.enter_context(served(mlflow, port, folder))}
    pages: dict[str, list[str | Path]] = {
        "tensorboard": [OTHERS / "tensorboard", "--logdir"],
        "aim": [OTHERS / "aim", "up", "--repo"],
    }
    for kind, command in pages.items():
        place = folder / kind
        place.mkdir()
        if kind == "aim":
            subprocess.run([OTHERS / "aim", "init", "--repo", place], check=True, stdout=subprocess.DEVNULL)
        first = write(kind, place, points)
        url = stack.enter_context(served([*command, place, *local, str(PORTS[kind])], PORTS[kind], folder))
        found[kind] = {"url": url, "first": first}
    return found


def measure(build: Path, points: int, rounds: int) -> dict[str, Any]:
    web.install()
    with Home(build) as home, ExitStack() as stack:
        options = {
            "chromium": os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium",
            "runs": RUNS,
            "metrics": METRICS,
            "points": points,
            "rounds": rounds,
            "pages": {"corral": {"url": home.serve()["url"]}, **start(stack, home.directory, points)},
        }
        command: list[str | Path] = ["node", HERE / "web" / "pages.mjs", json.dumps(options)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def figures(build: Path) -> list[Figure]:
    got = measure(build, 300 if store.quick else 2000, 2 if store.quick else 5)
    words = {
        "run": "a run, until its first chart",
        "board": f"{RUNS} runs, until the charts in sight",
    }
    parts = {"ms": (", median", "ms"), "least": (", least", "ms"), "code": (", JavaScript as sent", "KB")}
    return [
        Figure(what + more, got["corral"][page][part], unit, peer=Peer(name, got[kind][page][part]))
        for page, what in words.items()
        for part, (more, unit) in parts.items()
        for kind, name in NAMES.items()
        if page in got[kind]
    ]

"""From nothing to the first chart: download, disk, CPU and time of Corral and of its peers, each in an empty Debian 12.

    python bench/first_hour.py                  all that can be installed here; takes root and the network
    python bench/first_hour.py corral trackio   these
    python bench/first_hour.py corral-source    builds in its root, as the README says: half an hour

The first chart is there once a page's server, started in the root, answers and has the run of a script that logged 100
values. Download is what pip (or apt and npm) fetched, disk what the root grew by, CPU that of all processes from the
installation to the chart. W&B and radT have no page of their own without a server elsewhere; radT's is MLflow's.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 120
PORT = 45871
INCLUDED = "python3,python3-venv,ca-certificates,procps"
PIP = "python3 -m venv /v && /v/bin/pip install --disable-pip-version-check --no-cache-dir"
FETCHED = re.compile(r"Downloading \S+ \(([\d.]+) (kB|MB|GB)\)")
LOOP = "for step in range(100): {log}"
OF_CORRAL = "import corral\n" + LOOP.format(log="corral.log('loss', 1 / (1 + step), step=step)")


@dataclass(frozen=True)
class Tool:
    """Commands in the root: what installs it, what records a run, and what serves the page at PORT."""

    install: str
    script: str = ""
    record: str = "/v/bin/python /train.py"
    serve: str = ""  # empty: it has no page of its own
    path: str = "/"  # a page that is there once the run is


TOOLS = {
    "corral": Tool(
        install=f"{PIP} --no-index /dist/corral*.whl",
        script=OF_CORRAL,
        record="/v/bin/corral run --quiet /train.py && /v/bin/corral serve --stop",
        serve=f"/v/bin/corral serve --listen 127.0.0.1:{PORT}",
        path="/api/corral/v1/runs/@1/metrics",
    ),
    "trackio": Tool(
        install=f"{PIP} trackio",
        script="import trackio\ntrackio.init(project='first')\n"
        + LOOP.format(log="trackio.log({'loss': 1 / (1 + step)})")
        + "\ntrackio.finish()",
        serve=f"env GRADIO_SERVER_PORT={PORT} /v/bin/trackio show --project first",
    ),
    "mlflow": Tool(
        install=f"{PIP} mlflow",
        script="import mlflow\nmlflow.set_tracking_uri('sqlite:////m.db')\nmlflow.start_run()\n"
        + LOOP.format(log="mlflow.log_metric('loss', 1 / (1 + step), step=step)"),
        serve=f"/v/bin/mlflow server --backend-store-uri sqlite:////m.db --port {PORT}",
    ),
    "aim": Tool(
        install=f"{PIP} aim",
        script="import aim\nrun = aim.Run(repo='/aim')\n"
        + LOOP.format(log="run.track(1 / (1 + step), name='loss', step=step)")
        + "\nrun.close()",
        record="mkdir /aim && /v/bin/aim init --repo /aim && /v/bin/python /train.py",
        serve=f"/v/bin/aim up --repo /aim --port {PORT}",
    ),
    "wandb": Tool(
        install=f"{PIP} wandb",
        script="import wandb\nrun = wandb.init(project='first', mode='offline')\n"
        + LOOP.format(log="run.log({'loss': 1 / (1 + step)})")
        + "\nrun.finish()",
    ),
    "radt": Tool(install=f"{PIP} radt"),
    "corral-source": Tool(
        install="apt-get update -qq && apt-get install -y -qq git && git clone -q /checkout /corral && cd /corral && "
        "./dev run --version",
        script=OF_CORRAL,
        record="export PATH=/corral/build/release:$PATH && corral run --quiet /train.py && corral serve --stop",
        serve=f"/corral/build/release/corral serve --listen 127.0.0.1:{PORT}",
        path="/api/corral/v1/runs/@1/metrics",
    ),
}


@dataclass(frozen=True)
class Result:
    download: float  # MB
    disk: float  # MB
    cpu: float  # s
    installed: float  # s
    chart: float | None  # s since the beginning; None: no page


def chroot(root: Path, script: str) -> list[str]:
    mounts = "".join(f"mount --rbind /{name} {root}/{name} && " for name in ("dev", "sys", "proc"))
    environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
    inner = f'{mounts}exec chroot {root} /bin/sh -ec "$1"'
    return ["unshare", "--mount", "--propagation", "private", *environment, "sh", "-c", inner, "sh", script]


def make_root(folder: Path, dist: Path) -> Path:
    root = folder / "root"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={INCLUDED}", "bookworm", root], check=True
    )
    for name in ("etc/pip.conf", "etc/npmrc", "etc/hosts", "etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", name).is_file():
            shutil.copy(Path("/", name), root / name)
    if dist.is_dir():
        shutil.copytree(dist, root / "dist")
    return root


def bytes_in(*folders: Path) -> int:
    words = ["du", "-sb", *map(str, (folder for folder in folders if folder.exists()))]
    rows = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
    return sum(int(row.split()[0]) for row in rows)


def downloaded(root: Path, said: str) -> float:
    """Bytes that pip says it fetched, here and in the logs of ./dev, and those that apt and npm keep."""
    logs = [path.read_text(errors="replace") for path in root.glob("corral/build/logs/*.log")]
    units = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
    by_pip = sum(float(size) * units[unit] for text in (said, *logs) for size, unit in FETCHED.findall(text))
    return by_pip + bytes_in(root / "var/cache/apt/archives", root / "root/.npm")


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def answers(path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=5) as reply:
            return bool(reply.status == 200 and reply.read())
    except OSError:
        return False


def first_chart(root: Path, tool: Tool, began: float) -> float:
    server = subprocess.Popen(
        chroot(root, f"exec {tool.serve}"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not answers(tool.path):
            if server.poll() is not None or time.monotonic() - began > 3600:
                raise RuntimeError(f"its server ended with {server.poll()}: {tool.serve}")
            time.sleep(0.05)
        return time.monotonic() - began
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(PATIENCE_S)


def measure(tool: Tool, dist: Path) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        root = make_root(Path(folder), dist)
        if "/checkout" in tool.install:
            subprocess.run(["git", "clone", "-q", "--bare", ROOT, root / "checkout"], check=True)
        (root / "train.py").write_text(tool.script)
        before, cpu, began = bytes_in(root), children_cpu(), time.monotonic()
        said = subprocess.run(chroot(root, tool.install), check=True, stdout=subprocess.PIPE, text=True).stdout
        installed = time.monotonic() - began
        fetched = downloaded(root, said)
        if "/dist/" in tool.install:
            fetched = sum(path.stat().st_size for path in dist.glob("corral*.whl"))
        disk = bytes_in(root) - before - bytes_in(root / "var/cache/apt/archives", root / "root/.npm")
        if tool.script:
            subprocess.run(chroot(root, tool.record), check=True, capture_output=True, text=True)
        chart = first_chart(root, tool, began) if tool.serve else None
        return Result(fetched / 1e6, disk / 1e6, children_cpu() - cpu, installed, chart)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"of {', '.join(TOOLS)}; default: all but the last")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="packages of ./dev package (default: dist)")
    options = parser.parse_args()
    unknown = [name for name in options.tools if name not in TOOLS]
    if unknown:
        parser.error(f"unknown tool '{unknown[0]}'; there are: {', '.join(TOOLS)}")
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        sys.exit("first_hour: needs root and mmdebstrap, for empty systems")
    print("| tool | download, MB | disk, MB | CPU, s | installed, s | first chart, s |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in options.tools or list(TOOLS)[:-1]:
        try:
            r = measure(TOOLS[name], options.dist)
        except (subprocess.CalledProcessError, RuntimeError) as error:
            why = getattr(error, "stderr", None) or str(error)
            print(f"| {name} | failed: {' '.join(why.split())[-200:]} | | | | |", flush=True)
            continue
        chart = "-" if r.chart is None else f"{r.chart:.1f}"
        print(f"| {name} | {r.download:.1f} | {r.disk:.0f} | {r.cpu:.1f} | {r.installed:.1f} | {chart} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Size of the page's JavaScript; time to its first chart in Chromium without a cache, beside a bare navigation."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from figures import Figure, Peer, percentile
from home import Home

ROOT = Path(__file__).resolve().parent.parent
LOADS = 15
PROGRAM = """
import time, corral
for step in range(3000):
    corral.log({"loss": 1 / (step + 1), "accuracy": step / 3000}, step=step)
    time.sleep(0.001)
"""


def script_kib() -> tuple[float, float]:
    """JavaScript that the first load asks for, compressed and not."""
    dist = ROOT / "web" / "dist"
    files = re.findall(r'(?:src|href)="/([^"]+\.js)"', (dist / "index.html").read_text())
    raw = [(dist / file).read_bytes() for file in files]
    return sum(len(gzip.compress(data, 9)) for data in raw) / 1024, sum(map(len, raw)) / 1024


def loads_ms(url: str, run: str) -> dict[str, list[float]]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    command: list[str | Path] = ["node", ROOT / "bench" / "first_chart.mjs", url, run, str(LOADS), chromium]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: dict[str, list[float]] = json.loads(done.stdout)
    return result


def figures(build: Path) -> list[Figure]:
    compressed, raw = script_kib()
    with Home(build) as home:
        (home.directory / "train.py").write_text(PROGRAM)
        record = home.serve()
        home.corral("run", "--quiet", "train.py")
        time.sleep(1)
        run = json.loads(home.corral("ls", "runs", "--format", "json"))[0]["id"]
        times = loads_ms(record["url"], run)
    bare = Peer("GET /health in the same browser", percentile(times["bare"], 0.5))
    return [
        Figure("JavaScript at first load, gzip", compressed, "KB", 200, peer=Peer("the same, not compressed", raw)),
        Figure("first chart, median", percentile(times["chart"], 0.5), "ms", peer=bare),
        Figure("first chart, p90", percentile(times["chart"], 0.9), "ms", peer=bare),
        Figure("list of runs, median", percentile(times["runs"], 0.5), "ms", peer=bare),
    ]

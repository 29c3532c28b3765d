"""Measures the page in Chromium (bench/web/): its load, 24 charts drawn, zoomed, pointed at, kept, fed; 10,000 runs.

uPlot and ECharts draw the same reduced series in the same browser; their packages are installed into bench/web/.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import Figure, Peer
from home import Home

import store

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench" / "web"
LONG_SERIES = "power.0"  # its name in corral_bench_store


@dataclass(frozen=True)
class Size:
    long_points: float  # points of the one series that 24 charts show
    runs: int
    points: int  # points of each of the 24 x 8 series
    rounds: int
    loads: int
    live_s: int


FULL = Size(1e8, 10_000, 20_000, 9, 7, 20)
QUICK = Size(1e6, 300, 3_000, 3, 2, 5)


def install() -> None:
    """The peers, when they are not there or not those of the lock file."""
    lock = HERE / "package-lock.json"
    stamp = HERE / "node_modules" / ".stamp"
    if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True)
    shutil.copy(lock, stamp)


def bundle(out: Path) -> Path:
    """Corral's own drawing code and both peers as one script."""
    vite = ROOT / "web" / "node_modules" / ".bin" / "vite"
    command = [vite, "build", "--config", HERE / "vite.config.mjs", "--outDir", out, "--logLevel", "error"]
    subprocess.run(command, check=True)
    return out / "redraw.js"


def measure(build: Path, size: Size) -> dict[str, Any]:
    install()
    with Home(build) as home:
        redraw = bundle(home.directory / "redraw")
        store.ask(build, "chart", store=home.store, points=size.long_points, charts=1, cold_charts=0)
        url = home.serve()["url"]
        options = {
            "url": url,
            "chromium": os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium",
            "redraw": str(redraw),
            "big": json.loads(home.corral("ls", "runs", "--format", "json"))[0]["id"],
            "metric": LONG_SERIES,
            "runs": size.runs,
            "points": size.points,
            "rounds": size.rounds,
            "loads": size.loads,
            "live_s": size.live_s,
        }
        command: list[str | Path] = ["node", HERE / "measure.mjs", json.dumps(options)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def loaded(got: dict[str, Any]) -> list[Figure]:
    scripts = got["scripts"]
    bare = Peer("GET /health in the same browser", got["bare"]["median"])
    return [
        Figure("JavaScript until the first chart, gzip", scripts["gzip"], "KB", 200, peer=Peer("raw", scripts["raw"])),
        Figure("first chart of a run, median", got["first_chart"]["median"], "ms", 700, peer=bare),
        Figure("  least", got["first_chart"]["min"], "ms", 700),
        Figure("board of 24 charts x 8 series from nothing, median", got["board"]["median"], "ms", peer=bare),
    ]


def redrawn(got: dict[str, Any]) -> list[Figure]:
    figures = []
    for part, what in (("pixels", "redraw of 24 x 8 series with pixels"), ("script", "  of it, script")):
        for statistic in ("median", "min"):
            value = {name: got[f"{name}_{part}"][statistic] for name in ("own", "uplot", "echarts")}
            goal = 100 if part == "pixels" else None
            words = f"{what}, {'least' if statistic == 'min' else statistic}"
            figures.append(Figure(words, value["own"], "ms", goal, peer=Peer("uPlot", value["uplot"])))
            figures.append(Figure("  the same", value["own"], "ms", peer=Peer("ECharts", value["echarts"])))
    return figures


def zoomed(got: dict[str, Any], what: str) -> list[Figure]:
    parts = {"until_asked": "until the question is sent", "request": "answer", "after": "from answer to picture"}
    return [
        Figure(f"{what}, all in sight, median", got["sight"]["median"], "ms", 150),
        Figure("  least", got["sight"]["min"], "ms", 150),
        Figure("  all charts, median", got["all"]["median"], "ms"),
        *(Figure(f"  {words}, median", got[name]["median"], "ms") for name, words in parts.items()),
    ]


def pointed(got: dict[str, Any]) -> list[Figure]:
    own, uplot, echarts = (got[name]["task"] for name in ("own", "uplot", "echarts"))
    what = "crosshair over 24 charts, main thread a frame"
    return [
        Figure(f"{what}, median", own["median"], "ms", 8, peer=Peer("uPlot, synchronised", uplot["median"])),
        Figure("  least", own["min"], "ms", 8, peer=Peer("ECharts, connected", echarts["min"])),
        Figure("  of it, script, median", got["own"]["script"]["median"], "ms"),
    ]


def kept(got: dict[str, Any], points: float) -> list[Figure]:
    nothing = Peer("an empty page", got["nothing"]["all"])
    big = f"heap, 24 charts of {points:.0e} points"
    return [
        Figure(f"{big}, with buffers", got["big"]["fresh"]["all"], "MB", 80, peer=nothing),
        Figure("  after five zooms", got["big"]["zoomed"]["all"], "MB", 80),
        *zoomed(got["big"]["zooms"], "  their zoom"),
        Figure("heap, 24 charts x 8 series, with buffers", got["board"]["fresh"]["all"], "MB", 80),
        Figure("  after five zooms", got["board"]["zoomed"]["all"], "MB", 80),
    ]


def listed(got: dict[str, Any], runs: int) -> list[Figure]:
    own = got["filter"]["asked"]
    return [
        Figure(f"list of {runs:,} runs, first rows, median", got["rows"]["median"], "ms", 300),
        Figure("  least", got["rows"]["min"], "ms", 300),
        Figure("  until the question is sent, median", got["until_asked"]["median"], "ms"),
        Figure("  answer, median", got["request"]["median"], "ms"),
        Figure("  filter, from the last key, median", got["filter"]["all"]["median"], "ms", 120),
        Figure("    least", got["filter"]["all"]["min"], "ms", 120),
        Figure("    from the question, median", own["median"], "ms"),
    ]


def fed(got: dict[str, Any]) -> list[Figure]:
    return [
        Figure("live board of 24 charts at 10 Hz, renderer", 100 * got["renderer"], "% of a core", 15),
        Figure("  all of the browser", 100 * got["browser"], "% of a core"),
        Figure("  pictures", got["pictures_per_s"], "/s"),
        Figure("  received by a board of six charts", got["bytes_per_s"] / 1024, "KiB/s", 20),
    ]


def figures(build: Path) -> list[Figure]:
    size = QUICK if store.quick else FULL
    got = measure(build, size)
    return [
        *loaded(got["loads"]),
        *redrawn(got["redraw"]),
        *zoomed(got["zoom"], "zoom of 24 charts x 8 series"),
        *pointed(got["crosshair"]),
        *kept(got["heap"], size.long_points),
        *listed(got["table"], size.runs),
        *fed(got["live"]),
    ]

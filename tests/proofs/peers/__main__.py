"""Compares `corral explain` with peers on the same data: TensorBoard on data waits, Zeus and CodeCarbon on energy.

    ./dev proof peers            both; installs PyTorch and the peers
    ./dev proof peers data       the share of data waits in traces of PyTorch's profiler
    ./dev proof peers energy     joules of counters that a tree like /sys/class/powercap shows; takes root
    ./dev proof peers --smoke    a stored trace, with the share that TensorBoard found in it

Passed: Corral's share differs by at most half a point from TensorBoard's, and its joules by 0.2 % from the counters'
own. The peers' joules are shown and not judged.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _build
from explain import FRAMEWORKS_ENVIRONMENT, Bench, opened, waited
from peers import powercap

PROGRAMS = Path(__file__).resolve().parent / "programs"
PLANTED = ((0.0, 0), (0.25, 0), (0.5, 0), (0.5, 1))  # share of a step, workers
MOST_POINTS = 0.5
METERS = ("zeus", "codecarbon")
MOST_DIFFERENCE = 0.002
# 20 steps of programs/data_wait.py without most operators, and the share that torch-tb-profiler 0.4.3 finds in its copy
# (as_operators).
STORED = _build.ROOT / "tests" / "fixtures" / "traces" / "torch-2.15-data-wait.json.gz"
STORED_SHARE = 0.4395


def call(bench: Bench, *words: str | Path) -> bytes:
    done = subprocess.run(words, env=bench.environment, cwd=bench.folder, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} exited with {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout


def explained(bench: Bench, run: str, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(bench, bench.corral, "explain", run, "--format", "json", *options))
    return found


# ---- data waits
def as_operators(trace: Path) -> Path:
    """A copy in which fetches of batches are operators, as PyTorch wrote them when the plugin was made.

    Today's are annotations, which it does not count.
    """
    found = json.loads(trace.read_text(encoding="utf-8"))
    for event in found["traceEvents"]:
        if event.get("name", "").startswith("enumerate(DataLoader)#"):
            event["cat"] = "cpu_op"
    copy = trace.with_name("operators.json")
    copy.write_text(json.dumps(found), encoding="utf-8")
    return copy


def data_row(bench: Bench, torch: Path, peers: Path, planted: float, workers: int) -> float:
    """Prints what each says of one training; returns by how many points Corral and TensorBoard differ on its trace."""
    name = f"waits-{planted:.0%}-{workers}"
    folder = bench.folder / name
    program = (torch, PROGRAMS / "data_wait.py", str(planted), str(workers), folder)
    call(bench, bench.corral, "run", "--quiet", "--name", name, "--", *program)
    (trace,) = folder.glob("*.pt.trace.json")
    call(bench, bench.corral, "import", trace, "--name", f"{name}-trace")
    live, imported = (100 * waited(explained(bench, run)) for run in (name, f"{name}-trace"))
    as_it_is, as_before = (
        json.loads(call(bench, peers, PROGRAMS / "tensorboard.py", file)) for file in (trace, as_operators(trace))
    )
    shares = [100 * found["shares"]["DataLoader"] for found in (as_it_is, as_before)]
    print(
        f"{planted:6.0%} {workers:8} {live:8.1f} % {imported:8.1f} % {shares[0]:13.1f} % {shares[1]:16.1f} %"
        f"   {as_before['said'][0].split(' You ')[0] if as_before['said'] else 'nothing'}",
        flush=True,
    )
    return float(abs(imported - shares[1]))


def data(bench: Bench) -> list[str] | None:
    """Returns a text for each value that differs; None if it could not run."""
    torch, peers = _build.python_or_why_not("frameworks"), _build.python_or_why_not("peers")
    if torch is None or peers is None:
        return None
    bench.environment |= FRAMEWORKS_ENVIRONMENT
    print("                  Corral               TensorBoard, on the trace")
    print("planted  workers  running   imported   as it is      with operators   and says", flush=True)
    points = [data_row(bench, torch, peers, planted, workers) for planted, workers in PLANTED]
    return [f"data waits by {most:.1f} points" for most in points if most > MOST_POINTS]


def smoke(bench: Bench) -> int:
    call(bench, bench.corral, "import", STORED, "--name", "stored")
    share = waited(explained(bench, "stored"))
    print(f"a stored trace: {share:.2%} data wait by Corral, {STORED_SHARE:.2%} by TensorBoard")
    return 0 if abs(share - STORED_SHARE) * 100 <= MOST_POINTS else 1


# ---- energy
@contextlib.contextmanager
def moved(folder: Path) -> Iterator[int]:
    """The tree's counters move; when they started, in ns."""
    mover = subprocess.Popen([sys.executable, powercap.__file__, folder], stdout=subprocess.PIPE, text=True)
    assert mover.stdout is not None
    try:
        yield int(mover.stdout.readline())
    finally:
        mover.kill()
        mover.wait()


def measured(bench: Bench, python: Path, meter: str) -> list[str]:
    """Prints a row for each component; what Corral has differently from the counters."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        folder = Path(name)
        classes = powercap.make(folder)
        shown = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /sys/class && exec "$@"', str(classes)]
        program = (python, PROGRAMS / "energy.py", meter, folder / "found.json")
        with moved(folder) as started:
            call(bench, *shown, bench.corral, "run", "--quiet", "--name", meter, "--", *program)
        found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    run_began = int(explained(bench, meter)["from_ns"])
    window = [f"{(found[edge] - run_began) / 1e3:.3f}us" for edge in ("from", "to")]
    parts = explained(bench, meter, "--from", window[0], "--to", window[1])["footprint"]["parts"]
    wrong = []
    for component, zone in (("cpu", powercap.PACKAGE), ("dram", powercap.DRAM)):
        began, ended = ((found[edge] - started) / 1e9 for edge in ("from", "to"))
        counter = zone.joules(ended) - zone.joules(began)
        corral = sum(part["joules"] for part in parts if part["component"] == component)
        ours, theirs = corral / counter - 1, found[component] / counter - 1
        wrong += [f"{component} beside {meter}"] if abs(ours) > MOST_DIFFERENCE else []
        print(
            f"{meter:11} {ended - began:7.3f} s {component:9} {counter:9.1f} J {corral:9.1f} J {ours:+8.3%}"
            f" {found[component]:9.1f} J {theirs:+8.3%}",
            flush=True,
        )
    return wrong


def energy(bench: Bench) -> list[str] | None:
    """Returns a text for each value that differs; None if it could not run."""
    if os.geteuid() != 0 or Path("/sys/bus/event_source/devices/power").exists():
        print("energy needs root, and a machine without RAPL of its own in perf")
        return None
    python = _build.python_or_why_not("peers")
    if python is None:
        return None
    bench.environment["PYTHONPATH"] = str(_build.BUILD / "python")
    print("beside        window  component   counter      Corral                the peer", flush=True)
    return [one for meter in METERS for one in measured(bench, python, meter)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("data", "energy"))
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    with opened("peers-") as bench:
        if chosen.smoke:
            return smoke(bench)
        compared = {"data": data, "energy": energy}
        found = {name: compare(bench) for name, compare in compared.items() if chosen.part in (None, name)}
    ran = {name: differs for name, differs in found.items() if differs is not None}
    if not ran:
        return _build.SKIPPED
    differs = [one for all_of_it in ran.values() for one in all_of_it]
    skipped = [name for name in found if name not in ran]
    print(
        f"{' and '.join(ran)}: Corral says the same"
        + (f", but {', '.join(differs)} differ" if differs else "")
        + (f"; skipped: {', '.join(skipped)}" if skipped else "")
    )
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())

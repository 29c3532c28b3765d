"""Proves that `corral explain` names the bottlenecks of programs that have one on purpose, and no others.

    ./dev proof explain                    runs each program of examples/bottlenecks 20 times
    ./dev proof explain -n 3 lock quota    these, 3 times
    ./dev proof explain --beside-load      beside a program that uses a quarter of a CPU
    ./dev proof explain --held-out         those of held_out/ instead, whose author has not seen the analysis
    ./dev proof explain --frameworks       those of frameworks_slow/: Lightning, Hugging Face and Keras, ill and cured
    ./dev proof explain --sweep            reported shares of data waits beside planted ones of 0 to 40 %
    ./dev proof explain --smoke            one of them, once

What a program needs (a CPU quota, a memory limit, a slow disk) is a control group, so it takes root. A program whose
need cannot be met is skipped, which is not passed. A verdict is right, unknown (it names no resource), or wrong.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _build

PROGRAMS = _build.ROOT / "examples" / "bottlenecks"
HELD_OUT = _build.ROOT / "tests" / "proofs" / "held_out"
FRAMEWORKS = _build.ROOT / "tests" / "proofs" / "frameworks_slow"
# No device, no download, and no threads that share the CPUs with the loaders.
FRAMEWORKS_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
PLANTED = range(0, 41, 5)  # percent of a step
GROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
MEMORY_LIMIT = 256 * MIB
RIGHT, UNKNOWN, WRONG = "right", "unknown", "wrong"
SECONDS = 20
SMOKE_SECONDS = 8
LEAST_RIGHT = 0.85  # share of each program's runs
POOLED_RIGHT = 0.95
QUARTER_OF_A_CPU = """
import time
while True:
    end = time.thread_time() + 0.025
    while time.thread_time() < end:
        pass
    time.sleep(0.075)
"""


class NotPossibleError(Exception):
    """Why this machine cannot give a program what it needs."""


@dataclass(frozen=True)
class Program:
    path: Path
    part: str
    resources: tuple[str, ...]  # all of them are true
    needs: str
    slow_rank: int | None
    cured: bool = False

    @property
    def name(self) -> str:
        return f"{self.path.stem}_cured" if self.cured else self.path.stem

    def judge(self, explanation: dict[str, Any]) -> str:
        found, slow = explanation["bottleneck"], explanation["slow_rank"]
        if slow is not None and slow["rank"] != self.slow_rank:
            return WRONG
        if found is None or (slow is None and self.slow_rank is not None):
            return UNKNOWN
        if found["part"] == self.part and found["resource"] in self.resources:
            return RIGHT
        return UNKNOWN if found["resource"] == "unknown" else WRONG


@dataclass
class Results:
    verdicts: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    skipped: str = ""


def programs(folder: Path, names: list[str]) -> list[Program]:
    found = []
    for path in sorted(folder.glob("*.py")):
        constants = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if node.targets[0].id in ("EXPECTED", "CURED", "NEEDS", "SLOW_RANK")
        }
        needs, slow_rank = constants.get("NEEDS", ""), constants.get("SLOW_RANK")
        for key in {"EXPECTED", "CURED"} & constants.keys():
            part, *resources = constants[key]
            found.append(Program(path, part, tuple(resources), needs, slow_rank, cured=key == "CURED"))
    if missing := set(names) - {program.name for program in found}:
        sys.exit(f"no such program: {', '.join(sorted(missing))}")
    return sorted((one for one in found if not names or one.name in names), key=lambda one: one.name)


# ---- what they need
def legacy(controller: str) -> bool:
    return (GROUPS / controller / "cgroup.procs").exists()


@contextlib.contextmanager
def group(controller: str, settings: dict[str, str]) -> Iterator[Path]:
    """A control group with these settings; of its own hierarchy where they are of version 1."""
    parent = GROUPS / controller if legacy(controller) else GROUPS
    folder = parent / f"corral-proof-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NotPossibleError(f"no control group can be made: {error}") from error
    try:
        for name, value in settings.items():
            try:
                (folder / name).write_text(value)
            except OSError as error:
                raise NotPossibleError(f"{folder / name}: {error}") from error
        yield folder
    finally:
        deadline = time.monotonic() + 10
        while folder.exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)


@contextlib.contextmanager
def burners() -> Iterator[None]:
    """One for each CPU, each in a session of its own, which the scheduler may give a share of its own."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command, start_new_session=True) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@contextlib.contextmanager
def gpu(beside: bool) -> Iterator[None]:
    """With another program that keeps it busy, if wanted."""
    import torch

    if not torch.cuda.is_available():
        raise NotPossibleError("PyTorch finds no GPU")
    if not beside:
        yield
        return
    command: list[str | Path] = [sys.executable, PROGRAMS / "gpu_cores.py", "--seconds", "3600"]
    other = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        other.kill()
        other.wait()


def device_of(folder: Path) -> str:
    """major:minor of the disk below it, not of its partition."""
    number = os.stat(folder).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    block = Path("/sys/dev/block") / name
    if not block.exists():
        raise NotPossibleError(f"{folder} is not on a disk")
    return (block.resolve().parent / "dev").read_text().strip() if (block / "partition").exists() else name


@contextlib.contextmanager
def given(needs: str, folder: Path) -> Iterator[list[Path]]:
    """The control groups in which the program must run."""
    if needs == "":
        yield []
    elif needs == "burners":
        with burners():
            yield []
    elif needs in ("GPU", "busy GPU"):
        with gpu(beside=needs == "busy GPU"):
            yield []
    elif needs == "CPU quota":
        old = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}
        with group("cpu", old if legacy("cpu") else {"cpu.max": "50000 100000"}) as made:
            yield [made]
    elif needs in ("memory limit", "swap"):
        if needs == "swap" and len(Path("/proc/swaps").read_text().splitlines()) < 2:
            raise NotPossibleError("the machine has no swap")
        if (alone := torch_memory()) > MEMORY_LIMIT - 64 * MIB:
            raise NotPossibleError(f"PyTorch alone takes {alone / MIB:.0f} of {MEMORY_LIMIT // MIB} MiB")
        name = "memory.limit_in_bytes" if legacy("memory") else "memory.max"
        with group("memory", {name: str(MEMORY_LIMIT)}) as made:
            yield [made]
    elif needs == "slow disk":
        rate = f"{device_of(folder)} "
        old = {"blkio.throttle.read_bps_device": rate + str(16 * MIB)}
        with group("blkio", old if legacy("blkio") else {"io.max": f"{rate}rbps={16 * MIB}"}) as made:
            yield [made]
    else:
        raise AssertionError(needs)


def torch_memory() -> int:
    """Bytes that no file backs, of a process that has only loaded PyTorch."""
    code = "import torch; print(open('/proc/self/status').read())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[1]) << 10 for line in told.splitlines() if line.startswith("RssAnon"))


class Bench:
    """A store of its own below build/, on a disk, with a server that no program's control group holds."""

    def __init__(self, folder: Path, beside_load: bool, verbose: bool) -> None:
        self.folder, self.beside_load, self.verbose = folder, beside_load, verbose
        self.corral = _build.corral()
        self.python: str | Path = sys.executable
        self.environment = {
            **os.environ,
            "CORRAL_STORE": str(folder / "store"),
            "CORRAL_SPOOL": str(folder / "spool"),
            "CORRAL_LOCKS": str(folder / "locks"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command: list[str | Path] = [self.corral, "serve", "--listen", "127.0.0.1:0"]
        nowhere = subprocess.DEVNULL
        self.server = subprocess.Popen(command, env=self.environment, stdout=nowhere, stderr=nowhere)

    def close(self) -> None:
        self.server.terminate()
        self.server.wait()

    def explain(self, program: Program, seconds: int, *options: str) -> dict[str, Any]:
        with given(program.needs, self.folder) as groups:

            def enter() -> None:
                for one in groups:
                    (one / "cgroup.procs").write_text(str(os.getpid()))

            words = [self.python, program.path, "--seconds", str(seconds), *options]
            words += ["--cure"] if program.cured else []
            with self.load():
                done = subprocess.run(
                    [self.corral, "run", "--quiet", "--name", program.name, "--", *words],
                    env=self.environment,
                    cwd=self.folder,
                    preexec_fn=enter,
                    capture_output=True,
                    text=True,
                    check=False,
                )
        if done.returncode != 0:
            raise RuntimeError(f"{program.name} exited with {done.returncode}: {done.stderr[-2000:]}")
        told = subprocess.run(
            [self.corral, "explain", program.name, "--format", "json"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(told.stdout)
        if self.verbose:
            shown = ("summary", "bottleneck", "slow_rank", "steady")
            print(json.dumps({key: found[key] for key in shown}, indent=1))
        return found

    @contextlib.contextmanager
    def load(self) -> Iterator[None]:
        if not self.beside_load:
            yield
            return
        other = subprocess.Popen([sys.executable, "-c", QUARTER_OF_A_CPU], start_new_session=True)
        try:
            yield
        finally:
            other.kill()
            other.wait()


def prove(bench: Bench, program: Program, times: int, seconds: int) -> Results:
    results = Results()
    for _ in range(times):
        try:
            explanation = bench.explain(program, seconds)
        except NotPossibleError as error:
            results.skipped = str(error)
            return results
        found, slow = explanation["bottleneck"], explanation["slow_rank"]
        said = "nothing" if found is None else f"{found['part']}: {found['resource']}"
        said += "" if slow is None else f", rank {slow['rank']} late"
        results.verdicts[program.judge(explanation)] += 1
        results.said[said] += 1
    return results


def waited(explanation: dict[str, Any]) -> float:
    """The share of data waits in the time from the first step to the last one."""
    trained = [part for part in explanation["parts"] if part["part"] not in ("start-up", "shutdown")]
    waits = sum(part["seconds"] for part in trained if part["name"] == "data wait")
    return float(waits / sum(part["seconds"] for part in trained))


def sweep(bench: Bench, seconds: int) -> None:
    program = Program(HELD_OUT / "sweep.py", "", (), "", None)
    print("planted  reported  verdict", flush=True)
    largest = 0.0
    for planted in PLANTED:
        explanation = bench.explain(program, seconds, "--share", str(planted / 100))
        found = explanation["bottleneck"]
        verdict = "nothing" if found is None else found["part"]
        reported = 100 * waited(explanation)
        largest = max(largest, abs(reported - planted))
        print(f"{planted:5} %  {reported:6.1f} %  {verdict}", flush=True)
    print(f"{len(PLANTED)} planted shares; the reported ones differ by at most {largest:.1f} points")


def show(program: Program, results: Results) -> None:
    expected = f"{program.part}: {program.resources[0]}"
    if results.skipped:
        print(f"{program.name:28} {expected:24} skipped: {results.skipped}", flush=True)
        return
    counts = ", ".join(f"{results.verdicts[verdict]} {verdict}" for verdict in (RIGHT, UNKNOWN, WRONG))
    said = ", ".join(f"{count}x {what}" for what, count in results.said.most_common())
    print(f"{program.name:28} {expected:24} {counts:28} said {said}", flush=True)


def has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        print("needs PyTorch")
        return False
    return True


@contextlib.contextmanager
def opened(prefix: str, beside_load: bool = False, verbose: bool = False) -> Iterator[Bench]:
    """A bench in a folder of its own, with a server while it is open."""
    build = _build.ROOT / "build" / "proofs"
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix=prefix, ignore_cleanup_errors=True) as folder:
        bench = Bench(Path(folder), beside_load, verbose)
        try:
            yield bench
        finally:
            bench.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("-n", type=int, default=20, help="runs of each (default: 20)")
    parser.add_argument("--beside-load", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--held-out", action="store_true")
    which.add_argument("--frameworks", action="store_true")
    which.add_argument("--sweep", action="store_true")
    which.add_argument("--smoke", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print what explain said of each run")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.programs, chosen.n = ["tiny_steps"], 1
    python = _build.python_or_why_not("frameworks") if chosen.frameworks else sys.executable
    if python is None or not (chosen.frameworks or has_torch()):
        return _build.SKIPPED
    folder = FRAMEWORKS if chosen.frameworks else HELD_OUT if chosen.held_out else PROGRAMS
    all_results = {}
    with opened("explain-", chosen.beside_load, chosen.verbose) as bench:
        if chosen.frameworks:
            bench.python = python
            bench.environment |= FRAMEWORKS_ENVIRONMENT
        if chosen.sweep:
            sweep(bench, SECONDS)
            return 0
        for program in programs(folder, chosen.programs):
            all_results[program.name] = prove(bench, program, chosen.n, SMOKE_SECONDS if chosen.smoke else SECONDS)
            show(program, all_results[program.name])
    return conclude(all_results, chosen.smoke)


def conclude(all_results: dict[str, Results], smoke: bool) -> int:
    ran = {name: results for name, results in all_results.items() if not results.skipped}
    total = sum((results.verdicts for results in ran.values()), Counter())
    runs = total.total()
    if runs == 0:
        print("every program was skipped")
        return _build.SKIPPED
    weak = [name for name, results in ran.items() if results.verdicts[RIGHT] < LEAST_RIGHT * results.verdicts.total()]
    passed = not weak and total[RIGHT] >= POOLED_RIGHT * runs and total[WRONG] <= 1
    if smoke:  # beside other tests, which may have its CPU
        said = {what for results in ran.values() for what in results.said}
        passed = said <= {"work: one thread", "work: other programs", "work: steal", "work: unknown", "work: collector"}
    skipped = len(all_results) - len(ran)
    print(
        f"{total[RIGHT]} of {runs} right, {total[UNKNOWN]} unknown, {total[WRONG]} wrong; {len(ran)} programs, "
        f"{skipped} skipped" + (f"; too often not right: {', '.join(weak)}" if weak else "")
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

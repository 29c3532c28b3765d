"""All tests, stage by stage: `./dev test [STAGE | FILTER]`; what one runs while working: `./dev test --quick`.

Every stage prints its seconds and each failed test with its message; the names of all that failed are repeated at the
end, before the last line, which is `N passed, N failed` (and `, N skipped`). A skipped test says why. The exit status
is 0 only when nothing failed. Stages build what they need. When all stages run, two do so at a time, each in a process
of its own, because many tests wait rather than compute.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import tidy

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv" / "bin"
JOBS = max(2, os.cpu_count() or 2)
TAIL_LINES = 60  # shown of one failed test or command
NAMES = 40  # failed tests in the list at the end
SLOWEST = 30  # tests in the list that `./dev test` ends with
RUNNING: set[int] = set()  # process groups of commands; Ctrl-C ends them
RUNNING_STAGES: set[int] = set()  # processes that run a stage, and end their own commands
ENDING = threading.Event()  # after Ctrl-C nothing is started
FUZZ_LOOK_S = 60  # for all targets together
LIMIT_S = 3600  # for one command; the longest is the build with sanitizers from nothing, beside another stage
STAGES_AT_ONCE = 2
# Results of checks by the content that they looked at; every checkout of this user shares them, as with ccache.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corral-dev"


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    details: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # names of failed tests
    seconds: list[tuple[float, str]] = field(default_factory=list)  # seconds and names of tests

    def fail(self, name: str, message: str) -> None:
        self.names.append(name)
        self.details.append(f"{name}:\n{message}")

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.details += other.details
        self.names += other.names
        self.seconds += other.seconds


@dataclass
class Options:
    filter: str = ""
    fuzz_seconds: int = 0  # for each target; 0: a short look from the same seed every time
    quick: bool = False
    whole: bool = False  # all stages run
    again: bool = False  # reads what a cache says to have passed


def run(command: list[str | Path], cwd: Path = ROOT, **environment: str) -> tuple[int, str]:
    """Its exit status and output. One that hangs is ended with all its group; a process that it left behind is not
    waited for (the output goes to a file, not to a pipe)."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        late = ""
        RUNNING.add(process.pid)
        if ENDING.is_set():
            os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            late = f"\nended after {LIMIT_S} s"
        finally:
            RUNNING.discard(process.pid)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace") + late


def tail(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-TAIL_LINES:])


def head(text: str) -> str:
    lines = text.rstrip().splitlines()
    cut = [f"({len(lines) - TAIL_LINES} more lines)"] if len(lines) > TAIL_LINES else []
    return "\n".join(lines[:TAIL_LINES] + cut)


def failure(name: str, output: str) -> Outcome:
    outcome = Outcome(failed=1)
    outcome.fail(name, tail(output))
    return outcome


def check(name: str, command: list[str | Path], cwd: Path = ROOT, **environment: str) -> Outcome:
    """One check that either holds or does not."""
    status, output = run(command, cwd, **environment)
    return Outcome(passed=1) if status == 0 else failure(name, output)


def together(checks: list[Callable[[], Outcome]]) -> Outcome:
    total = Outcome()
    with ThreadPoolExecutor(JOBS) as pool:
        for outcome in pool.map(lambda call: call(), checks):
            total.add(outcome)
    return total


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps the other stages out of this build folder."""
    folder.parent.mkdir(exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(preset: str, *targets: str) -> Outcome:
    """Nothing when it builds, one failure when it does not."""
    folder = ROOT / "build" / preset
    with alone(folder):
        cache = folder / "CMakeCache.txt"
        # `./dev demo` configures without tests.
        if not (folder / "build.ninja").exists() or "CORRAL_TESTS:BOOL=OFF" in cache.read_text():
            status, output = run(["cmake", "--preset", preset, "-DCORRAL_TESTS=ON"])
            if status != 0:
                return failure(f"configure {preset}", output)
        status, output = run(["cmake", "--build", "--preset", preset, "--target", *(targets or ("all",))])
    if status == 0:
        return Outcome()
    first = max(0, output.find("FAILED:"))  # else the end, which says why, is lost among what others print
    lines = output[first:].splitlines()
    return failure(f"build {preset}", "\n".join(lines[:TAIL_LINES] if first else lines))


def tracked(*patterns: str) -> list[str]:
    _, output = run(["git", "ls-files", "-co", "--exclude-standard", *patterns])
    return [line for line in output.splitlines() if (ROOT / line).exists()]


# ---- stages


# Each proof is a module of its own name there, whose main file has the name of every other's.
# The frameworks' scripts and the held-out ones are written as users write: for packages of another environment.
PROOFS_IMPORT = f"{ROOT}/tests/proofs:{ROOT}/python/tests:{ROOT}/tests/e2e"
PROOFS_TYPED = [
    "--strict",
    "--explicit-package-bases",
    "--exclude",
    "frameworks/scripts/|frameworks_slow/|held_out/|peers/programs/",
    "--cache-dir",
    str(ROOT / ".cache/mypy-proofs"),
]


def lint(options: Options) -> Outcome:
    sources = tracked("src/*.cpp", "src/*.h", "bench/*.cpp", "fuzz/*.cpp", "python/native/*.cpp", "python/native/*.h")
    python = ["python", "tools", "tests", "bench", "examples"]
    config = ["--config", "python/pyproject.toml"]
    total = together(
        [
            lambda: check("clang-format (./dev format fixes it)", ["clang-format", "--dry-run", "-Werror", *sources]),
            lambda: check("layers", [sys.executable, "tools/check_layers.py"]),
            lambda: check("prose", [sys.executable, "tools/prose.py"]),
            lambda: check("tests of the tools", [VENV / "pytest", "-q", "-p", "no:cacheprovider", "tools"]),
            lambda: check("ruff", [VENV / "ruff", "check", "--quiet", *config, *python]),
            lambda: check("ruff format", [VENV / "ruff", "format", "--check", "--quiet", *config, *python]),
            lambda: check("mypy of the package", [VENV / "mypy", "--config-file", "pyproject.toml"], ROOT / "python"),
            lambda: check("mypy of the tools", [VENV / "mypy", "--strict", "tools", "tests/e2e"]),
            lambda: check(
                "mypy of the proofs",
                ["env", f"MYPYPATH={PROOFS_IMPORT}", VENV / "mypy", *PROOFS_TYPED, "."],
                ROOT / "tests/proofs",
            ),
            lambda: check(
                "mypy of MLflow's tests", [VENV / "mypy", "--config-file", "pyproject.toml"], ROOT / "tests/mlflow"
            ),
            lambda: check("page: biome", ["npm", "--prefix", "web", "run", "--silent", "lint"]),
            lambda: check("page: tsc", ["npm", "--prefix", "web", "run", "--silent", "check"]),
        ]
    )
    if not options.quick:
        total.add(clang_tidy(options))
    return total


RELEASE = [
    "corral_cgroup_ground_truth_test",
    "corral_codec_test",
    "corral_collocate_journal_test",
    "corral_collocate_test",
    "corral_run_record_test",
    "corral_run_set_up_test",
    "corral_run_supervise_test",
    "corral_run_test",
    "corral_sampler_quiet_test",
    "corral_spool_test",
    "corral_store_faults_test",
    "corral_sys_test",
    "corral_tree_ground_truth_test",
    "corral_upload_test",
]


def is_test(path: Path) -> bool:
    return path.parent.name == "fake" or any(part in path.stem for part in ("test", "conformance", "trainee", "fake"))


def clang_tidy(options: Options) -> Outcome:
    """Every source that is no test, with the commands of a build that compiles each alone. A source that passed in any
    checkout is not read again until it, a header of the project, the flags or the checks change (unless --all).
    """
    status, output = run(["cmake", "--preset", "dev", "-DCORRAL_TESTS=OFF", "-B", "build/lint"])
    if status != 0:
        return failure("configure lint", output)
    commands = json.loads((ROOT / "build/lint/compile_commands.json").read_text())
    wanted = {str(ROOT / path) for path in tracked("src/*.cpp") if not is_test(Path(path))}
    folder = ROOT / "build/lint/tidy"
    folder.mkdir(exist_ok=True)
    passed = CACHE / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    checks = (ROOT / ".clang-tidy").read_text() + run(["clang-tidy", "--version"])[1]

    def read(file: Path, flags: tuple[str, ...], sources: list[Path]) -> Outcome:
        name = f"clang-tidy {file.relative_to(ROOT)}"
        # The search for exceptions that escape takes over ten minutes through Asio's TLS.
        slow = any('"http/session.h"' in source.read_text() for source in sources)
        less = ["--checks=-bugprone-exception-escape"] if slow else []
        return check(name, ["clang-tidy", "--quiet", *less, file, "--", *flags])

    def one(number: int, batch: tidy.Batch) -> Outcome:
        source = folder / f"{number}.cpp"
        stamp = passed / batch.content_hash(checks)
        if stamp.exists() and not options.again:
            return Outcome(passed=len(batch.files))
        source.write_text(batch.text())
        total = Outcome()
        if len(batch.files) > 1 and not read(source, batch.flags, batch.files).failed:
            total.passed = len(batch.files)
        else:
            for file in batch.files:
                total.add(read(file, batch.flags, [file]))
        if not total.failed:
            stamp.touch()
        return total

    # One entry of a source is enough: a few are part of two targets.
    found = tidy.batches(list({entry["file"]: entry for entry in commands if entry["file"] in wanted}.values()))
    return together([partial(one, number, batch) for number, batch in enumerate(found)])


GTEST = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) *\] (\d+) tests?", re.MULTILINE)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] ([^\s,]+).* \(\d+ ms\)$")


def gtest_failures(output: str) -> list[tuple[str, str]]:
    """Each failed test with what was written while it ran: brief output is silent about those that pass."""
    found = []
    lines: list[str] = []
    for line in output.splitlines():
        failed = GTEST_FAILED.match(line)
        if failed:
            found.append((failed[1], tail("\n".join(lines))))
        if line.startswith("["):
            lines = []
        else:
            lines.append(line)
    return found


def gtest(binary: Path, options: Options) -> Outcome:
    command: list[str | Path] = [binary, "--gtest_brief=1"]
    if options.filter:
        command.append(f"--gtest_filter=*{options.filter}*")
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        status, output = run([*command, f"--gtest_output=json:{report.name}"], binary.parent)
        told = Path(report.name).read_text()
    counts = {kind: int(number) for kind, number in GTEST.findall(output)}
    outcome = Outcome(counts.get("PASSED", 0), counts.get("FAILED", 0), counts.get("SKIPPED", 0))
    for suite in json.loads(told)["testsuites"] if told else []:
        for one in suite["testsuite"]:
            outcome.seconds.append((float(one["time"].rstrip("s")), f"{binary.name} {suite['name']}.{one['name']}"))
    if status != 0:
        failures = gtest_failures(output)
        outcome.failed = max(outcome.failed, len(failures), 1)
        for name, message in failures:
            outcome.fail(f"{binary.name} {name}", message)
        if status != 1 or not failures:
            outcome.fail(f"{binary.name} (exit status {status})", tail(output))
    elif outcome.skipped:
        reasons = [line for line in output.splitlines() if "kipped" in line and not line.startswith("[")]
        outcome.details.append(f"{binary.name} skipped: {'; '.join(reasons) or 'see --gtest_brief=0'}")
    return outcome


def unit_of(preset: str, options: Options, *targets: str) -> Outcome:
    """Those of these targets, else of all."""
    outcome = build(preset, *(targets or ("corral_unit_tests",)))
    if outcome.failed:
        return outcome
    found = sorted(path for path in (ROOT / "build" / preset / "src").rglob("corral_*_test") if path.is_file())
    return together([partial(gtest, one, options) for one in found if not targets or one.name in targets])


def unit(options: Options) -> Outcome:
    """In the build that users have. When all stages run, only what the sanitizers' build does not prove as well: kills,
    durability, what is vectorised or measured."""
    return unit_of("release", options, *(RELEASE if options.whole else ()))


def asan(options: Options) -> Outcome:
    return unit_of("asan", options)


def tsan(options: Options) -> Outcome:
    """The folders whose threads share most: no third build of all."""
    targets = ("http", "run", "run_record", "run_supervise", "spool", "upload")
    return unit_of("tsan", options, *(f"corral_{name}_test" for name in targets))


PYTEST = re.compile(r"(\d+) (passed|failed|error|errors|skipped)")
PYTEST_SECONDS = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S+::.*)$", re.MULTILINE)
PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::.*?|\S+)(?: - .*)?$", re.MULTILINE)


def pytest(paths: list[str], options: Options, cwd: Path, workers: int) -> Outcome:
    command: list[str | Path] = [VENV / "pytest", "-q", "-rsfE", "--no-header", "-p", "no:cacheprovider"]
    command += ["--timeout=480", f"--durations={SLOWEST}", *paths]
    if workers > 1:
        command += ["-n", str(workers)]
    if options.filter:
        command += ["-k", options.filter]
    status, output = run(command, cwd, PYTHONDONTWRITEBYTECODE="1")
    counts = {kind: int(number) for number, kind in PYTEST.findall((output.rstrip().splitlines() or [""])[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    outcome = Outcome(counts.get("passed", 0), failed, counts.get("skipped", 0))
    nothing_selected = 5
    if status not in (0, nothing_selected):
        outcome.failed = max(failed, 1)
        outcome.details.append(tail(output))
        outcome.names += PYTEST_FAILED.findall(output) or [f"pytest {' '.join(paths)} (exit status {status})"]
    outcome.details += [line for line in output.splitlines() if line.startswith("SKIPPED")]
    outcome.seconds += [(float(seconds), name) for seconds, name in PYTEST_SECONDS.findall(output)]
    return outcome


def python(options: Options) -> Outcome:
    outcome = build("release", "corral_python")
    if not outcome.failed:
        outcome = pytest(["tests"], options, ROOT / "python", 1)
        if not options.filter:
            outcome.add(
                check(
                    "abi3audit",
                    [
                        VENV / "abi3audit",
                        "--strict",
                        "--assume-minimum-abi3",
                        "3.10",
                        "build/release/python/corral/_native.abi3.so",
                    ],
                )
            )
    return outcome


def vitest_failures(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Each failed test, and each file that failed before its tests, with what they said."""
    found = []
    for file in report["testResults"]:
        where = str(Path(file["name"]).relative_to(ROOT))
        failed = [one for one in file["assertionResults"] if one["status"] == "failed"]
        for one in failed:
            found.append((f"{where}: {one['fullName']}", head("\n".join(one["failureMessages"]))))
        if file["status"] == "failed" and not failed:
            found.append((where, head(file.get("message", ""))))
    return found


def page(options: Options) -> Outcome:
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [
            "npm",
            "--prefix",
            "web",
            "run",
            "--silent",
            "test",
            "--",
            "--reporter=json",
            f"--outputFile={report.name}",
        ]
        status, output = run([*command, "-t", options.filter] if options.filter else [*command])
        try:
            counts = json.loads(Path(report.name).read_text())
        except json.JSONDecodeError:
            return failure(f"vitest (exit status {status})", output)
    outcome = Outcome(counts["numPassedTests"], counts["numFailedTests"])
    if status != 0:
        failures = vitest_failures(counts) or [(f"vitest (exit status {status})", tail(output))]
        outcome.failed = max(outcome.failed, len(failures))
        for name, message in failures:
            outcome.fail(name, message)
    if not options.filter:
        outcome.add(check("page size", ["npm", "--prefix", "web", "run", "--silent", "size"]))
    return outcome


def e2e(options: Options) -> Outcome:
    fakes = ("corral_fake_gpu", "corral_fake_mps_control", "corral_fake_nvml")
    outcome = build("release", "corral", "corral_python", *fakes)
    return outcome if outcome.failed else pytest(["tests/e2e"], options, ROOT, 2)


def mlflow(options: Options) -> Outcome:
    """MLflow's own clients, in environments that `./dev setup` makes, and the answers that its server gave."""
    outcome = build("release", "corral", "corral_python")
    return outcome if outcome.failed else pytest(["tests/mlflow"], options, ROOT, 2)


def compat(options: Options) -> Outcome:
    """A build without MLflow and radT (CMake's CORRAL_COMPAT=OFF) records, serves and shows."""
    folder = ROOT / "build" / "no-compat"
    status, output = run(["cmake", "--preset", "release", "-B", folder, "-DCORRAL_COMPAT=OFF", "-DCORRAL_TESTS=OFF"])
    if status != 0:
        return failure("configure without compat", output)
    status, output = run(["cmake", "--build", folder, "--target", "corral", "corral_python"])
    if status != 0:
        return failure("build without compat", output)
    command: list[str | Path] = [VENV / "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    command.append("tests/e2e/test_no_compat.py")
    return check("without compat", command, CORRAL_BUILD=str(folder))


NODE_COUNT = re.compile(r"^# (pass|fail|cancelled|skipped) (\d+)$", re.MULTILINE)
NODE_FAILED = re.compile(r"^(?P<indent> *)not ok \d+ - (?P<name>.*)\n(?P<why>(?:(?P=indent) .*\n|\n)*)", re.MULTILINE)
NODE_SECONDS = re.compile(r"^ *ok \d+ - (.*)\n *---\n *duration_ms: ([\d.]+)", re.MULTILINE)
NODE_SAID = re.compile(r"^# (?:Error|Warning): .*$", re.MULTILINE)  # a rejection that no test awaited
NODE_FILE = re.compile(r"^ *location: '.*?([^/]+):\d+:\d+'$", re.MULTILINE)


def node_failures(output: str) -> list[tuple[str, str]]:
    """Each failed test of a TAP report with its diagnostics; not those that failed only by a test inside them."""
    found = []
    for failed in NODE_FAILED.finditer(output):
        if "failureType: 'subtestsFailed'" in failed["why"]:
            continue
        file = NODE_FILE.search(failed["why"])
        found.append((f"{file[1]}: {failed['name']}" if file else failed["name"], head(failed["why"])))
    return found


def browser(options: Options) -> Outcome:
    outcome = build("release", "corral", "corral_python", "corral_fake_nvml")
    if outcome.failed:
        return outcome
    command: list[str | Path] = ["node", "--test", "--test-reporter=tap"]
    if options.filter:
        command.append(f"--test-name-pattern={options.filter}")
    status, output = run([*command, *sorted((ROOT / "tests/browser").glob("*.test.mjs"))])
    counts = {kind: int(number) for kind, number in NODE_COUNT.findall(output)}
    failed = counts.get("fail", 0) + counts.get("cancelled", 0)
    outcome = Outcome(counts.get("pass", 0), failed, counts.get("skipped", 0))
    outcome.seconds += [(float(ms) / 1000, f"browser {name}") for name, ms in NODE_SECONDS.findall(output)]
    if status != 0:
        failures = node_failures(output) or [(f"node --test (exit status {status})", tail(output))]
        outcome.failed = max(failed, len(failures))
        for name, message in failures:
            outcome.fail(f"browser {name}", message)
        outcome.details += NODE_SAID.findall(output)
    return outcome


def fuzz(options: Options) -> Outcome:
    outcome = build("asan", "corral_fuzz_targets")
    if outcome.failed:
        return outcome
    targets = sorted(
        path for path in (ROOT / "build/asan/fuzz").glob("fuzz_*") if path.is_file() and os.access(path, os.X_OK)
    )

    def one(target: Path) -> Outcome:
        found = ROOT / "build" / "asan" / "findings"
        found.mkdir(parents=True, exist_ok=True)
        corpus = ROOT / "fuzz" / "corpus" / target.name
        with tempfile.TemporaryDirectory() as grown:
            seeds: list[str | Path] = [corpus] if corpus.is_dir() else []
            command: list[str | Path] = [
                target,
                f"-max_total_time={options.fuzz_seconds or max(1, FUZZ_LOOK_S * JOBS // len(targets))}",
                f"-seed={0 if options.fuzz_seconds else 1}",  # 0: another every time
                "-timeout=20",
                "-rss_limit_mb=2048",
                "-print_final_stats=0",
                f"-artifact_prefix={found}/{target.name}-",
            ]
            return check(target.name, [*command, grown, *seeds])

    return together([partial(one, target) for target in targets])


# In the order in which all run: long ones first, those that compute between those that wait.
STAGES: dict[str, Callable[[Options], Outcome]] = {
    "e2e": e2e,
    "asan": asan,
    "browser": browser,
    "lint": lint,
    "mlflow": mlflow,
    "tsan": tsan,
    "unit": unit,
    "compat": compat,
    "fuzz": fuzz,
    "python": python,
    "page": page,
}
WITH_FILTER = ["unit", "python", "page", "e2e", "mlflow", "browser"]
QUICK = ["unit", "python", "page", "lint"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="", help=f"a stage ({', '.join(STAGES)}) or part of a test's name")
    parser.add_argument("filter", nargs="?", default="", help="with a stage: part of a test's name")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}, without clang-tidy")
    parser.add_argument("--all", action="store_true", help="lint reads every source, also those that passed before")
    parser.add_argument("--fuzz-seconds", type=int, default=0, help="for each target")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)  # a stage writes its outcome there
    arguments = parser.parse_args()
    options = Options(fuzz_seconds=arguments.fuzz_seconds, quick=arguments.quick, again=arguments.all)
    chosen = list(STAGES)
    if arguments.what in STAGES:
        options.filter, chosen = arguments.filter, [arguments.what]
    elif arguments.filter:
        parser.error(f"'{arguments.what}' is no stage; there are: {', '.join(STAGES)}")
    elif arguments.quick:
        options.filter, chosen = arguments.what, QUICK
    elif arguments.what:
        options.filter = arguments.what
        # Their environments take minutes to make: `./dev test mlflow FILTER` does it.
        chosen = [name for name in WITH_FILTER if name != "mlflow" or (ROOT / ".venv-mlflow3").is_dir()]
    else:
        options.whole = True
    if arguments.report:
        options.whole = True
        arguments.report.write_text(json.dumps(dataclasses.asdict(stage(arguments.what, options))))
        return 0
    began = time.monotonic()
    build_page()
    total = all_stages(options) if options.whole else Outcome()
    for name in [] if options.whole else chosen:
        total.add(stage(name, options))
    conclude(total, options, time.monotonic() - began)
    return 1 if total.failed or (total.passed == 0) else 0


def stage(name: str, options: Options) -> Outcome:
    """Runs it and prints what it found."""
    start, cpu = time.monotonic(), cpu_seconds()
    outcome = STAGES[name](options)
    for detail in outcome.details:
        print(detail, flush=True)
    skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
    cost = f"{time.monotonic() - start:.0f} s, {cpu_seconds() - cpu:.0f} s of CPU"
    print(f"{name}: {outcome.passed} passed, {outcome.failed} failed{skipped}, {cost}", flush=True)
    return outcome


def all_stages(options: Options) -> Outcome:
    """Each stage in a process of its own, the longest first."""
    words = [f"--fuzz-seconds={options.fuzz_seconds}", *(["--all"] if options.again else [])]

    def one(name: str) -> Outcome:
        with tempfile.NamedTemporaryFile(suffix=".json") as report, tempfile.TemporaryFile() as output:
            if ENDING.is_set():
                return Outcome()
            process = subprocess.Popen(
                [sys.executable, __file__, name, *words, "--report", report.name],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            RUNNING_STAGES.add(process.pid)
            status = process.wait()  # its commands have a limit each
            RUNNING_STAGES.discard(process.pid)
            output.seek(0)
            said, told = output.read().decode(errors="replace"), Path(report.name).read_text()
        print(said, end="", flush=True)
        return Outcome(**json.loads(told)) if status == 0 and told else failure(f"stage {name}", said)

    total = Outcome()
    with ThreadPoolExecutor(STAGES_AT_ONCE) as pool:
        for outcome in pool.map(one, STAGES):
            total.add(outcome)
    return total


def conclude(total: Outcome, options: Options, seconds: float) -> None:
    if options.whole:
        print("slowest:")
        for duration, name in sorted(total.seconds, reverse=True)[:SLOWEST]:
            print(f"  {duration:.1f} s  {name}")
    if total.names:
        print("failed:")
    for name in total.names[:NAMES]:
        print(f"  {name}")
    if len(total.names) > NAMES:
        print(f"  and {len(total.names) - NAMES} more")
    print(f"in {seconds:.0f} s")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")


def cpu_seconds() -> float:
    """Used by all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build_page() -> None:
    """The page goes into the binary, so it comes first."""
    status, output = run([ROOT / "dev", "page"])
    if status != 0:
        print(tail(output))


def interrupted(number: int, frame: object) -> None:
    """Ends all that runs: commands at once; stages end their own."""
    del frame
    ENDING.set()
    for group in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for stage_process in list(RUNNING_STAGES):
        with contextlib.suppress(ProcessLookupError):
            os.kill(stage_process, signal.SIGTERM)
    deadline = time.monotonic() + 10
    while RUNNING_STAGES and time.monotonic() < deadline:
        time.sleep(0.05)
    os._exit(128 + number)


if __name__ == "__main__":
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, interrupted)
    sys.exit(main())

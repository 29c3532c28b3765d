"""The command runs even if resources for Corral are missing: any command that plain `sh` can start under a limit,
`corral run` can, and its exit status comes back. As an ordinary user, because limits of processes are none for root.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support import BINARY, PATIENCE, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as an ordinary user")

NOT_RECORDED = b"corral run: not recorded: "
# A shell that starts a process, and one that needs nothing beside itself.
FORKS = ["sh", "-c", "echo out; (exit 3); echo $?; exit 7"]
ALONE = ["sh", "-c", "echo out; exit 7"]
KIB = 1024
INFINITE = resource.RLIM_INFINITY

Setup = Callable[[], None]


@dataclass
class Person:
    """An ordinary user with a home, of whom nothing else runs."""

    uid: int
    home: Path
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}

    def start(self, words: list[str], setup: Setup | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            env=self.environment,
            cwd="/",
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=setup,
        )

    def call(self, words: list[str], setup: Setup | None = None) -> subprocess.CompletedProcess[bytes]:
        process = self.start(words, setup)
        try:
            out, error = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, error)

    def plain(self, command: list[str], setup: Setup | None = None) -> subprocess.CompletedProcess[bytes]:
        return self.call(["sh", "-c", 'exec "$@"', "sh", *command], setup)

    def run(self, command: list[str], setup: Setup | None = None, *options: str) -> subprocess.CompletedProcess[bytes]:
        return self.call([str(BINARY), "run", "--quiet", "--no-listeners", *options, "--", *command], setup)

    def as_plain(self, command: list[str], setup: Setup, limit: object) -> bytes:
        """Starts it both ways; what `corral run` wrote to standard error, empty where a shell could not start it."""
        plain = self.plain(command, setup)
        done = self.run(command, setup)
        if plain.returncode != 7:
            return b""
        assert (done.returncode, done.stdout) == (7, plain.stdout), (limit, done)
        assert done.stderr.count(NOT_RECORDED) <= 1, (limit, done.stderr)
        return done.stderr

    def end(self) -> None:
        """All of theirs, a server above all, is ended."""

        def gone() -> bool:
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    if entry.stat().st_uid == self.uid:
                        os.kill(int(entry.name), signal.SIGKILL)
                        return False
                except (FileNotFoundError, ProcessLookupError):
                    continue
            return True

        until(gone, "the user's processes are gone")
        shutil.rmtree(f"/var/tmp/corral-{self.uid}", ignore_errors=True)
        shutil.rmtree(f"/tmp/corral-{self.uid}", ignore_errors=True)


@pytest.fixture
def person() -> Iterator[Person]:
    folder = Path(tempfile.mkdtemp(prefix="corral-person-"))
    folder.chmod(0o755)
    person = Person(200_000 + os.getpid() % 100_000, folder / "home")
    person.home.mkdir()
    os.chown(person.home, person.uid, person.uid)
    try:
        if person.call(["test", "-x", str(BINARY)]).returncode != 0:
            pytest.skip("another user cannot reach the build")
        yield person
    finally:
        person.end()
        shutil.rmtree(folder)


def limited(kind: int, value: int) -> Setup:
    return lambda: resource.setrlimit(kind, (value, value))


def each(person: Person, command: list[str], kind: int, values: list[int]) -> dict[int, bytes]:
    return {value: person.as_plain(command, limited(kind, value), value) for value in values}


def test_any_limit_of_processes(person: Person) -> None:
    said = each(person, FORKS, resource.RLIMIT_NPROC, [*range(1, 65), 90, 120, 127, 128, 129, 130])
    assert all(NOT_RECORDED in said[limit] and b"ulimit -u" in said[limit] for limit in range(3, 65))


def test_a_command_that_needs_every_process_gets_them(person: Person) -> None:
    many = "for i in 1 2 3 4 5 6 7 8; do sleep 0.3 & done; wait; exit 7"
    for limit in (9, 10, 12, 40):
        person.as_plain(["sh", "-c", many], limited(resource.RLIMIT_NPROC, limit), limit)


def test_any_limit_of_open_files(person: Person) -> None:
    each(person, ALONE, resource.RLIMIT_NOFILE, [*range(1, 70), 100, 256])


def test_a_static_program_needs_no_file_at_all(person: Person) -> None:
    command = ["/sbin/ldconfig", "--version"]
    for limit in range(1, 8):
        limited_shell = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"]
        plain = person.call([*limited_shell, *command])
        done = person.call([*limited_shell, str(BINARY), "run", *command])
        assert plain.returncode == 0
        assert (done.returncode, done.stdout) == (0, plain.stdout), (limit, done)
        assert NOT_RECORDED in done.stderr


def test_any_limit_of_memory(person: Person) -> None:
    kib = [*range(2000, 20_000, 2000), *range(20_000, 200_000, 20_000), *range(200_000, 1_100_000, 75_000)]
    each(person, FORKS, resource.RLIMIT_AS, [KIB * limit for limit in kib])
    each(person, FORKS, resource.RLIMIT_DATA, [KIB * limit for limit in [*kib[::4], 1_500_000]])


def test_any_limit_of_the_stack_of_locks_and_of_files(person: Person) -> None:
    for kind, kib in (
        (resource.RLIMIT_STACK, [64, 100, 200, 400, 512, 600, 1024, 2048, 8192, 100_000]),
        (resource.RLIMIT_MEMLOCK, [0, 1, 64, 8192]),
        (resource.RLIMIT_FSIZE, [0, 1, 1024, 100_000_000]),
        (resource.RLIMIT_SIGPENDING, [0]),
        (resource.RLIMIT_MSGQUEUE, [0]),
        (resource.RLIMIT_CORE, [0]),
    ):
        each(person, FORKS, kind, [KIB * limit for limit in kib])
    person.as_plain(ALONE, lambda: resource.setrlimit(resource.RLIMIT_STACK, (INFINITE, INFINITE)), "no limit")


def test_what_is_printed_may_be_more_than_a_file_may_hold(person: Person) -> None:
    command = ["sh", "-c", "head -c 100000 /dev/zero; exit 7"]
    said = person.as_plain(command, limited(resource.RLIMIT_FSIZE, 4096), "ulimit -f")
    assert NOT_RECORDED in said
    assert b"ulimit -f" in said


def test_several_limits_at_once(person: Person) -> None:
    def tight() -> None:
        for kind, value in ((resource.RLIMIT_NPROC, 3), (resource.RLIMIT_NOFILE, 16), (resource.RLIMIT_MEMLOCK, 0)):
            resource.setrlimit(kind, (value, value))

    assert NOT_RECORDED in person.as_plain(FORKS, tight, "several")


def test_without_a_home(person: Person) -> None:
    del person.environment["HOME"]
    assert NOT_RECORDED in person.as_plain(FORKS, lambda: None, "no HOME")
    assert person.run(FORKS, None, "--max-time", "50s").returncode == 7
    for home in ("/nonexistent", "relative"):
        person.environment["HOME"] = home
        person.as_plain(FORKS, lambda: None, home)


MOUNTS = """
for place in /tmp /var/tmp; do mount -t tmpfs -o ro none $place || exit 99; done
%s || exit 98
exec setpriv --reuid $0 --regid $0 --clear-groups env -i PATH=/usr/bin:/bin HOME=/tmp TMPDIR=/tmp "$@"
"""


SHARED_MEMORY = {
    "read-only": "mount -t tmpfs -o ro none /dev/shm",
    "missing": "mkdir -p /run/d && mount -t tmpfs none /run/d && touch /run/d/null"
    " && mount --bind /dev/null /run/d/null && mount --move /run/d /dev && [ ! -e /dev/shm ]",
}


@pytest.mark.skipif(BINARY.parts[1] in ("tmp", "var"), reason="the build lies where something is mounted over it")
@pytest.mark.parametrize("shm", SHARED_MEMORY)
def test_without_any_place_to_write_to(person: Person, shm: str) -> None:
    mounts = MOUNTS % SHARED_MEMORY[shm]
    command = ["unshare", "--mount", "sh", "-c", mounts, str(person.uid), str(BINARY), "run", "--quiet", *FORKS]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (7, b"out\n3\n"), done
    assert done.stderr.count(NOT_RECORDED) == 1


def test_a_full_disk_fails_no_print(person: Person) -> None:
    mounts = f"mount -t tmpfs -o size=1m,mode=700,uid={person.uid},gid={person.uid} none {person.home} || exit 99;"
    as_person = f"exec setpriv --reuid {person.uid} --regid {person.uid} --clear-groups env -i PATH=/usr/bin:/bin"
    begin = f'{mounts} {as_person} HOME={person.home} "$@"'
    command = ["unshare", "--mount", "sh", "-c", begin, "sh", str(BINARY), "run", "--quiet", "--no-listeners"]
    chatty = "seq 500000 || exit 3; exit 7"
    done = subprocess.run([*command, "sh", "-c", chatty], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 7, done.stderr
    assert done.stdout.count(b"\n") == 500_000
    assert done.stderr.count(NOT_RECORDED) == 1


class Filter(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint))


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter)))


CALLS = {  # io_uring_setup, perf_event_open, inotify_init, inotify_init1; signalfd4
    "x86_64": {"rings": [425, 298, 253, 294], "signals": [289]},
    "aarch64": {"rings": [425, 241, 26], "signals": [74]},
}


def forbidding(numbers: list[int], error: int) -> Setup:
    """Those system calls fail with this error, of the process and all that come from it."""
    load = [Filter(0x20, 0, 0, 0)]
    tests = [Filter(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    ends = [Filter(0x06, 0, 0, 0x7FFF0000), Filter(0x06, 0, 0, 0x00050000 | error)]
    filters = (Filter * (len(numbers) + 3))(*load, *tests, *ends)
    program = Program(len(filters), filters)
    libc = ctypes.CDLL(None, use_errno=True)

    def apply() -> None:
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0  # PR_SET_SECCOMP

    return apply


@pytest.mark.skipif(platform.machine() not in CALLS, reason="system calls have other numbers here")
@pytest.mark.parametrize("calls", ["rings", "signals"])
def test_system_calls_that_are_forbidden(person: Person, calls: str) -> None:
    for error in (1, 38) if calls == "rings" else (1,):  # EPERM, ENOSYS
        person.as_plain(FORKS, forbidding(CALLS[platform.machine()][calls], error), (calls, error))


def test_a_signal_a_script_and_what_is_not_there_end_as_in_a_shell(person: Person) -> None:
    few = limited(resource.RLIMIT_NPROC, 20)
    killed = person.run(["sh", "-c", "kill -TERM $$"], few)
    assert killed.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert person.run(["/nonexistent"], few).returncode == 127
    assert person.run(["/etc/passwd"], few).returncode == 126
    script = person.home / "train.py"
    script.write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    done = person.run([str(script), "--lr", "1"], few)
    assert (done.returncode, done.stdout) == (7, b"['--lr', '1']\n"), done
    without_first_line = person.home / "plain"
    without_first_line.write_text("exit 7")
    without_first_line.chmod(0o755)
    for setup in (few, None):
        assert person.run([str(without_first_line)], setup).returncode == 7
    misuse = person.call([str(BINARY), "run", "--no-such-option", "true"], few)
    assert misuse.returncode == 2, misuse


ENTRY = {  # ignored when it is started
    "an orphan's status": [signal.SIGCHLD],
    "a shell's job in the background": [signal.SIGINT, signal.SIGQUIT],
    "nohup": [signal.SIGHUP],
    "all": [signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGQUIT, signal.SIGTERM],
}


@pytest.mark.parametrize("entry", ENTRY)
@pytest.mark.parametrize("recorded", [True, False])
def test_signals_that_are_ignored_stay_so_and_lose_no_status(person: Person, entry: str, recorded: bool) -> None:
    def ignoring() -> None:
        for number in ENTRY[entry]:
            signal.signal(number, signal.SIG_IGN)
        if not recorded:
            resource.setrlimit(resource.RLIMIT_NPROC, (20, 20))

    command = ["sh", "-c", "grep -E 'SigIgn|SigBlk' /proc/self/status; (exit 3); echo $?; exit 7"]
    said = person.as_plain(command, ignoring, entry)
    assert (NOT_RECORDED in said) is not recorded
    killed = person.run(["sh", "-c", "kill -9 $$"], ignoring)
    assert killed.returncode == (137 if recorded else -signal.SIGKILL)


def test_ctrl_c_ends_no_job_in_the_background(person: Person) -> None:
    def in_background() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    go = person.home / "go"
    command = ["sh", "-c", f"echo out; until [ -e {go} ]; do sleep 0.05; done; exit 7"]
    run = person.start([str(BINARY), "run", "--no-listeners", *command], in_background)
    assert run.stdout is not None
    assert run.stdout.readline() == b"out\n"
    os.killpg(run.pid, signal.SIGINT)
    go.touch()
    _, error = run.communicate(timeout=PATIENCE)
    assert run.returncode == 7
    assert b"stopping the run" not in error


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "1>&- 2>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"])
def test_streams_that_are_closed(person: Person, closed: str) -> None:
    """Output to a closed stream goes nowhere, least of all into a file of the run."""
    chatty = "seq 20000; seq 20000 >&2; exit 7"
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", str(BINARY), "run", "--quiet", "--no-listeners", "sh", "-c"]
    done = person.call([*words, chatty])
    expected = b"".join(b"%d\n" % i for i in range(1, 20001))
    assert done.returncode == 7
    assert done.stdout == (b"" if "1>" in closed else expected)
    assert done.stderr == (b"" if "2>" in closed else expected)
    if closed == "0<&-":
        done = person.call([*words, "cat; exit 7"])
        assert (done.returncode, done.stdout) == (7, b"")
        assert b"Bad file descriptor" in done.stderr, done


def test_a_time_limit_counts_where_nothing_is_recorded(person: Person) -> None:
    began = time.monotonic()
    done = person.run(["sleep", "60"], limited(resource.RLIMIT_NOFILE, 40), "--max-time", "500ms")
    assert done.returncode == 128 + signal.SIGINT, done
    assert time.monotonic() - began < 30


def test_the_launcher_finds_the_command_behind_all_options(person: Person) -> None:
    """It executes the command itself, as where the program cannot be loaded."""
    text = person.call([str(BINARY), "run", "--help"]).stdout.decode()
    options = re.findall(r"^  (--[a-z-]+)( \S+)?", text, re.MULTILINE)
    assert len(options) >= 40
    person.environment["CORRAL_NOT_RECORDED"] = "a test"
    for option, takes_value in options:
        given = [option, "value"] if takes_value else [option]
        done = person.call([str(BINARY), "run", *given, "sh", "-c", "exit 7"])
        if option in ("--adopt", "--environment"):
            assert done.returncode == 126, done
            assert b"needs corral-program" in done.stderr
        else:
            assert (done.returncode, done.stderr.count(NOT_RECORDED)) == (7, 1), done
    for words, status in (
        (["--name=x", "--", "sh", "-c", 'test -z "$CORRAL_NOT_RECORDED" && exit 7'], 7),
        (["--no-such-option", "true"], 2),
        (["--name"], 2),
        (["--quiet"], 2),
        (["/nonexistent"], 127),
        (["/etc/passwd"], 126),
        (["plan.csv"], 1),
    ):
        assert person.call([str(BINARY), "run", *words]).returncode == status, words


def test_a_program_that_is_not_there(person: Person) -> None:
    alone = person.home / "corral"
    shutil.copy(BINARY, alone)
    alone.chmod(0o755)
    done = person.call([str(alone), "run", *FORKS])
    assert (done.returncode, done.stdout) == (7, b"out\n3\n")
    assert done.stderr.count(NOT_RECORDED) == 1
    assert person.call([str(alone), "ls"]).returncode == 1


def test_a_script_that_imports_the_package_runs_unrecorded(person: Person) -> None:
    script = person.home / "train.py"
    script.write_text("import corral\ncorral.log('x', 1.0)\nraise SystemExit(7)\n")
    done = person.run([str(script)], limited(resource.RLIMIT_NPROC, 20))
    assert (done.returncode, NOT_RECORDED in done.stderr) == (7, True), done


def test_a_program_whose_libraries_cannot_be_loaded(person: Person) -> None:
    libraries = person.home / "lib"
    libraries.mkdir()
    (libraries / "libstdc++.so.6").write_text("of another machine")
    person.environment["LD_LIBRARY_PATH"] = str(libraries)
    assert NOT_RECORDED in person.as_plain(FORKS, lambda: None, "LD_LIBRARY_PATH")


def test_a_supervisor_that_fails_still_gives_the_status(person: Person) -> None:
    def crash(fault: int) -> None:
        go = person.home / f"go{fault}"
        command = f"echo out; until [ -e {go} ]; do sleep 0.05; done; echo more; exit 7"
        run = person.start([str(BINARY), "run", "--quiet", "sh", "-c", command])
        assert run.stdout is not None
        assert run.stdout.readline() == b"out\n"
        run.send_signal(fault)
        assert run.stderr is not None
        assert b"the supervisor failed; waiting for the command" in run.stderr.readline()
        go.touch()
        out, error = run.communicate(timeout=PATIENCE)
        assert (run.returncode, out) == (7, b"more\n"), (run.returncode, out, error)
        assert b"the supervisor failed" not in error, "it is said once"

    with ThreadPoolExecutor() as pool:
        list(pool.map(crash, (signal.SIGABRT, signal.SIGSEGV)))


def test_a_server_that_gets_no_threads_ends(person: Person) -> None:
    store = person.home / "store"
    serve = [str(BINARY), "serve", "--idle-exit", "--store", str(store)]
    for limit in (2, 5, 9, 17, 25):
        done = person.call(serve, limited(resource.RLIMIT_NPROC, limit))
        assert done.returncode == 1, done
        assert b"no thread" in done.stderr, done

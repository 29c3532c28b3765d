"""Drives Corral in the end-to-end tests: an isolated home, the command line, conditions that are waited for."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.client
import io
import json
import mmap
import os
import random
import re
import signal
import socket
import subprocess
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORRAL_BUILD", ROOT / "build" / "release"))
BINARY = BUILD / "corral"
PROGRAM = BUILD / "corral-program"  # started by BINARY
PYTHON = "/usr/bin/python3"
LOGGER = Path(__file__).parent / "programs" / "logger.py"
# The last words of a supervisor that has waited long enough for a busy server.
LEFT = re.compile(rb"corral: not all data has reached the server; the rest waits in (.+?) for the next .*\r?\n")
PATIENCE = 100.0  # seconds; generous: the machine may be busy and the store's server runs at idle priority

T = TypeVar("T")
Json = Any


class Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any) -> None:
        return None


def control_groups(prefix: str) -> list[Path]:
    """Those of this machine whose names begin so. Passes over what goes meanwhile."""
    found = [Path(folder) / name for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    return sorted(path for path in found if path.name.startswith(prefix))


# Below those that the kernel gives to sockets that ask for any (ip_local_port_range).
OWN_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port that nobody listened on just now, and that no socket gets that asks for any."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = random.SystemRandom().choice(OWN_PORTS)
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
    return found


def until(condition: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """The condition's first true value; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.01)


def until_said(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Returns the standard error of the process, once `text` and the end of its line are in it."""
    stream = process.stderr
    assert stream is not None
    os.set_blocking(stream.fileno(), False)
    said = b""

    def more() -> bool:
        nonlocal said
        ended = process.poll() is not None
        said += stream.read() or b""
        assert text in said or not ended, said
        return b"\n" in said.partition(text)[2]

    until(more, f"it says {text!r}")
    os.set_blocking(stream.fileno(), True)
    return said


def read_record(store: Path) -> Json | None:
    """The record of the store's server, if it has one."""
    try:
        return json.loads((store / "server.json").read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def runs_corral(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").samefile(PROGRAM)
    except OSError:
        return False


@dataclass(frozen=True)
class Point:
    metric: str
    source: str
    time_ns: int
    step: int | None
    value: float


@dataclass
class Logs:
    chunks: list[Json] = field(default_factory=list)
    gaps: list[Json] = field(default_factory=list)
    end: Json = None

    def text(self, stream: str) -> str:
        return "".join(c["text"] for c in self.chunks if c["stream"] == stream)


class Counter:
    """The shared file of programs/logger.py."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            self._cells = memoryview(mmap.mmap(file.fileno(), 4096)).cast("Q")

    @property
    def returned(self) -> int:
        return self._cells[0]

    @property
    def done(self) -> bool:
        return self._cells[1] == 1

    @property
    def pid(self) -> int:
        return self._cells[2]

    def stop(self) -> None:
        """The program ends at its next pause."""
        self._cells[3] = 1

    def program(self, plan: int, burst: int = 100, pause: float = 0.001) -> list[str]:
        return [PYTHON, "-S", str(LOGGER), str(self.path), str(plan), str(burst), str(pause)]


@dataclass
class Corral:
    """One home with one store and one spool. Everything that is started here ends with close()."""

    home: Path
    runtime: Path  # a short path: Unix sockets of stores with long paths go there
    environment: dict[str, str] = field(init=False)
    store: Path = field(init=False)
    spool: Path = field(init=False)
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = self.home / "store"
        self.spool = self.home / "spool"
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "CORRAL_STORE": str(self.store),
            "CORRAL_SPOOL": str(self.spool),
            "CORRAL_LOCKS": str(self.home / "locks"),
        }

    def use_database(self, url: str) -> None:
        """The store is the database from now on; its other files lie in the home."""
        self.store = self.home / "state/corral/databases" / hashlib.sha256(url.encode()).hexdigest()[:16]
        self.environment["CORRAL_STORE"] = url

    # Programs

    def start(
        self, *arguments: str | Path, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """`corral ARGUMENTS` in the background, in a session of its own."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        started = subprocess.Popen(
            [BINARY, *map(str, arguments)],
            env=self.environment | (env or {}),
            cwd=options.pop("cwd", self.home),
            start_new_session=True,
            **options,
        )
        process = cast("subprocess.Popen[bytes]", started)
        self._started.append(process)
        return process

    def __call__(
        self,
        *arguments: str | Path,
        status: int | None = 0,
        stdin: bytes = b"",
        seconds: float = PATIENCE,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        """`corral ARGUMENTS` to its end; `status` None accepts any."""
        process = self.start(*arguments, stdin=subprocess.PIPE, **options)
        try:
            out, error = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, error = process.communicate()
            raise AssertionError(f"corral {arguments} did not end: {out[-500:]!r} {error[-2000:]!r}") from None
        done = subprocess.CompletedProcess(arguments, process.returncode, out, self._without_left(error))
        assert status is None or done.returncode == status, (done.returncode, error.decode(errors="replace")[-2000:])
        return done

    def _without_left(self, error: bytes) -> bytes:
        """Waits for data that a running server has not taken in yet; then the warning about it means nothing."""
        for left in LEFT.finditer(error):
            rest = Path(os.fsdecode(left[1]))
            deadline = time.monotonic() + 40
            while rest.exists() and time.monotonic() < deadline and any(map(runs_corral, self.processes())):
                time.sleep(0.05)
            if not rest.exists():
                error = error.replace(left[0], b"")
        return error

    def script(self, name: str, code: str) -> Path:
        path = self.home / name
        path.write_text(textwrap.dedent(code))
        return path

    def configure(self, text: str) -> Path:
        """The user's own configuration file."""
        path = self.home / "config" / "corral" / "corral.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        path.chmod(0o600)
        return path

    def counter(self, name: str = "counter") -> Counter:
        return Counter(self.home / name)

    # Stored records

    def json(self, *arguments: str) -> Json:
        return json.loads(self(*arguments, "--format", "json").stdout)

    def show(self, run: str = "@1") -> Json:
        return self.json("show", run)

    def runs(self) -> list[Json]:
        return list(self.json("ls", "runs", "--limit", "500"))

    def points(self, run: str = "@1", metric: str = "*") -> list[Point]:
        text = self("export", run, "--metric", metric).stdout.decode()
        return [
            Point(r["metric"], r["source"], int(r["time_ns"]), int(r["step"]) if r["step"] else None, float(r["value"]))
            for r in csv.DictReader(io.StringIO(text))
        ]

    def wait_ended(self, run: str = "@1") -> Json:
        """The run once the server has its end."""

        def ended() -> Json | None:
            done = self("show", run, "--format", "json", status=None)
            facts = json.loads(done.stdout) if done.returncode == 0 else None
            return facts if facts is not None and facts["status"] != "running" else None

        return until(ended, f"the end of run {run} is stored")

    def spooled(self) -> list[Path]:
        """Run directories that wait in the spool."""
        return [p for p in sorted(self.spool.glob("*")) if len(p.name) == 32]

    def wait_spool_empty(self) -> None:
        until(lambda: not self.spooled(), "everything in the spool has reached the store")

    # The server

    def make_way(self) -> None:
        """Takes away the file that stood in the store's place, once nobody is left who was started to serve it."""
        until(lambda: not [pid for pid in self.processes() if runs_corral(pid)], "every process of Corral has ended")
        self.store.unlink()

    def serve(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        """A server of the store that answers."""
        process = self.start("serve", "--idle-exit", *arguments, **options)
        until(lambda: process.poll() is not None or self.server_pid() == process.pid, "the server answers")
        assert process.poll() is None, process.communicate()[1]
        assert self.connection_answers()
        return process

    def connection_answers(self) -> bool:
        """A request by TCP: answered once the server takes requests."""
        connection = self.connection()
        connection.request("GET", "/health")
        status = connection.getresponse().status
        connection.close()
        return status in (200, 401)

    def record(self) -> Json | None:
        return read_record(self.store)

    def server_pid(self) -> int | None:
        record = self.record()
        return int(record["pid"]) if record and alive(record["pid"]) else None

    def url(self) -> str:
        return str(until(self.record, "a server is there")["url"])

    def connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url())
        assert parts.hostname is not None
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)

    def get(self, path: str) -> Json:
        return self._ask("GET", path)

    def post(self, path: str, message: Json) -> Json:
        return self._ask("POST", path, message)

    def _ask(self, method: str, path: str, message: Json | None = None) -> Json:
        connection = self.connection()
        body = None if message is None else json.dumps(message)
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status == 200, (answer.status, content)
        return json.loads(content)

    def events(self, run: str = "@1", pressure: bool = False) -> list[Json]:
        """Events of pressure depend on this machine's load: left out unless they are requested."""
        events = list(self.get(f"/api/corral/v1/runs/{run}/events")["events"])
        return [e for e in events if pressure or " pressure" not in e["name"]]

    def logs(self, run: str = "@1") -> Logs:
        """All output that the store has of a run."""
        logs = Logs()
        cursor = ""
        while True:
            page = self.get(f"/api/corral/v1/runs/{run}/logs?from={cursor}")
            if not page["chunks"]:
                return logs
            logs.chunks += page["chunks"]
            logs.gaps += page["gaps"]
            logs.end, cursor = page["end"], page["next"]

    def kill_server(self) -> int:
        pid = self.server_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        def is_gone() -> bool:
            """Its other threads hold the store's lock until the last of them has left."""
            try:
                threads = len(os.listdir(f"/proc/{pid}/task"))
            except (FileNotFoundError, ProcessLookupError):
                threads = 0
            return threads <= 1 and not alive(pid)

        until(is_gone, "the killed server is gone")
        return pid

    # The end

    def processes(self) -> Iterator[int]:
        """Processes that were started from here, however far they went: they have this home in their environment."""
        mark = f"\0HOME={self.home}\0".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                environment = b"\0" + (entry / "environ").read_bytes() + b"\0"
            except OSError:
                continue
            if mark in environment and alive(int(entry.name)):
                yield int(entry.name)

    def close(self) -> None:
        if self.server_pid() is not None:
            subprocess.run(
                [BINARY, "serve", "--stop"],
                env=self.environment,
                cwd="/",
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        until(lambda: not self._kill_all(), "everything that was started is gone")
        self._undo()
        for process in self._started:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def _undo(self) -> None:
        """Undoes changes that killed supervisors left on the machine: control groups."""
        if any(Path(self.environment["XDG_STATE_HOME"]).glob("corral/undo/*.undo")):
            subprocess.run(
                [BINARY, "undo", "--end-runs"],
                env=self.environment,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )

    def _kill_all(self) -> list[int]:
        pids = list(self.processes())
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return pids


def check_steps(points: list[Point], returned: int, in_flight: int = 0) -> None:
    """Every call that returned is there once, in order; those in flight at a kill may be there too."""
    steps = [p.step for p in points]
    assert len(steps) == len(set(steps)), f"{len(steps) - len(set(steps))} duplicates"
    assert steps == list(range(len(steps))), "steps are missing or out of order"
    assert returned <= len(steps) <= returned + in_flight, (returned, len(steps))
    assert all(p.value == (p.step or 0) * 0.5 for p in points)

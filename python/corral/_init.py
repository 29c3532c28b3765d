"""init() and finish(): a supervisor for a process that was not started with `corral run`, and its end.

    this process --spawns--> corral run --watch THIS (a session of its own) --runs--> python -m corral._attached
                 <------------- where to log: a file in a folder that both know ------------'

The supervisor samples this process and its children; the command that it runs only waits for the end of this process or
for finish(), and hands on how it ended. Here there is no thread and no socket, then as now.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from typing import Any

    from corral import _native as _impl
else:
    _impl = sys.modules["corral"]._impl

_PATIENCE_S = 20.0
_DELIVERY_S = 10.0  # that finish() waits for the run's end to be stored
_NAMES = ("CORRAL_RUN_ID", "CORRAL_SEGMENT_DIR", "CORRAL_SPOOL_LIMIT")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _Begun:
    """A run that start() has begun."""

    def __init__(self, folder: str, supervisor: subprocess.Popen[bytes]) -> None:
        self.pid = os.getpid()
        self.folder = folder
        self.supervisor = supervisor
        self.directory = _here()
        self.shell = notebook_shell()


_begun: _Begun | None = None


def notebook_shell() -> Any:
    """IPython's shell if this process is the kernel of a notebook, else None. Imports nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell if getattr(shell, "kernel", None) is not None else None


def start(options: Mapping[str, str | None], params: Mapping[str, str], tags: Mapping[str, str]) -> bool:
    """Returns true if this process logs to a run from now on. Failures only warn, once."""
    import shutil
    import tempfile

    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="corral-")
        os.mkfifo(os.path.join(folder, "ended"), 0o600)
        answer, supervisor = _supervised(folder, _command(folder, options, params, tags))
    except OSError as error:
        answer = supervisor = None
        _warn(f"{error.strerror or error}: {error.filename or 'corral'}")
    if answer is None or supervisor is None:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        return False
    for line in answer.splitlines():
        name, _, value = line.partition("=")
        os.environ[name] = value
    global _begun
    _begun = _Begun(folder, supervisor)
    _impl.attach()
    if os.environ.get("CORRAL_CAPTURE") != "0":
        from corral import _watch

        _watch.begin()
    atexit.register(_ended, _begun)
    return True


def finish(status: int) -> None:
    """Ends the run that start() began in this process; returns when the end is stored, or after _DELIVERY_S."""
    global _begun
    begun = _begun
    if begun is None or begun.pid != os.getpid():
        return
    _begun = None
    atexit.unregister(_ended)
    loop = sys.modules.get("corral._loop")
    try:
        if loop is not None:
            loop.end_all()
    except Exception:  # never the training's business
        pass
    _note_code(begun)
    _impl.detach()
    for name in _NAMES:
        os.environ.pop(name, None)
    _write_status(begun, status)
    _wake(begun)
    _await(begun.supervisor)
    live = sys.modules.get("corral._live")
    if live is not None:
        live.end(last=True)


def _wake(begun: _Begun) -> None:
    """Tells the process that waits for our end. Without a reader it has ended, and nobody need know."""
    try:
        pipe = os.open(os.path.join(begun.folder, "ended"), os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, b"\n")
        os.close(pipe)
    except OSError:
        pass


def _await(supervisor: subprocess.Popen[bytes]) -> None:
    """Reaps the supervisor, which ends soon; one that cannot deliver its data goes on without us."""
    import subprocess

    supervisor.returncode = None
    try:
        supervisor.wait(_DELIVERY_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if supervisor.returncode is None:
            _let_go(supervisor)


def _warn(message: str) -> None:
    import warnings

    warnings.warn(f"corral.init: nothing is recorded: {message}", RuntimeWarning, stacklevel=4)


def binary() -> str:
    """`corral` beside the package, as it is built and installed, else that of the PATH."""
    for relative in ("../corral", "../../../bin/corral"):
        path = os.path.normpath(os.path.join(_PACKAGE, relative))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return "corral"


def _command(
    folder: str, options: Mapping[str, str | None], params: Mapping[str, str], tags: Mapping[str, str]
) -> list[str]:
    command = [binary(), "run", "--quiet", "--no-mlflow", "--no-capture", "--watch", str(os.getpid())]
    for name, value in options.items():
        if value is not None:
            command.append(f"--{name}={value}")
    command += [f"--param={name}={value}" for name, value in params.items()]
    command += [f"--tag={name}={value}" for name, value in tags.items()]
    python = sys.executable or "python3"
    return [*command, "--", python, "-S", "-m", "corral._attached", folder, str(os.getpid())]


def _supervised(folder: str, command: list[str]) -> tuple[str | None, subprocess.Popen[bytes] | None]:
    """Reads the answer of the process that the supervisor started for us."""
    import subprocess
    import time

    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True, close_fds=True
    )
    answer = os.path.join(folder, "environment")
    deadline = time.monotonic() + _PATIENCE_S
    while not os.path.exists(answer):
        if process.poll() is not None:
            _warn(f"`corral run` ended with status {process.returncode}")
            return None, None
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            _warn(f"`corral run` did not start within {_PATIENCE_S:g} s")
            return None, None
        time.sleep(0.005)
    _let_go(process)
    with open(answer, encoding="utf-8") as file:
        return file.read(), process


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """The supervisor outlives this process; that is no reason for a warning."""
    process.returncode = 0


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def _ended(begun: _Begun) -> None:
    """At the interpreter's end. A process that is killed does not come here: its end is unknown."""
    if os.getpid() != begun.pid:
        return  # a forked child
    _note_code(begun)
    _write_status(begun, _status(begun.shell))


def _status(shell: Any) -> int:
    """1 after an uncaught exception. A notebook goes on after one: there the last cell counts."""
    if shell is not None:
        return 0 if getattr(shell, "last_execution_succeeded", True) else 1
    return 1 if hasattr(sys, "last_type") or hasattr(sys, "last_exc") else 0


def _note_code(begun: _Begun) -> None:
    try:
        from corral import _code

        _code.note(os.path.dirname(os.path.abspath(os.environ["CORRAL_SEGMENT_DIR"])), begun.directory)
    except Exception:  # never the training's business
        pass


def _write_status(begun: _Begun, status: int) -> None:
    try:
        with open(os.path.join(begun.folder, "status"), "w", encoding="ascii") as file:
            file.write(str(status))
    except OSError:
        pass

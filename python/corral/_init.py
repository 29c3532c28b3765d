"""init(): a supervisor for a process that was not started with `corral run`.

    this process --spawns--> corral run --watch THIS (a session of its own) --runs--> python -m corral._attached
                 <------------- where to log: a file in a folder that both know ------------'

The supervisor samples this process and its children; the command that it runs only waits for this process's end, and
hands on how it ended. Here there is no thread and no socket, then as now.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from corral import _native as _impl
else:
    _impl = sys.modules["corral"]._impl

_PATIENCE_S = 20.0
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def start(options: Mapping[str, str | None], params: Mapping[str, str], tags: Mapping[str, str]) -> bool:
    """Returns true if this process logs to a run from now on. Failures only warn, once."""
    import shutil
    import tempfile

    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="corral-")
        answer = _supervised(folder, _command(folder, options, params, tags))
    except OSError as error:
        answer = None
        _warn(f"{error.strerror or error}: {error.filename or 'corral'}")
    if answer is None:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        return False
    for line in answer.splitlines():
        name, _, value = line.partition("=")
        os.environ[name] = value
    _impl.attach()
    if os.environ.get("CORRAL_CAPTURE") != "0":
        from corral import _watch

        _watch.begin()
    atexit.register(_ended, os.getpid(), os.path.join(folder, "status"), _here())
    return True


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


def _supervised(folder: str, command: list[str]) -> str | None:
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
            return None
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            _warn(f"`corral run` did not start within {_PATIENCE_S:g} s")
            return None
        time.sleep(0.005)
    _let_go(process)
    with open(answer, encoding="utf-8") as file:
        return file.read()


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """The supervisor outlives this process; that is no reason for a warning."""
    process.returncode = 0


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def _ended(pid: int, path: str, start: str) -> None:
    """At the interpreter's end. A process that is killed does not come here: its end is unknown."""
    if os.getpid() != pid:
        return  # a forked child
    try:
        from corral import _code

        _code.note(os.path.dirname(os.path.abspath(os.environ["CORRAL_SEGMENT_DIR"])), start)
    except Exception:  # never the training's business
        pass
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("1" if hasattr(sys, "last_type") or hasattr(sys, "last_exc") else "0")
    except OSError:
        pass

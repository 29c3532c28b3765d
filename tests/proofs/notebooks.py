"""Proves in real Jupyter kernels that init(), runs() and plot() work there, however a kernel ends, and what they cost.

    ./dev proof notebooks            installs Jupyter's kernel, its clients, matplotlib and pandas, and runs all
    ./dev proof notebooks --smoke    the same cells in a stand-in for a kernel, where those are not installed

A notebook is executed by nbclient; kernels are driven by jupyter_client, interrupted, restarted and killed. The
messages that a front end gets and the runs that the store has afterwards are checked.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import _build

PATIENCE_S = 60.0
SHOWN_S = 20.0  # for updates of an output
INIT = "import corral, os, time; run = corral.init({name!r}, params={{'lr': 0.1}})"
TRAIN = "for i in range({rounds}):\n    corral.log({{'loss': 1 / (1 + i), 'samples_per_second': 8}}, step=i)"
CPU_OF_THREAD = """
import threading
live = [thread for thread in threading.enumerate() if thread.name == "corral-live"]
print(int(open(f"/proc/self/task/{live[0].native_id}/schedstat").read().split()[0]) / 1e9)
"""
# Executes cells as a kernel does, as far as the package can tell. Reads a cell a line as JSON, writes messages.
STAND_IN = """
import json, sys, threading, types
one_line = threading.Lock()
def say(kind, **content):
    with one_line: print(json.dumps([kind, content]), flush=True)
class Handle:
    def update(self, picture, kind="update_display_data"):
        data = {"text/plain": repr(picture), "text/html": picture._repr_html_()}
        say(kind, data=data, transient={"display_id": str(id(self))})
def display(picture, display_id):
    handle = Handle()
    handle.update(picture, "display_data")
    return handle
class Events:
    def register(self, *_): pass
    unregister = register
shell = types.SimpleNamespace(kernel=1, events=Events(), last_execution_succeeded=True)
sys.modules["IPython"], sys.modules["IPython.display"] = types.ModuleType("IPython"), types.ModuleType("display")
sys.modules["IPython"].get_ipython, sys.modules["IPython.display"].display = lambda: shell, display
names = {"print": lambda *words: say("stream", text=" ".join(map(str, words)))}
for line in sys.stdin:
    exec(json.loads(line), names)
    say("idle")
"""


def check(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)
    print(f"  {what}", flush=True)


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.1)
    return value


class Message:
    def __init__(self, kind: str, content: dict[str, Any]) -> None:
        self.kind = kind
        self.content = content

    def data(self, form: str) -> str:
        return str(self.content.get("data", {}).get(form, ""))


class Kernel(Protocol):
    """`messages` are all that a front end got so far."""

    messages: list[Message]

    def execute(self, code: str) -> list[Message]:
        """The messages that came while the cell ran."""

    def look(self) -> None:
        """Takes messages that came since."""

    def stop(self) -> None: ...


started: list[Kernel] = []


def shown(kernel: Kernel, *texts: str) -> Message:
    """Waits for the output with all texts; the newest one counts."""

    def newest() -> Message | None:
        kernel.look()
        pictures = [one for one in kernel.messages if one.content.get("transient", {}).get("display_id")]
        return pictures[-1] if pictures and all(text in pictures[-1].data("text/plain") for text in texts) else None

    found: Message = until(newest, f"the output shows {texts}", SHOWN_S)
    return found


class JupyterKernel:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        manager = importlib.import_module("jupyter_client.manager")
        self.manager, self.client = manager.start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
        started.append(self)

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.pid)

    def send(self, code: str) -> str:
        return str(self.client.execute(code, allow_stdin=False))

    def take(self, seconds: float) -> Message | None:
        try:
            raw = self.client.get_iopub_msg(timeout=seconds)
        except Exception:  # queue.Empty
            return None
        message = Message(raw["msg_type"], {**raw["content"], "parent": raw["parent_header"].get("msg_id")})
        self.messages.append(message)
        return message

    def wait(self, cell: str) -> list[Message]:
        first, deadline = len(self.messages), time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            message = self.take(1)
            state = None if message is None else message.content.get("execution_state")
            if message is not None and state == "idle" and message.content["parent"] == cell:
                return self.messages[first:]
        raise AssertionError(f"a cell did not end within {PATIENCE_S:g} s")

    def execute(self, code: str) -> list[Message]:
        return self.wait(self.send(code))

    def look(self) -> None:
        while self.take(0.05) is not None:
            pass

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


class StandIn:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", STAND_IN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(self)

    @property
    def pid(self) -> int:
        return self.process.pid

    def execute(self, code: str) -> list[Message]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        first = len(self.messages)
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            self.messages.append(Message(*json.loads(line)))
            if self.messages[-1].kind == "idle":
                return self.messages[first:]
        raise AssertionError("the stand-in ended")

    def look(self) -> None:
        self.execute("pass")

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def printed(messages: list[Message]) -> str:
    return "".join(one.content["text"] for one in messages if one.kind == "stream")


# ---- What the store has


def listed() -> dict[str, dict[str, Any]]:
    return {row["run_name"]: row for row in importlib.import_module("corral").runs(as_="lists")}


def ended(name: str) -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        row = listed().get(name)
        return row if row is not None and row["status"] != "running" else None

    row: dict[str, Any] = until(over, f"the end of {name} is stored")
    return row


def steps(name: str) -> list[int]:
    (series,) = importlib.import_module("corral").read(name, "loss", as_="lists")
    return list(series.step)


# ---- The steps


def cells(kernel: Kernel) -> None:
    """A run begins, shows itself, goes on in a second init() and ends; another follows."""
    kernel.execute(INIT.format(name="cells"))
    link = shown(kernel, "run cells: running", "http://127.0.0.1:")
    check(link.data("text/html").count("<a href="), "the output has a link")
    first = link.content["transient"]["display_id"]
    kernel.execute(TRAIN.format(rounds=500))
    picture = shown(kernel, "loss 0.002 at step 499", "8 samples/s", "CPUs")
    check(picture.kind == "update_display_data", "the output is renewed while the kernel is idle")
    check(picture.content["transient"]["display_id"] == first, "it stays one output")
    kernel.execute("assert corral.init(params={'more': 1}) == run")
    check(shown(kernel, "the run of this kernel goes on"), "a second init() says that the run goes on")
    kernel.execute("corral.finish()")
    check(listed()["cells"]["status"] == "finished", "the run has ended when finish() returns")
    check(shown(kernel, "run cells: finished").data("text/html").count("<polyline "), "its last picture has a line")
    kernel.execute("corral.log('loss', 7, step=7)\n" + INIT.format(name="after") + "\ncorral.log('loss', 1, step=1)")
    check(steps("cells") == list(range(500)), "every point is there, and none that came after the end")
    kernel.stop()
    check(ended("after")["status"] == "finished", "the end of the kernel ends the next run")
    check(steps("after") == [1], "which has its own points")


def killed(kernel: Kernel, pid: int) -> None:
    kernel.execute(INIT.format(name="killed"))
    kernel.execute(TRAIN.format(rounds=1000))
    os.kill(pid, signal.SIGKILL)
    check(ended("killed")["status"] == "failed", "a killed kernel's run has failed")
    check(steps("killed") == list(range(1000)), "its points are kept")


def reading(kernel: JupyterKernel) -> None:
    kernel.execute("import corral; found = corral.runs('metrics.loss < 0.5')")
    table = kernel.execute("found[['run_name', 'metrics.loss', 'params.lr']]")
    html = "".join(one.data("text/html") for one in table)
    check("<table" in html and "cells" in html and "metrics.loss" in html, "runs() is shown as a table")
    drawn = kernel.execute("axes = corral.plot(found, 'loss', axis='step')")
    check(any(one.data("image/png") for one in drawn), "plot() is a picture of matplotlib's")
    told = printed(kernel.execute("print(type(axes).__name__, axes.get_ylabel(), len(axes.lines))"))
    check(told.startswith("Axes loss "), "and returns the axes")
    drawn = kernel.execute("import sys; sys.modules['matplotlib'] = None; corral.plot(found, 'loss')")
    check(any(one.data("image/svg+xml").startswith("<svg ") for one in drawn), "without matplotlib it is an SVG")
    kernel.stop()


def interrupted(kernel: JupyterKernel) -> None:
    kernel.execute(INIT.format(name="interrupted"))
    shown(kernel, "running")
    cell = kernel.send("i = 0\nwhile True:\n    corral.log('loss', i, step=i); i += 1; time.sleep(0.001)")
    shown(kernel, "loss ")
    kernel.manager.interrupt_kernel()
    messages = kernel.wait(cell)
    check(any(one.content.get("ename") == "KeyboardInterrupt" for one in messages), "an interrupt reaches the cell")
    check(shown(kernel, "not renewed since the kernel was interrupted"), "and ends the renewal")
    check(listed()["interrupted"]["status"] == "running", "the run goes on")
    count = int(printed(kernel.execute("corral.log('loss', -1, step=i); print(i)")))
    kernel.execute("corral.init()")
    check(shown(kernel, f"at step {count}"), "init() shows it again")
    kernel.manager.restart_kernel()
    kernel.client.wait_for_ready(timeout=PATIENCE_S)
    check(ended("interrupted")["status"] == "finished", "a restart of the kernel ends it")
    check(steps("interrupted") == list(range(count + 1)), "with every point")
    kernel.execute(INIT.format(name="restarted") + "\ncorral.log('loss', 1, step=1)\n1 / 0")
    kernel.stop()
    check(ended("restarted")["status"] == "failed", "after a restart a run of its own begins; its last cell failed")


def notebook() -> None:
    """As `jupyter execute` does: the saved outputs are what a reader sees later."""
    nbformat, nbclient = importlib.import_module("nbformat"), importlib.import_module("nbclient")
    codes = [INIT.format(name="notebook"), TRAIN.format(rounds=100), "corral.plot(run, 'loss')", "corral.finish()"]
    # The server knows the points a moment after the cell.
    codes.insert(2, "while not corral.runs(\"attributes.run_name = 'notebook' and metrics.loss < 0.02\").size: pass")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    nbclient.NotebookClient(book, timeout=int(PATIENCE_S), kernel_name="python3").execute()
    output = book.cells[0].outputs[0]
    check("run notebook: finished" in output.data["text/plain"], "the saved output of init() shows how the run ended")
    check("at step 99" in output.data["text/html"], "and its last loss")
    check(any("image/png" in one.get("data", {}) for one in book.cells[3].outputs), "the figure is saved, too")
    check("<script" not in nbformat.writes(book), "no output has a script")
    check(ended("notebook")["params.lr"] == "0.1", "the run is recorded")


def cost(kernel: JupyterKernel) -> str:
    """CPU time of the output's thread, per picture."""
    kernel.execute(INIT.format(name="cost"))
    shown(kernel, "running")
    loop = "while time.monotonic() < end:\n    corral.log('loss', end - time.monotonic()); time.sleep(0.01)"
    before, count = float(printed(kernel.execute(CPU_OF_THREAD))), len(kernel.messages)
    kernel.execute("end = time.monotonic() + 20\n" + loop)
    pictures = [one for one in kernel.messages[count:] if one.kind == "update_display_data"]
    used = float(printed(kernel.execute(CPU_OF_THREAD))) - before
    kernel.stop()
    check(5 <= len(pictures) <= 11, f"{len(pictures)} pictures in 20 s of training")
    each = 1000 * used / len(pictures)
    check(used < 0.2, f"the thread used {1000 * used:.0f} ms of CPU time in 20 s")
    return f"{each:.1f} ms of CPU time per picture, {used / 20:.2%} of a CPU"


@contextlib.contextmanager
def bench() -> Iterator[None]:
    """A store of its own with a server, for this process and all that it starts."""
    corral = _build.corral()
    sys.path.insert(0, str(corral.parent / "python"))
    with tempfile.TemporaryDirectory(prefix="corral-notebooks-") as name:
        folder = Path(name)
        places = {"HOME": folder, "XDG_RUNTIME_DIR": folder, "CORRAL_STORE": folder / "store"}
        places |= {"CORRAL_SPOOL": folder / "spool", "CORRAL_LOCKS": folder / "locks", "IPYTHONDIR": folder / "ipython"}
        for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "JUPYTER_DATA_DIR", "MPLCONFIGDIR"):
            places[variable] = folder / variable.lower()
        os.environ.update({variable: str(place) for variable, place in places.items()})
        os.environ["PYTHONPATH"] = str(corral.parent / "python")
        for variable in ("CORRAL_SERVER", "CORRAL_CONFIG", "CORRAL_TOKEN_FILE", "CORRAL_SEGMENT_DIR", "MPLBACKEND"):
            os.environ.pop(variable, None)
        server = subprocess.Popen(
            [corral, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until((folder / "store" / "server.json").exists, "the server listens")
            yield
        finally:
            for kernel in started:
                with contextlib.suppress(Exception):  # it has ended
                    kernel.stop()
            with contextlib.suppress(AssertionError):
                until(lambda: not [one for one in (folder / "spool").glob("*") if len(one.name) == 32], "all is stored")
            server.terminate()
            server.wait(PATIENCE_S)


def prove() -> str:
    print("cells", flush=True)
    cells(JupyterKernel())
    print("runs and figures", flush=True)
    reading(JupyterKernel())
    print("interrupt and restart", flush=True)
    interrupted(JupyterKernel())
    print("kill", flush=True)
    kernel = JupyterKernel()
    killed(kernel, kernel.pid)
    print("a notebook executed by nbclient", flush=True)
    notebook()
    print("cost", flush=True)
    return cost(JupyterKernel())


def smoke() -> str:
    cells(StandIn())
    kernel = StandIn()
    killed(kernel, kernel.pid)
    kernel.process.wait(PATIENCE_S)
    return "a stand-in for a kernel; no real one was started"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a stand-in instead of a kernel, in a minute")
    parser.add_argument("--python", type=Path, help="of an environment that has the packages already")
    options = parser.parse_args()
    if not options.smoke and importlib.util.find_spec("jupyter_client") is None:
        python = options.python or _build.python_or_why_not("notebooks")
        if python is None:
            return _build.SKIPPED
        return subprocess.run([python, "-u", __file__], check=False).returncode
    with bench():
        try:
            said = smoke() if options.smoke else prove()
        except AssertionError as error:
            print(f"wrong: {error}")
            return 1
    print(f"all checks passed: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The live output of init() in a notebook: the run in the cell's output, renewed while it goes on.

A daemon thread asks the server for three small documents, renders them and sleeps: 2 s while the run logs, up to 10 s
while it logs nothing. It reads nothing of the training's memory, and the training waits for none of it. It ends with
the run, with an interrupt of the kernel (init() shows the run again), and after several requests without an answer.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlsplit

from corral._server import Server, answer_of, find_server, get, page_of, post

_SHORTEST_S, _LONGEST_S = 2.0, 10.0
_MOST_FAILURES = 10
_END_S = 5.0  # that finish() waits for the last picture
_SPARK_POINTS, _SPARK_WIDTH, _SPARK_HEIGHT = 60, 180, 24
_THROUGHPUT = "samples_per_second"
_GOES_ON = "the run of this kernel goes on; corral.finish() ends it"
_STYLE = "font: 13px/1.5 system-ui, sans-serif; border-left: 3px solid #4a7; padding-left: 8px"


@dataclass(frozen=True)
class _Picture:
    """One state of the output, as notebooks and as plain front ends show it."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass
class _State:
    """All that the server has said; empty before the first answer."""

    run: dict[str, Any]
    latest: list[dict[str, Any]]
    spark: list[Any]

    @property
    def over(self) -> bool:
        return bool(self.run.get("status", "running") != "running")


# Asking


def _ask(place: Server, run: str) -> _State:
    """LookupError: the server does not know the run yet."""
    columns = [f"metrics.{_THROUGHPUT}.last"]
    found = answer_of(place, post(place, "/api/corral/v1/runs/search", {"runs": [run], "columns": columns}))["runs"]
    if not found:
        raise LookupError(run)
    latest = get(place, f"/api/corral/v1/runs/{run}/latest")["latest"]
    asked = {"runs": [run], "points": _SPARK_POINTS}
    spark = answer_of(place, post(place, "/api/corral/v1/sparklines", asked))["sparklines"].get(run)
    return _State(found[0], latest, spark["y"] if spark else [])


# Words


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _number(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _use(latest: list[dict[str, Any]]) -> list[str]:
    """CPUs of the run's processes, and how busy its GPUs are, else those of the host."""
    words = [f"{one['value']:.1f} CPUs" for one in latest if one["name"] == "run.cpu.used" and one["rate"]]
    for name, what in (("run.gpu.busy", "GPU"), ("host.gpu.busy", "GPUs of the host")):
        busy = [one["value"] for one in latest if one["name"] == name]
        if busy:
            return [*words, f"{what} {100 * sum(busy) / len(busy):.0f} %"]
    return words


def _figures(state: _State) -> list[str]:
    words = []
    loss = state.run.get("loss")
    if loss:
        step = f" at step {loss['step']}" if loss["step"] is not None else ""
        words.append(f"{loss['metric']} {_number(loss['value'])}{step}")
    throughput = state.run.get("values", {}).get(f"metrics.{_THROUGHPUT}.last")
    if throughput is not None:
        words.append(f"{_number(throughput)} samples/s")
    return words + ([] if state.over else _use(state.latest))


def _spark(y: list[Any]) -> str:
    """A line through the numbers."""
    numbers = [(i, value) for i, value in enumerate(y) if isinstance(value, (int, float))]
    if len(numbers) < 2:
        return ""
    low = min(value for _, value in numbers)
    span = (max(value for _, value in numbers) - low) or 1.0
    across, up = _SPARK_WIDTH / (len(y) - 1), (_SPARK_HEIGHT - 4) / span
    points = " ".join(f"{i * across:.1f},{_SPARK_HEIGHT - 2 - (value - low) * up:.1f}" for i, value in numbers)
    size = f'width="{_SPARK_WIDTH}" height="{_SPARK_HEIGHT}"'
    line = f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    return f'<svg {size} style="vertical-align: middle" role="img" aria-label="loss">{line}</svg>'


def _out_of_reach(page: str) -> bool:
    """Returns true where the browser is known to be on another machine than the kernel, as is the page's address."""
    elsewhere = any(os.environ.get(name) for name in ("COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "JUPYTERHUB_USER"))
    return elsewhere and urlsplit(page).hostname in ("127.0.0.1", "::1", "localhost")


def _picture(run: str, page: str, state: _State, notes: list[str]) -> _Picture:
    name = state.run.get("name") or run[:8]
    words = [state.run.get("outcome") or state.run.get("status") or "starting"]
    if state.run.get("duration_s") is not None:
        words.append(_clock(state.run["duration_s"]))
    link = f"{page}/runs/{run}" if page else ""
    if page and _out_of_reach(page):
        port = urlsplit(page).port
        link, notes = (
            "",
            [*notes, f"this browser may not reach port {port} of the kernel's machine: `!corral show {run[:8]}`"],
        )
    figures = _figures(state)
    lines = [f"run {name}: {', '.join(words)}" + (f", {link}" if link else ""), ", ".join(figures), *notes]
    shown = f"<b>{escape(name)}</b> · {escape(' · '.join(words))}"
    if link:
        shown += f' · <a href="{escape(link)}" target="_blank" rel="noopener">{escape(link)}</a>'
    rows = [
        shown,
        escape(" · ".join(figures)) + " " + _spark(state.spark),
        *(f"<i>{escape(note)}</i>" for note in notes),
    ]
    html = f'<div style="{_STYLE}">{"<br>".join(row for row in rows if row.strip())}</div>'
    return _Picture(html, "\n".join(line for line in lines if line))


# The output


class _Output:
    """One output of one cell. Only begin() runs in the cell's own thread."""

    def __init__(self, shell: Any, run: str, notes: list[str], state: _State) -> None:
        self.run, self.notes = run, notes
        self.state = state
        self.place = find_server(None, None, None)
        self.stop = threading.Event()
        self.last = False  # show the run's end before stopping
        self.shown: _Picture | None = None
        self.shell = shell
        self.handle: Any = None
        self.thread = threading.Thread(target=self._renew, name="corral-live", daemon=True)

    def begin(self) -> None:
        self.shown = self._draw()
        self.handle = importlib.import_module("IPython.display").display(self.shown, display_id=True)
        self.shell.events.register("post_run_cell", self._after_cell)
        self.thread.start()

    def end(self, last: bool) -> None:
        self.last = last
        self.stop.set()

    def _draw(self, *more: str) -> _Picture:
        notes = [note for note in (*self.notes, *more) if not (self.state.over and note == _GOES_ON)]
        return _picture(self.run, page_of(self.place), self.state, notes)

    def _after_cell(self, result: Any = None) -> None:
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt):
            self.notes.append("not renewed since the kernel was interrupted; corral.init() shows the run again")
            self.end(last=True)

    def _renew(self) -> None:
        pause, failures, figures = _SHORTEST_S / 4, 0, None
        while not self.stop.wait(pause) or self.last:
            try:
                self.state, failures = _ask(self.place, self.run), 0
            except Exception:  # no server, an older one, or one that does not know the run yet
                failures += 1
            silent = failures == _MOST_FAILURES
            picture = self._draw(*(["not renewed: the server does not answer"] if silent else []))
            if picture != self.shown and not self._show(picture):
                break
            if silent or self.state.over or self.stop.is_set():
                break
            before, figures = figures, (self.state.run.get("loss"), self.state.run.get("values"))
            pause = _SHORTEST_S if figures != before else min(pause * 1.5, _LONGEST_S)
        try:
            self.shell.events.unregister("post_run_cell", self._after_cell)
        except Exception:  # done already
            pass

    def _show(self, picture: _Picture) -> bool:
        self.shown = picture
        try:
            self.handle.update(picture)
        except Exception:  # the kernel is going away
            return False
        return True


_output: _Output | None = None


def show(shell: Any, run: str, begins: bool) -> None:
    """Shows the run in the output of the cell that is executed now; an output before it is not renewed any more."""
    global _output
    before = _output.state if _output is not None and not begins else _State({}, [], [])
    end(last=False)
    try:
        _output = _Output(shell, run, [] if begins else [_GOES_ON], before)
        _output.begin()
    except Exception as error:  # never the training's business
        _output = None
        sys.stderr.write(f"corral: run {run} has no live output: {error}\n")


def end(last: bool) -> None:
    """Stops renewing; with `last` after one more look, for which the caller waits."""
    global _output
    output, _output = _output, None
    if output is not None:
        output.end(last)
        if last:
            output.thread.join(_END_S)


def _forget() -> None:
    """A forked child has no part in its parent's output."""
    global _output
    _output = None


os.register_at_fork(after_in_child=_forget)

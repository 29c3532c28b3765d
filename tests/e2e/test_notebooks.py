"""corral.runs, corral.plot, corral.finish and the live output of corral.init, against a real server.

The kernel is played by a module that stands in for IPython; `./dev proof notebooks` has real ones.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import subprocess
import sys
import textwrap
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from support import BUILD, PATIENCE, Corral

LOG = """
    import sys, corral
    corral.params({"lr": sys.argv[1], "only." + sys.argv[1]: "x"})
    corral.tag("team", "vision")
    for i in range(50):
        corral.log({"loss": float(sys.argv[2]) / (1 + i), "never/nan": float("nan")}, step=10 * i)
"""
# Before `code`: IPython as far as the package knows it; `shown` has every picture, as (display, text, html).
KERNEL = """
    import json, sys, time, types
    shown, callbacks = [], []
    class Handle:
        def __init__(self, number): self.number = number
        def update(self, picture): shown.append((self.number, repr(picture), picture._repr_html_()))
    def display(picture, display_id=None):
        assert display_id is True
        handle = Handle(len({number for number, *_ in shown}) + 1)
        handle.update(picture)
        return handle
    class Events:
        def register(self, name, call): callbacks.append((name, call))
        def unregister(self, name, call): callbacks.remove((name, call))
    shell = types.SimpleNamespace(kernel=object(), events=Events(), last_execution_succeeded=True)
    ipython, displays = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython, displays.display = lambda: shell, display
    sys.modules |= {"IPython": ipython, "IPython.display": displays}
    def until(condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, shown[-3:]
            time.sleep(0.01)
    def live():
        import threading
        return [thread for thread in threading.enumerate() if thread.name == "corral-live"]
"""


def python(corral: Corral, code: str, status: int = 0, **environment: str) -> Any:
    """The JSON that the code prints last, as a program of its own."""
    more = corral.environment | {"PYTHONPATH": str(BUILD / "python")} | environment
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=False,
        env=more,
        cwd=corral.home,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == status, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else done.stderr.decode()


def kernel(corral: Corral, code: str, **environment: str) -> Any:
    return python(corral, textwrap.dedent(KERNEL) + textwrap.dedent(code), 0, **environment)


@pytest.fixture
def recorded(corral: Corral) -> Corral:
    script = corral.script("log.py", LOG)
    for name, experiment, lr, loss in [("a", "old", "0.1", "1"), ("b", "new", "0.2", "2"), ("c", "new", "0.3", "3")]:
        options = ["--quiet", "--no-listeners", "--name", name, "--experiment", experiment]
        corral("run", *options, script, lr, loss)
    corral.wait_ended("c")
    return corral


# Runs


def test_runs_are_rows_and_what_they_logged_columns(recorded: Corral) -> None:
    pytest.importorskip("pandas")
    code = """
    import json, corral
    frame = corral.runs()
    print(json.dumps({
        "columns": list(frame.columns), "kinds": {name: str(kind) for name, kind in frame.dtypes.items()},
        "rows": json.loads(frame.astype({"start_time": "int64", "end_time": "int64"}).to_json(orient="records")),
        "loss": list(corral.runs("metrics.loss < 0.05")["run_name"]),
        "param": list(corral.runs("params.lr = '0.1' and tags.team = 'vision'", experiment="old")["run_name"]),
        "none": corral.runs("params.lr = '0.1'", experiment="new").shape[0],
    }))
    """
    found = python(recorded, code)
    rows = {row["run_name"]: row for row in found["rows"]}
    assert list(rows) == ["c", "b", "a"], "the newest first"
    facts = recorded.show("b")
    assert rows["b"]["run_id"] == facts["id"]
    assert (rows["b"]["start_time"], rows["b"]["end_time"]) == (int(facts["start_ns"]), int(facts["end_ns"]))
    assert rows["b"]["duration"] == facts["duration_s"]
    assert (rows["b"]["experiment"], rows["b"]["status"], rows["b"]["outcome"]) == ("new", "finished", "finished")
    assert [rows[name]["metrics.loss"] for name in "abc"] == [1 / 50, 2 / 50, 3 / 50]
    assert [rows[name]["params.lr"] for name in "abc"] == ["0.1", "0.2", "0.3"]
    assert [rows[name]["params.only.0.2"] for name in "abc"] == [None, "x", None]
    assert rows["a"]["tags.team"] == "vision"
    columns = [name for name in found["columns"] if name.startswith(("metrics.", "params.", "tags."))]
    assert columns == sorted(columns), "metrics, params, tags"
    assert found["columns"][:2] == ["run_id", "run_name"]
    assert found["kinds"]["start_time"] == "datetime64[ns, UTC]"
    assert found["kinds"]["metrics.loss"] == found["kinds"]["metrics.never/nan"] == "float64"
    assert (found["loss"], found["param"], found["none"]) == (["b", "a"], ["a"], 0)


def test_every_page_of_runs_is_read(recorded: Corral) -> None:
    code = """
    import json, corral, corral._runs
    corral._runs._PAGE = 2
    one = corral.runs(limit=1, as_="lists")
    all_ = corral.runs(as_="lists")
    print(json.dumps([[row["run_name"] for row in rows] for rows in (one, all_, corral.runs(limit=3, as_="lists"))]
        + [sorted({type(row["start_time"]).__name__ for row in all_}), [row["params.only.0.2"] for row in all_]]))
    """
    one, every, three, kinds, params = python(recorded, code)
    assert (one, every, three) == (["c"], ["c", "b", "a"], ["c", "b", "a"])
    assert (kinds, params) == (["datetime"], [None, "x", None])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("corral.runs('metrics.loss <')", "ValueError", "Invalid clause(s) in filter string: 'metrics.loss', '<'"),
        ("corral.runs('params.lr = 0.1')", "ValueError", "0.1"),
        ("corral.runs(experiment='nwe')", "LookupError", "no experiment is called 'nwe'"),
        ("corral.runs(limit=0)", "ValueError", "limit must be greater than 0"),
        ("corral.runs(as_='dict')", "ValueError", "as_ must be pandas or lists"),
        ("corral.plot('a', 'los')", "LookupError", "did you mean 'loss'?"),
        ("corral.plot('nobody', 'loss')", "LookupError", "no run has the id or name nobody"),
        ("corral.plot('a', 'loss', smooth='ema:5')", "ValueError", "--smooth 'ema:5'"),
        ("corral.plot('a', 'loss', axis='epoch')", "ValueError", "axis must be workload, run, wall, step"),
        ("corral.finish('done')", "ValueError", "status must be finished or failed"),
    ],
)
def test_errors_say_what_is_wrong(recorded: Corral, call: str, error: str, message: str) -> None:
    code = f"""
    import json, corral
    try: {call}
    except Exception as error: print(json.dumps([[kind.__name__ for kind in type(error).__mro__], str(error)]))
    """
    kinds, said = python(recorded, code)
    assert error in kinds, said
    assert message in said


def test_without_a_server_it_is_said_how_to_start_one(corral: Corral) -> None:
    for call in ("corral.runs()", "corral.plot('@1', 'loss')"):
        said = python(corral, f"import corral; {call}", status=1)
        assert f"ConnectionError: corral: no server of the store {corral.store} answers" in said


# Figures


class Drawn:
    """Axes that write down what is drawn."""

    CODE = """
    class Axes:
        def __init__(self): self.lines, self.labels = {}, []
        def plot(self, x, y, label): self.lines[label] = [[getattr(at, "isoformat", lambda: at)() for at in x], y]
        def set_xlabel(self, text): self.labels.append(text)
        def set_ylabel(self, text): self.labels.append(text)
        def legend(self): self.labels.append("legend")
    """


def drawn(corral: Corral, runs: str, arguments: str) -> Any:
    code = f"""
    import json, corral
    {textwrap.dedent(Drawn.CODE).strip().replace(chr(10), chr(10) + "    ")}
    axes = Axes()
    assert corral.plot({runs}, {arguments}, ax=axes) is axes
    print(json.dumps([axes.lines, axes.labels]))
    """
    return python(corral, code)


def test_axes_have_the_points_of_the_runs(recorded: Corral) -> None:
    lines, labels = drawn(recorded, "['a', 'c']", "'loss', axis='step'")
    assert labels == ["step", "loss", "legend"]
    for name in ("a", "c"):
        points = recorded.points(name, "loss")
        assert lines[name] == [[point.step for point in points], [point.value for point in points]]


def test_time_counts_from_the_chosen_start_and_counters_are_rates(recorded: Corral) -> None:
    start = int(recorded.show("b")["start_ns"])
    times = [point.time_ns for point in recorded.points("b", "loss")]
    lines, labels = drawn(recorded, "'b'", "'loss', axis='run'")
    assert labels[0] == "run time (s)"
    x, y = lines["b"]
    assert [x[0], x[-1]] == pytest.approx([(time - start) / 1e9 for time in (times[0], times[-1])], abs=1e-5)
    assert (y[0], y[-1]) == (2, 2 / 50)
    moments = drawn(recorded, "'b'", "'loss', axis='wall'")[0]["b"][0]
    # Points that share a pixel are fewer or more, as its columns begin elsewhere.
    ends = [datetime.fromisoformat(moment).timestamp() for moment in (moments[0], moments[-1])]
    assert ends == pytest.approx([time / 1e9 for time in (times[0], times[-1])], abs=1e-5)
    assert all(moment.endswith("+00:00") for moment in moments)
    smoothed = drawn(recorded, "'b'", "'loss', axis='step', smooth='ema:0.9'")[0]["b"][1]
    assert min(smoothed) > min(y)
    assert max(smoothed) == max(y)
    burn = recorded.script("burn.py", "import time\nwhile time.process_time() < 2.5: pass\n")
    recorded("run", "--quiet", "--name", "burn", burn)
    recorded.wait_ended("burn")
    lines, labels = drawn(recorded, "'burn'", "'run.cpu.used'")
    assert labels[:2] == ["workload time (s)", "run.cpu.used (cores)"]
    y = sorted(lines["burn"][1])
    assert y[-1] > 0.1
    assert y[len(y) // 2] < 1.5


def test_without_matplotlib_notebooks_get_the_figure_of_the_program(recorded: Corral) -> None:
    code = """
    import json, sys, corral
    sys.modules["matplotlib"] = None
    figure = corral.plot(RUNS, "loss", axis="step")
    print(json.dumps([figure._repr_svg_(), repr(figure)]))
    """
    runs = """corral.runs("params.lr != '0.2'")""" if importlib.util.find_spec("pandas") else "['c', 'a']"
    svg, said = python(recorded, code.replace("RUNS", runs))
    names = [recorded.show(name)["id"] for name in ("c", "a")]
    assert svg.encode() == recorded("plot", *names, "--metric", "loss", "--axis", "step").stdout
    assert said.startswith("<corral figure of loss")


def test_few_points_draw_a_long_line(corral: Corral) -> None:
    script = corral.script("long.py", "import corral\nfor i in range(50_000): corral.log('x', i % 1000, step=i)")
    corral("run", "--quiet", "--no-listeners", "--name", "long", script)
    corral.wait_ended()
    lines, _ = drawn(corral, "'long'", "'x', axis='step'")
    x, y = lines["long"]
    assert 1000 < len(x) <= 4 * 1024
    assert (x[0], x[-1], min(y), max(y)) == (0, 49_999, 0, 999)
    assert x == sorted(x)
    assert set(zip(x, y, strict=True)) <= {(i, i % 1000) for i in range(50_000)}


def test_a_token_reaches_the_program(corral: Corral) -> None:
    token = corral.home / "token"
    token.write_text("0123456789abcdef0123\n")
    token.chmod(0o600)
    script = corral.script("log.py", LOG)
    corral("run", "--quiet", "--no-listeners", "--name", "a", script, "0.1", "1")
    corral.wait_ended()
    corral("serve", "--stop")
    corral.serve("--token-file", token)
    code = f"""
    import json, sys, corral
    sys.modules["matplotlib"] = None
    there = {{"server": {corral.url()!r}, "token": "0123456789abcdef0123"}}
    try: corral.plot("a", "loss", server=there["server"])
    except PermissionError: print(json.dumps(corral.plot("a", "loss", **there)._repr_svg_()))
    """
    assert python(corral, code).startswith("<svg ")
    listed = csv.reader(io.StringIO(corral("export", "a", "--metric", "loss").stdout.decode()))
    assert len(list(listed)) == 51


# The end of a run before its process


@pytest.mark.parametrize("pure", ["", "1"])
def test_a_process_can_have_several_runs(corral: Corral, pure: str) -> None:
    code = """
    import json, os, corral, corral._init
    corral._init._DELIVERY_S = 60  # the machine may be busy
    def train(rounds):
        for n in corral.steps(range(rounds)): corral.log("loss", n, step=n)
    first = corral.init("first", params={"lr": 1}, tags={"kind": "x"})
    train(10)
    assert corral.init(params={"more": 2}) == first
    leftover = corral.phase("left open").__enter__()
    corral.finish("failed")
    assert corral.run_id() is None and "CORRAL_SEGMENT_DIR" not in os.environ
    leftover.__exit__(None, None, None)
    corral.finish()
    train(3)
    corral.log("loss", "nobody looks at this")
    corral.artifact("nowhere")
    second = corral.init("second")
    train(20)
    if os.fork() == 0:
        corral.finish("failed")
        corral.log("loss", 99, step=99)
        os._exit(0)
    os.wait()
    train(5)
    corral.finish()
    print(json.dumps([first, second]))
    """
    first, second = python(corral, code, CORRAL_PURE_PYTHON=pure)
    runs = {name: corral.show(name) for name in ("first", "second")}
    assert [runs["first"]["id"], runs["second"]["id"]] == [first, second]
    assert (runs["first"]["status"], runs["second"]["status"]) == ("failed", "finished"), "it is stored by the return"
    assert runs["first"]["params"] == {"lr": "1", "more": "2"}
    steps = {name: [point.step for point in corral.points(name, "loss")] for name in runs}
    assert steps["first"] == list(range(10))
    assert Counter(steps["second"]) == Counter([*range(20), *range(5), 99])
    for name, epochs, step in (("first", 1, 10), ("second", 2, 25)):
        phases = [one for one in corral.json("ls", "phases", name) if not one["lane"].endswith("/supervisor")]
        assert all(one["end_ns"] for one in phases if one["name"] != "left open"), phases
        types = [one["type"] for one in phases]
        assert (types.count("epoch"), types.count("epoch/step")) == (epochs, step)
    assert not corral.spooled(), "nothing is left"


def test_a_run_of_corral_run_ends_with_its_command(corral: Corral) -> None:
    code = "import corral\ncorral.init('mine')\ncorral.finish('failed')\ncorral.log('loss', 1)\n"
    corral("run", "--quiet", "--no-listeners", "--name", "theirs", corral.script("train.py", code))
    assert corral.wait_ended("theirs")["status"] == "finished"
    assert len(corral.points("theirs", "loss")) == 1


# The live output


def test_a_cell_shows_the_run_while_it_goes_on(corral: Corral) -> None:
    code = """
    import corral, corral._init, corral._live
    corral._init._DELIVERY_S = corral._live._END_S = 60  # the machine may be busy
    run = corral.init("otter & <b>friends</b>")
    assert run[:8] in shown[0][1]
    for i in range(40): corral.log({"loss": 1 / (i + 1), "samples_per_second": 100}, step=i)
    until(lambda: "at step 39" in shown[-1][1] and "CPUs" in shown[-1][1])
    running = shown[-1]
    assert corral.init(params={"lr": 1}) == run
    until(lambda: shown[-1][0] == 2 and "goes on" in shown[-1][1] and "at step 39" in shown[-1][1])
    again = shown[-1]
    until(lambda: len(live()) == 1)
    corral.finish()
    print(json.dumps([run, running, again, shown[-1], len(live()), len(callbacks)]))
    """
    run, running, again, last, threads, callbacks = kernel(corral, code)
    link = f"{corral.url()}/runs/{run}"
    assert running[0] == 1
    assert "otter & <b>friends</b>: running" in running[1]
    assert link in running[1]
    assert "loss 0.025 at step 39, 100 samples/s" in running[1]
    assert "otter &amp; &lt;b&gt;friends&lt;/b&gt;" in running[2]
    assert f'<a href="{link}"' in running[2]
    assert "<polyline " in running[2]
    assert "<b>friends" not in running[2]
    assert "the run of this kernel goes on; corral.finish() ends it" in again[1]
    assert last[0] == 2
    assert "finished" in last[1]
    assert "goes on" not in last[1]
    assert (threads, callbacks) == (0, 0)


def test_the_output_ends_with_an_interrupt_and_the_run_does_not(corral: Corral) -> None:
    code = """
    import corral
    run = corral.init("otter")
    until(lambda: "running" in shown[-1][1])
    for name, call in list(callbacks):
        assert name == "post_run_cell"
        call(types.SimpleNamespace(error_in_exec=ZeroDivisionError()))
        assert live()
        call(types.SimpleNamespace(error_in_exec=KeyboardInterrupt()))
    until(lambda: not live())
    interrupted = shown[-1]
    corral.log("loss", 7, step=1)
    assert corral.init() == run
    until(lambda: "loss 7" in shown[-1][1])
    print(json.dumps(interrupted))
    """
    _, text, _ = kernel(corral, code)
    assert "not renewed since the kernel was interrupted; corral.init() shows the run again" in text
    assert corral.wait_ended("otter")["status"] == "finished"


def test_a_server_that_goes_away_ends_the_output(corral: Corral) -> None:
    code = """
    import corral, corral._live
    corral.init("otter")
    until(lambda: "running" in shown[-1][1])
    corral._live._SHORTEST_S = corral._live._LONGEST_S = 0.02
    def nobody(*_): raise ConnectionError
    corral._live.post = nobody
    until(lambda: not live())
    print(json.dumps(shown[-1]))
    """
    _, text, _ = kernel(corral, code)
    assert "not renewed: the server does not answer" in text


@pytest.mark.parametrize(
    ("before", "call"),
    [("", "live=False"), ("shell.kernel = None", ""), ("del sys.modules['IPython']", "")],
    ids=["turned off", "IPython in a terminal", "no IPython"],
)
def test_elsewhere_there_is_no_output_and_no_thread(corral: Corral, before: str, call: str) -> None:
    code = f"""
    import threading, corral
    {before}
    assert corral.init({call})
    print(json.dumps([shown, [thread.name for thread in threading.enumerate()], "corral._live" in sys.modules]))
    """
    assert kernel(corral, code) == [[], ["MainThread"], False]


def test_a_browser_on_another_machine_gets_a_command_instead_of_the_link(corral: Corral) -> None:
    code = """
    import corral
    run = corral.init("otter")
    until(lambda: "running" in shown[-1][1])
    print(json.dumps([run, shown[-1]]))
    """
    run, (_, text, html) = kernel(corral, code, COLAB_RELEASE_TAG="release-colab")
    assert "<a " not in html
    assert f"`!corral show {run[:8]}`" in text


@pytest.mark.parametrize(("succeeded", "status"), [("True", "finished"), ("False", "failed")])
def test_a_kernel_ends_its_run_as_its_last_cell_ended(corral: Corral, succeeded: str, status: str) -> None:
    code = f"""
    import corral
    corral.init("otter")
    sys.last_type = ZeroDivisionError  # an earlier cell
    shell.last_execution_succeeded = {succeeded}
    """
    kernel(corral, code)
    assert corral.wait_ended("otter")["status"] == status


def test_an_output_that_fails_does_no_harm(corral: Corral) -> None:
    code = """
    import corral
    def display(*_, **__): raise OSError("no front end")
    displays.display = display
    assert corral.init("otter")
    corral.log("loss", 1)
    print(json.dumps(live()))
    """
    assert kernel(corral, code) == []
    assert corral.wait_ended("otter")["status"] == "finished"
    assert len(corral.points("otter", "loss")) == 1

"""corral.runs and corral.plot against a real server."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import subprocess
import sys
import textwrap
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
    assert len(moments) == len(x)
    assert all(moment.endswith("+00:00") for moment in moments)
    smoothed = drawn(recorded, "'b'", "'loss', axis='step', smooth='ema:0.9'")[0]["b"][1]
    assert min(smoothed) > min(y)
    assert max(smoothed) == max(y)
    burn = recorded.script("burn.py", "import time\nwhile time.process_time() < 2.5: pass\n")
    recorded("run", "--quiet", "--name", "burn", burn)
    recorded.wait_ended("burn")
    lines, labels = drawn(recorded, "'burn'", "'run.cpu.used'")
    assert labels[:2] == ["workload time (s)", "run.cpu.used (cores)"]
    assert 0.1 < max(lines["burn"][1]) < 1.5


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

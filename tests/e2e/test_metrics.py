"""The metrics of the listeners, their owners, and the verbs that show them."""

from __future__ import annotations

import csv
import io
import json
import signal
from itertools import pairwise
from pathlib import Path

import pytest
from support import Corral, until


def test_a_short_run_has_its_hardware_metrics_with_units(corral: Corral) -> None:
    counter = corral.counter()
    # It ends once it was sampled, whatever the machine is doing.
    code = '"$@"; while [ ! -e go ]; do sleep 0.05; done'
    process = corral.start("run", "--quiet", "--", "sh", "-c", code, "sh", *counter.program(200, 10, 0.05))

    def sampled() -> bool:
        return corral("export", "@1", "--metric", "host.cpu.busy", status=None).stdout.count(b"\n") > 5

    until(sampled, "it is sampled")
    (corral.home / "go").touch()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    corral.wait_spool_empty()
    metrics = corral.json("ls", "metrics", "@1")
    hardware = [m for m in metrics if m["group"] not in ("software", "collector") and m["points"] > 0]
    assert len(hardware) >= 30
    assert sum(m["unit"] != "" for m in hardware) >= 30
    by_name = {m["name"]: m for m in metrics if m["source"] == ""}
    units = {
        "host.cpu.busy": "s",
        "host.memory.used": "B",
        "run.cpu.user": "s",
        "run.memory.rss": "B",
        "corral.supervisor.rss": "B",
    }
    for name, unit in units.items():
        assert by_name[name]["unit"] == unit
    assert by_name["x"] | {"mean": None} == by_name["x"] | {
        "points": 200,
        "last": 99.5,
        "min": 0,
        "max": 99.5,
        "group": "software",
        "owner": "run",
        "kind": "gauge",
        "mean": None,
    }
    assert by_name["run.memory.rss"]["owner"] == "run"
    assert by_name["host.memory.used"]["owner"] == "host"
    assert 0 < by_name["corral.supervisor.rss"]["max"] <= 40 << 20
    run = corral.show()
    times = [p.time_ns for p in corral.points(metric="host.cpu.busy")]
    assert times == sorted(times)
    assert int(run["start_ns"]) - 10**9 <= times[0] <= times[-1] <= int(run["end_ns"]) + 20 * 10**9


def test_no_listeners_and_one_listener(corral: Corral) -> None:
    corral("run", "--quiet", "--no-listeners", "true")
    assert {m["group"] for m in corral.json("ls", "metrics", "@1")} == {"collector"}
    corral("run", "--quiet", "--listeners", "proc", "sh", "-c", "sleep 0.3")
    names = {m["name"] for m in corral.json("ls", "metrics", "@1")}
    assert any(n.startswith("host.") for n in names)
    assert not any(n.startswith("run.") for n in names)


def test_one_workload_is_sampled_once_and_taken_over(corral: Corral) -> None:
    """The second run goes on after the first, which sampled the host for both, has ended."""
    options = ("run", "--quiet", "--workload", "w", "--interval", "20ms", "--name")
    code = "import os, time\nwhile not os.path.exists('end-' + os.environ['WHO']): time.sleep(0.01)"
    script = corral.script("waits.py", code)
    first = corral.start(*options, "first", script, env={"WHO": "first"})
    until(lambda: host_points(corral, "first") > 5, "the first samples the host")
    second = corral.start(*options, "second", script, env={"WHO": "second"})
    until(lambda: "second" in {r["name"] for r in corral.runs()}, "the second has begun")
    (corral.home / "end-first").touch()
    assert first.wait(60) == 0
    at_end = host_points(corral, "second")
    until(lambda: host_points(corral, "second") > at_end + 20, "the second samples the host now")
    (corral.home / "end-second").touch()
    assert second.wait(60) == 0

    one, other = corral.show("first"), corral.show("second")
    assert one["workload_id"] == other["workload_id"]
    assert [n["name"] for n in one["neighbours"]] == ["second"]
    series = {
        run["name"]: {m["series"] for m in run["metrics"] if m["name"] == "host.memory.used"} for run in (one, other)
    }
    assert series["first"] == series["second"]
    assert len(series["first"]) == 1
    assert {m["owner"] for m in other["metrics"] if m["name"].startswith("host.")} == {"host"}
    times = [p.time_ns for p in corral.points("second", "host.memory.used")]
    assert times == sorted(times)
    # While both ran, one of them sampled; they may each have had a sample at the hand-over.
    both = [t for t in times if int(other["start_ns"]) <= t <= int(one["end_ns"])]
    assert len(both) <= (int(one["end_ns"]) - int(other["start_ns"])) / 20e6 + 3, "sampled twice at a time"
    assert sum(m["points"] for m in other["metrics"] if m["name"] == "host.memory.used") == len(times)
    assert max(b - a for a, b in pairwise(times)) < 20_000_000_000, "the take-over took too long"


def host_points(corral: Corral, run: str) -> int:
    done = corral("ls", "metrics", run, "--format", "json", status=None)
    metrics = json.loads(done.stdout) if done.returncode == 0 else []
    return sum(m["points"] for m in metrics if m["name"] == "host.memory.used")


def test_runs_of_other_workloads_are_apart(corral: Corral) -> None:
    for name in ("a", "b"):
        corral("run", "--quiet", "--workload", name, "--name", name, "sh", "-c", "sleep 0.3")
    a, b = corral.show("a"), corral.show("b")
    assert a["workload_id"] != b["workload_id"]
    assert a["neighbours"] == []
    shared = {m["series"] for m in a["metrics"]} & {m["series"] for m in b["metrics"]}
    assert shared == set()


def test_what_python_logs(corral: Corral) -> None:
    code = """
        import corral
        corral.params({"lr": 0.1, "layers": [1, 2]})
        corral.tag("stage", "test")
        with corral.phase("epoch", index=0):
            with corral.phase("step", kind="compute"):
                corral.log({"loss": 0.5, "accuracy": True}, step=0)
            corral.event("checkpoint", path="a.pt", size=3)
        corral.log("loss", float("nan"), step=1)
        corral.log("loss", float("-inf"), step=2)
        corral.log("loss", 0.25, step=3)
        print(corral.run_id())
    """
    done = corral("run", "--quiet", "--param", "batch=32", corral.script("logs.py", code))
    run = corral.show()
    assert done.stdout.decode().strip() == run["id"]
    assert run["params"] == {"batch": "32", "lr": "0.1", "layers": "[1, 2]"}
    assert run["tags"] == {"stage": "test", "corral.outcome": "finished"}
    assert run["loss"] == {"metric": "loss", "value": 0.25, "step": 3}
    values = [(p.step, str(p.value)) for p in corral.points(metric="loss")]
    assert values == [(0, "0.5"), (1, "nan"), (2, "-inf"), (3, "0.25")]
    phases = {p["name"]: p for p in corral.json("ls", "phases", "@1")}
    assert phases["step"]["parent"] == phases["epoch"]["id"]
    assert phases["step"]["type"] == "epoch/step"
    assert phases["step"]["kind"] == "compute"
    assert phases["epoch"]["duration_s"] > 0
    sums = {(p["name"], p["within"]): p["count"] for p in corral.json("ls", "phases", "@1", "--summary")}
    assert sums == {("epoch", ""): 1, ("step", "epoch"): 1}
    (event,) = [e for e in corral.events() if e["origin"] == "user"]
    assert (event["name"], event["attributes"]) == ("checkpoint", {"path": "a.pt", "size": 3})


def test_forked_children_log_as_processes_of_their_own(corral: Corral) -> None:
    code = """
        import corral, os
        corral.log("x", 0, step=0)
        for child in range(1, 4):
            if os.fork() == 0:
                for i in range(100):
                    corral.log("x", child, step=1000 * child + i)
                os._exit(0)
        for _ in range(3):
            os.wait()
        corral.log("x", 0, step=1)
    """
    corral("run", "--quiet", "--no-listeners", corral.script("forks.py", code))
    steps = sorted(p.step or 0 for p in corral.points(metric="x"))
    assert steps == [0, 1, *(1000 * child + i for child in range(1, 4) for i in range(100))]


def test_export(corral: Corral) -> None:
    for name, plan in (("a", 3), ("b", 2)):
        corral("run", "--quiet", "--no-listeners", "--name", name, "--", *corral.counter(name).program(plan))
    text = corral("export", "a", "--metric", "x").stdout.decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["metric", "source", "time_ns", "step", "value"]
    assert [(r[0], r[3], r[4]) for r in rows[1:]] == [("x", "0", "0"), ("x", "1", "0.5"), ("x", "2", "1")]
    document = json.loads(corral("export", "a", "--metric", "x", "--format", "json").stdout)
    assert [(p["metric"], p["step"], p["value"]) for p in document["points"]] == [
        ("x", "0", 0),
        ("x", "1", 0.5),
        ("x", "2", 1),
    ]
    assert document["run"] == corral.show("a")["id"]

    both = corral("export", "a", "b", "--metric", "x", "--output", "out.csv")
    assert both.stdout == b""
    with (corral.home / "out.csv").open() as file:
        table = list(csv.DictReader(file))
    ids = {corral.show(name)["id"]: name for name in ("a", "b")}
    assert [ids[r["run"]] for r in table] == ["a"] * 3 + ["b"] * 2
    assert b"nothing*" in corral("export", "a", "--metric", "nothing*", status=1).stderr
    assert b"no run" in corral("export", "zzz", status=1).stderr
    assert b"out" in corral("export", "a", "--output", "no/such/dir/out.csv", status=1).stderr


def test_lists_in_all_formats(corral: Corral) -> None:
    corral("run", "--quiet", "--name", "only, one", "--experiment", "e", "sh", "-c", "sleep 0.2")
    for what in (["experiments"], ["workloads"], ["runs"], ["metrics", "@1"], ["phases", "@1"]):
        rows = corral.json("ls", *what)
        table = list(csv.DictReader(io.StringIO(corral("ls", *what, "--format", "csv").stdout.decode())))
        assert len(table) == len(rows)
        lines = corral("ls", *what).stdout.decode().splitlines()
        assert len(lines) == (len(rows) + 1 if rows else 0)
        for row, cells in zip(rows, table, strict=True):
            assert list(row) == list(cells)
    assert corral.json("ls", "runs")[0]["name"] == "only, one"
    assert "only, one" in corral("ls", "runs").stdout.decode()
    assert corral.json("ls", "runs", "--experiment", "e")
    assert b"no experiment 'f'" in corral("ls", "runs", "--experiment", "f", status=1).stderr
    shown = corral("show", "@1").stdout.decode()
    assert "only, one" in shown
    assert "finished, exit status 0" in shown
    assert "host.memory.used" not in shown
    assert "host.memory.used" in corral("show", "@1", "--all").stdout.decode()


def test_a_run_is_named_by_number_prefix_or_name(corral: Corral) -> None:
    ids = []
    for name in ("same", "same", "other"):
        corral("run", "--quiet", "--no-listeners", "--name", name, "true")
        ids.append(corral.show("@1")["id"])
    assert corral.show("@3")["id"] == ids[0]
    assert corral.show("same")["id"] == ids[1], "the newest of that name"
    assert corral.show(ids[0])["id"] == ids[0]
    assert corral.show(ids[0][:12])["id"] == ids[0]
    assert b"@4" in corral("show", "@4", status=1).stderr
    assert corral("show", "@0", status=None).returncode != 0


def test_an_ambiguous_prefix_is_told(corral: Corral) -> None:
    """Frames of two supervisors, posted under run ids that begin alike."""
    corral.store.write_text("no store yet")
    for _ in range(2):  # without artifacts, which name their run
        corral("run", "--no-listeners", "--keep-code", "off", "true")
    for i, directory in enumerate(corral.spooled()):
        manifest = json.loads((directory / "manifest.json").read_text())
        assert manifest["run"] == directory.name
        rename(directory, f"abcd{i}" + directory.name[5:])
    corral.make_way()
    corral.serve()
    corral.wait_spool_empty()
    error = corral("show", "abcd", status=2)
    assert b"abcd is the beginning of several runs' ids, abcd" in error.stderr
    assert corral.show("abcd0")["id"].startswith("abcd0")


def rename(directory: Path, run: str) -> None:
    """Makes the waiting run another one: its session has not been described to any server yet."""
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["run"] = run
    (directory / "manifest.json").write_text(json.dumps(manifest))
    for frames in directory.glob("*.frames"):
        frames.unlink()
    directory.rename(directory.with_name(run))


def test_without_a_store_it_says_what_to_do(corral: Corral) -> None:
    for verb in (["ls", "runs"], ["show", "@1"], ["export", "@1"]):
        error = corral(*verb, status=1).stderr.decode()
        assert str(corral.store) in error
        assert "corral run" in error
        assert "--store" in error
    assert not corral.store.exists()


def test_an_empty_store_says_so(corral: Corral) -> None:
    corral.serve()
    done = corral("ls", "runs")
    assert (done.stdout, done.stderr) == (b"", b"no runs yet\n")
    assert corral.json("ls", "runs") == []
    assert corral("show", "@1", status=1).stderr == b"corral show: @1: there are no runs yet\n"
    assert b"did you mean 'runs'" in corral("ls", "rusn", status=2).stderr
    assert b"of which run?" in corral("ls", "metrics", status=2).stderr


def test_doctor(corral: Corral) -> None:
    rows = {row["part"]: row for row in corral.json("doctor")}
    assert rows["store"]["available"] is True
    assert str(corral.store) in rows["store"]["detail"]
    assert rows["server"]["available"] is False
    assert rows["spool"]["detail"] == str(corral.spool)
    assert rows["python"]["detail"].startswith("/usr/bin/python3, Python 3.")
    assert rows["listeners"]["available"] is True
    assert all(row["detail"] for row in rows.values())
    assert not corral.store.exists()
    assert corral.server_pid() is None
    assert "AVAILABLE" in corral("doctor").stdout.decode()


def test_flag_over_environment_over_file_over_default(corral: Corral) -> None:
    def experiment(*flags: str, **env: str) -> str:
        corral("run", "--quiet", "--no-listeners", *flags, "true", env=env)
        return str(corral.show()["experiment"])

    assert experiment() == "default"
    corral.configure('experiment = "of the user"\n')
    assert experiment() == "of the user"
    (corral.home / "corral.toml").write_text(
        'experiment = "of the directory"\n[run]\nparam = ["a=1", "b=2"]\n[serve]\nlisten = "x"\n'
    )
    assert experiment() == "of the directory"
    assert corral.show()["params"] == {"a": "1", "b": "2"}
    other = corral.script("other.toml", '[run]\nexperiment = "of the chosen file"\n')
    assert experiment(CORRAL_CONFIG=str(other)) == "of the chosen file"
    assert experiment("--config", str(other)) == "of the chosen file"
    assert experiment(CORRAL_EXPERIMENT="of the environment") == "of the environment"
    assert experiment("--experiment", "of the flag", CORRAL_EXPERIMENT="of the environment") == "of the flag"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nexperimnt = 'x'\n", "did you mean 'experiment'"),
        ("[run]\ninterval = 'soon'\n", "interval"),
    ],
)
def test_a_wrong_configuration_file_is_named(corral: Corral, text: str, message: str) -> None:
    (corral.home / "corral.toml").write_text(text)
    error = corral("run", "true", status=2).stderr.decode()
    assert "corral.toml" in error
    assert message in error
    assert b"none.toml" in corral("run", "--config", "none.toml", "true", status=2).stderr


def test_a_server_given_by_flag_is_not_mixed_up_with_a_store_of_the_environment(corral: Corral) -> None:
    corral.serve()
    corral("run", "--quiet", "--no-listeners", "--server", corral.url(), "--name", "by flag", "true")
    assert corral.show("by flag")["status"] == "finished"


def test_the_stream_tells_of_new_data(corral: Corral) -> None:
    corral.serve()
    connection = corral.connection()
    connection.request("GET", "/api/corral/v1/stream")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    run = corral.start("run", "--quiet", "--no-listeners", "--", *corral.counter().program(100_000, 10, 0.01))
    told: set[str] = set()
    while told != {"runs", "data"}:
        line = answer.readline().decode().strip()
        if line.startswith("event: "):
            told.add(line.removeprefix("event: "))
    connection.close()
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 128 + signal.SIGTERM

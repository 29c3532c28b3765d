"""`corral explain`: against what a script measures itself."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import Any

import pytest
from plan_support import Plan
from support import BUILD, Corral

# Says how long it waited, and in how many steps.
TRAIN = """
    import corral, json, sys, time
    steps, waited = int(sys.argv[1]), 0
    now = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    time.sleep(0.3)
    with corral.phase("epoch", kind="control"):
        for _ in range(steps):
            with corral.phase("step"):
                with corral.phase("data wait", kind="wait"):
                    began = now()
                    time.sleep(0.02)
                    waited += now() - began
                ready = now() + 10_000_000
                while now() < ready:
                    pass
    time.sleep(0.2)
    print(json.dumps({"waited": waited / 1e9}))
"""


def printed_by(corral: Corral, program: str) -> Any:
    """The JSON that a Python program beside the package prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env=corral.environment | {"PYTHONPATH": str(BUILD / "python"), "CORRAL_PURE_PYTHON": "1"},
        cwd=corral.home,
        capture_output=True,
        timeout=180,
    )
    return json.loads(done.stdout)


@pytest.fixture
def trained(corral: Corral) -> tuple[Corral, float]:
    script = corral.script("train.py", TRAIN)
    done = corral("run", "--quiet", "--name", "train", script, "60")
    return corral, json.loads(done.stdout)["waited"]


def test_the_shares_add_up_and_the_waits_are_as_long_as_they_were(trained: tuple[Corral, float]) -> None:
    corral, waited = trained
    found = corral.json("explain", "train")
    parts = {part["name"]: part for part in found["parts"]}
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1, abs=1e-6)
    assert parts["data wait"]["seconds"] == pytest.approx(waited, rel=0.05)
    assert parts["data wait"]["phases"] == 60
    assert (parts["data wait"]["kind"], parts["data wait"]["type"]) == ("wait", "epoch/step/data wait")
    assert parts["forward and rest"]["seconds"] >= 0.6
    assert parts["start-up"]["seconds"] >= 0.3
    assert parts["shutdown"]["seconds"] >= 0.2
    assert found["provisional"] is False
    (lane,) = [lane for lane in found["lanes"] if lane["trains"]]
    assert lane["lane"].endswith("/MainThread")
    assert lane["steps"] == 60
    assert found["steady"]["steps"] + found["steady"]["left_out"] == 60
    what_if = found["what_if"]
    assert (what_if["method"], what_if["steps"]) == ("modelled", found["steady"]["steps"])
    bounds = what_if["without_waits"]
    assert 0 < bounds["lower_s"] <= what_if["step_s"] - waited / 60 * 0.7
    # On a busy machine the waits may be known to be for a CPU that others had.
    if found["bottleneck"]["resource"] not in ("other programs", "steal", "collector"):
        assert bounds["upper_s"] == what_if["step_s"], "the waits are no CPU time"
        assert bounds["reason"] == "the waits are not known to be for CPU time"
    assert what_if["balanced_ranks"]["lower_s"] is None
    assert what_if["text"] in corral("explain", "train").stdout.decode()


def test_it_reads_as_a_page_and_as_markdown(trained: tuple[Corral, float]) -> None:
    corral, _ = trained
    text = corral("explain", "train").stdout.decode()
    assert text.startswith("train: finished")
    for word in ("Of the training's time: ", "Where the time went", "data wait", "Steady part", "Lanes"):
        assert word in text
    markdown = corral("explain", "train", "--format", "markdown").stdout.decode()
    assert markdown.startswith("# train: finished")
    assert "\n| PART | KIND | SHARE | TIME | PHASES |\n| --- |" in markdown


def test_a_run_says_at_its_end_where_the_time_went(corral: Corral) -> None:
    corral.serve()
    script = corral.script("train.py", TRAIN)
    said = corral("run", "--name", "train", script, "10").stderr.decode().splitlines()
    found = corral.json("explain", "train")
    assert f"corral: {found['summary']} `corral explain` says more." in said
    assert f"\n{found['summary']}\n" in corral("show", "train").stdout.decode()
    assert "Of the training" not in corral("run", "true").stderr.decode(), "nothing trains"


def test_an_odd_epoch_is_named_with_what_it_waited_for(corral: Corral) -> None:
    """Ten epochs; the seventh waits for data fifty times as long as the others."""
    script = corral.script(
        "epochs.py",
        """
        import corral, time
        for epoch in range(10):
            with corral.phase("epoch", kind="control"):
                with corral.phase("data wait", kind="wait"):
                    time.sleep(5 if epoch == 6 else 0.1)
                with corral.phase("step"):
                    time.sleep(0.1)
        """,
    )
    corral("run", "--quiet", "--name", "odd", script)
    found = corral.json("explain", "odd")
    (lane,) = found["epochs"]
    assert lane["epochs"] == 10
    (regime,) = lane["regimes"]
    assert (regime["first"], regime["last"], regime["epochs"], regime["compared"]) == (0, 9, 10, True)
    assert regime["alike"] + lane["odd_epochs"] == 10
    greatest = lane["odd"][0]
    assert (greatest["epoch"], greatest["leaf"]) == (6, "data wait")
    assert 5 <= greatest["seconds"] < (int(greatest["to_ns"]) - int(greatest["from_ns"])) / 1e9
    assert 0.1 <= greatest["usual_s"] < 1
    assert "epoch 6 differs most" in found["summary"]
    text = corral("explain", "odd").stdout.decode()
    assert "DIFFERS IN" in text
    assert "epochs 0 to 9: " in text


def test_a_run_with_epochs_alone_is_explained_by_them(corral: Corral) -> None:
    script = corral.script(
        "epochs.py",
        """
        import corral, time
        for epoch in range(4):
            with corral.phase(f"epoch {epoch}"):
                with corral.phase("data wait", kind="wait"):
                    time.sleep(0.3)
                time.sleep(0.2)
        """,
    )
    corral("run", "--quiet", "--name", "epochs", script)
    found = corral.json("explain", "epochs")
    phases = {part["name"]: part["phases"] for part in found["parts"] if part["part"] == "leaf"}
    assert phases == {"data wait": 4, "training and rest": 4}, "one kind each, whatever their numbers"
    assert (found["steady"]["unit"], found["steady"]["steps"]) == ("epoch", 3), "all but the first"
    assert found["bottleneck"]["part"] == "wait"
    assert "3 epochs of " in corral("explain", "epochs").stdout.decode()


def test_the_slow_rank_is_named(corral: Corral) -> None:
    """Twenty steps that both ranks begin together; rank 1 computes 60 ms longer before its backward pass."""
    script = corral.script(
        "ranks.py",
        """
        import os, subprocess, sys, time
        import corral
        if "RANK" not in os.environ:
            again = [sys.executable, sys.argv[0]]
            ranks = [subprocess.Popen(again, env={**os.environ, "RANK": rank}) for rank in "01"]
            while not all(os.path.exists("ready" + rank) for rank in "01"):
                time.sleep(0.01)
            with open("begin.part", "w") as file:
                file.write(str(time.monotonic() + 0.5))
            os.rename("begin.part", "begin")
            sys.exit(max(rank.wait() for rank in ranks))
        open("ready" + os.environ["RANK"], "w").close()
        while not os.path.exists("begin"):
            time.sleep(0.01)
        begin = float(open("begin").read())
        for step in range(20):
            time.sleep(max(0, begin + step * 0.2 - time.monotonic()))
            with corral.phase("step"):
                time.sleep(0.07 if os.environ["RANK"] == "1" else 0.01)
                with corral.phase("backward"):
                    time.sleep(0.05)
        """,
    )
    corral("run", "--quiet", "--name", "ranks", script)
    found = corral.json("explain", "ranks")
    slow = found["slow_rank"]
    assert slow["rank"] == 1
    assert 10 <= slow["steps"] <= 20, "on a busy machine some begin too late to overlap"
    assert "/rank1/" in slow["lane"]
    assert slow["late_s"] == pytest.approx(0.06, abs=0.04)
    assert slow["text"] in found["summary"]
    assert f"\n  {slow['text']}\n" in corral("explain", "ranks").stdout.decode()
    balanced = found["what_if"]["balanced_ranks"]
    assert balanced["lower_s"] <= balanced["upper_s"] <= found["what_if"]["step_s"]
    # Rank 0 needs 10 ms and rank 1 70 ms until the backward pass: 40 ms is their mean.
    assert found["what_if"]["step_s"] - balanced["upper_s"] == pytest.approx(0.03, abs=0.03)


def test_a_metric_is_attributed_to_the_phases_that_used_it(corral: Corral) -> None:
    """Steps that wait 0.15 s and compute 0.3 s of one thread's CPU time."""
    script = corral.script(
        "train.py",
        """
        import corral, time
        def burn(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass
        began = time.monotonic()
        while time.monotonic() < began + 9:
            with corral.phase("step"):
                with corral.phase("data wait", kind="wait"):
                    time.sleep(0.15)
                burn(0.3)
        """,
    )
    corral("run", "--quiet", "--name", "train", script)
    found = corral.json("explain", "train", "--metric", "run.cpu.used")
    assert (found["metric"], found["unit"], found["method"]) == ("run.cpu.used", "cores", "derived")
    parts = {part["name"]: part for part in found["parts"]}
    computing, waiting = parts["forward and rest"], parts["data wait"]
    assert computing["identifiable"], computing["reason"]
    assert computing["low"] <= computing["mean"] <= computing["high"]
    assert computing["share_of_total"] > 0.8
    assert waiting["mean"] is None or waiting["mean"] < 0.2 * computing["mean"]
    known = sum(part["use"] for part in found["parts"] if part["identifiable"])
    rest = found["background"] + found["not_identifiable"] + found["unplaced"]
    assert known + rest == pytest.approx(found["total"], rel=1e-9)

    text = corral("explain", "train", "--metric", "run.cpu.used").stdout.decode()
    assert text.startswith("train: run.cpu.used\n")
    assert "forward and rest" in text
    markdown = corral("explain", "train", "--metric", "run.cpu.used", "--format", "markdown").stdout.decode()
    assert "| PHASES | PART | SHARE | WHILE OPEN | 95 % INTERVAL | REMARK |" in markdown
    host = corral.json("explain", "train", "--metric", "host.cpu.core.busy", "--source", "cpu0")
    assert "Measured on the whole host" in host["notes"][0]

    def refused(*arguments: str) -> str:
        done = corral("explain", "train", *arguments, status=None)
        assert done.returncode in (1, 2)
        return done.stderr.decode()

    assert "did you mean 'run.cpu.used'" in refused("--metric", "run.cpu.usde")
    assert "no source 'x'" in refused("--metric", "host.cpu.core.busy", "--source", "x")
    assert "--source requires --metric" in refused("--source", "x")


def test_a_window_and_a_lane(trained: tuple[Corral, float]) -> None:
    corral, _ = trained
    whole = corral.json("explain", "train")
    (lane,) = [lane["lane"] for lane in whole["lanes"] if lane["trains"]]
    part = corral.json("explain", "train", "--lane", lane, "--from", "0s", "--to", "200ms")
    assert int(part["to_ns"]) - int(part["from_ns"]) == 200_000_000
    assert [one["name"] for one in part["parts"]] == ["untracked"], "no step lies there"


def test_python_returns_the_same_document(trained: tuple[Corral, float]) -> None:
    corral, _ = trained
    whole = corral.json("explain", "train")
    program = """
import datetime, json, corral
whole = corral.explain("train")
begin = int(whole["from_ns"])
(lane,) = [lane["lane"] for lane in whole["lanes"] if lane["trains"]]
parts = [
    corral.explain("train", start=0, end=0.5, lane=lane),
    corral.explain("train", start=begin, end=begin + 500_000_000),
    corral.explain("train", end=datetime.timedelta(seconds=0.5)),
]
errors = []
attribution = corral.explain("train", metric="run.cpu.used")
assert attribution["metric"] == "run.cpu.used" and attribution["parts"], attribution
for arguments in ({"run": "nobody"}, {"run": "train", "lane": "x"}, {"run": "train", "start": 3600}, {"run": 3},
                  {"run": "train", "start": 0, "end": begin + 1},
                  {"run": "train", "metric": "run.cpu.usde"}):
    try:
        corral.explain(**arguments)
    except (LookupError, ValueError, TypeError) as error:
        errors.append(f"{type(error).__name__} {error}")
print(json.dumps([whole, parts, errors]))
"""
    found, parts, errors = printed_by(corral, program)
    assert found == whole
    assert {(part["from_ns"], int(part["to_ns"]) - int(part["from_ns"])) for part in parts} == {
        (whole["from_ns"], 500_000_000)
    }
    kinds = ["LookupError", "LookupError", "ValueError", "TypeError", "ValueError", "LookupError"]
    assert [error.split()[:2] for error in errors] == [[kind, "corral:"] for kind in kinds], errors


def test_wrong_input_is_refused(trained: tuple[Corral, float]) -> None:
    corral, _ = trained

    def refused(*arguments: str) -> str:
        done = corral("explain", *arguments, status=None)
        assert done.returncode in (1, 2)
        return done.stderr.decode()

    assert "no lane 'node/1/x'" in refused("train", "--lane", "node/1/x")
    assert "--to must be greater than --from" in refused("train", "--from", "2s", "--to", "1s")
    assert "ends before it begins" in refused("train", "--from", "1h")
    assert "duration" in refused("train", "--from", "yesterday")
    assert "run" in refused()


def test_what_was_not_recorded_is_said(corral: Corral) -> None:
    corral("run", "--quiet", "--name", "bare", "true")
    found = corral.json("explain", "bare")
    assert found["parts"] == []
    assert found["summary"].startswith(("No steps or epochs lie", "No phases lie"))
    assert found["steady"]["reason"] == "neither steps nor epochs were recorded"


# Steps that compute in one thread, or wait for what a child computes. Says how much of a CPU the one that computes had.
BOUND = """
    import corral, json, os, resource, sys, time
    def burn(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
    waits = sys.argv[1] == "wait"
    began, child = time.monotonic(), 0
    if waits:
        read, write = os.pipe()
        child = os.fork()
        while waits and child == 0 and time.monotonic() < began + 12:
            burn(0.05)
            os.write(write, b".")
        if child == 0:
            os._exit(0)
    used = time.process_time()
    with corral.phase("epoch", kind="control"):
        while time.monotonic() < began + 8:
            with corral.phase("step"):
                if waits:
                    with corral.phase("data wait", kind="wait"):
                        os.read(read, 1)
                burn(0.01 if waits else 0.05)
    took, used = time.monotonic() - began, time.process_time() - used
    if waits:
        os.waitpid(child, 0)
        took, used = time.monotonic() - began, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    print(json.dumps({"cpu": used / took}))
"""


@pytest.mark.parametrize(("part", "resource"), [("work", "one thread"), ("wait", "loaders")])
def test_the_bottleneck_is_the_one_that_the_script_has(corral: Corral, part: str, resource: str) -> None:
    script = corral.script("bound.py", BOUND)
    cpu = json.loads(corral("run", "--quiet", "--name", part, script, part).stdout)["cpu"]
    found = corral.json("explain", part)
    bottleneck = found["bottleneck"]
    assert bottleneck["part"] == part
    if cpu < 0.9 or bottleneck["resource"] in ("other programs", "steal"):
        pytest.skip(f"other programs had its CPU: it computed {cpu:.0%} of the time")
    assert bottleneck["resource"] == resource
    (thread,) = [one for one in bottleneck["evidence"] if one["metric"] == "run.thread.cpu"]
    assert thread["mean"] == pytest.approx(cpu, abs=0.15)
    assert bottleneck["hint"]
    assert bottleneck["text"] in found["summary"]
    assert f"\n  {bottleneck['text']}\n" in corral("explain", part).stdout.decode()


def test_without_its_counters_the_resource_is_unknown(corral: Corral) -> None:
    script = corral.script("bound.py", BOUND)
    corral("run", "--quiet", "--name", "blind", "--no-listeners", script, "work")
    bottleneck = corral.json("explain", "blind")["bottleneck"]
    assert (bottleneck["resource"], bottleneck["evidence"], bottleneck["hint"]) == ("unknown", [], None)
    assert "run.thread.cpu" in {one["metric"] for one in bottleneck["unproven"]}
    assert "not known whether it is one thread: run.thread.cpu: " in corral("explain", "blind").stdout.decode()


def test_findings_are_ranked_and_marked(corral: Corral) -> None:
    script = corral.script(
        "odd.py",
        """
        import time, corral
        for epoch in range(10):
            with corral.phase("epoch", kind="control"):
                for _ in range(6):
                    with corral.phase("step"):
                        with corral.phase("data wait", kind="wait"):
                            time.sleep(0.3 if epoch == 6 else 0.02)
                        time.sleep(0.02)
        """,
    )
    corral("run", "--quiet", "--name", "odd", script)
    found = corral.json("explain", "odd")
    findings = found["findings"]
    assert findings == sorted(findings, key=lambda one: -one["seconds"])
    by_kind = {one["kind"]: one for one in reversed(findings)}
    assert by_kind["bottleneck"]["id"] == "bottleneck wait data wait"
    assert by_kind["bottleneck"]["text"] == found["bottleneck"]["text"]
    odd = by_kind["odd epoch"]
    assert (odd["phase"], odd["lane"]) == ("data wait", found["epochs"][0]["lane"])
    assert odd["text"].startswith("Epoch 6 differs: ")
    assert 6 * 0.28 * 0.8 <= odd["seconds"] <= 6 * 0.28 * 2, "sleeping may take longer"
    notes = f"/api/corral/v1/runs/{found['run']}/notes"
    corral.post(notes, {"finding": odd["id"], "mark": "dismissed", "text": "a test"})
    assert "Marked by people" in corral("explain", "odd").stdout.decode()
    assert corral.json("explain", "odd")["findings"] == findings


STEPS = """
import sys, time, corral
for _ in range(20):
    with corral.phase("step"):
        with corral.phase("data wait", kind="wait"):
            time.sleep(float(sys.argv[1]))
        time.sleep(0.01)
"""


def test_runs_of_a_workload_and_of_a_plan_have_a_line_each(corral: Corral) -> None:
    script = corral.script("steps.py", STEPS)
    run = ("run", "--quiet", "--no-listeners", "--workload", "seven")
    corral(*run, "--name", "waits", script, "0.04")
    corral(*run, "--name", "works", script, "0")
    said = corral("explain", "seven").stdout.decode()
    assert "workload seven: 2 runs" in said
    lines = said[said.index("Runs\n") :].splitlines()
    (waits,) = [line for line in lines if line.split()[:1] == ["waits"]]
    assert "% data wait: unknown" in waits
    found = corral.json("explain", "seven")["runs"]
    assert {one["run"] for one in found} == {one["id"] for one in corral.runs()}
    refused = corral("explain", "seven", "--from", "1s", status=2).stderr.decode()
    assert "not for workload seven" in refused
    assert "no run, workload, plan or experiment 'eight'" in corral("explain", "eight", status=1).stderr.decode()

    plan = Plan(corral, [f"E,1,planned,,,,,{script},0.02", f"E,2,other,,,,,{script},0.01"])
    plan.run()
    said = corral("explain", "plan.csv", "--format", "markdown").stdout.decode()
    assert "plan.csv: 2 runs" in said
    rows = [line for line in said.splitlines() if "data wait: unknown" in line]
    assert len(rows) == 2
    assert any(run["name"] in rows[0] for run in corral.runs())
    assert len(corral.json("explain", str(plan.path))["runs"]) == 2


def test_collocation_of_a_plan(corral: Corral) -> None:
    """A training of 30 ms a step, and two at once of 60 ms: what they wait for in the GPU, here asleep."""
    script = corral.script(
        "train.py",
        """
        import corral, sys, time
        length = float(sys.argv[sys.argv.index("--step") + 1])
        for _ in range(100):
            with corral.phase("step"):
                time.sleep(length)
        """,
    )
    header = "Experiment,Workload,Name,Status,Run,Devices,Collocation,Listeners,File,Params"
    rows = [
        f"shared,{number},,,,,,proc,{script},--model small --step {step}"
        for number, step in ((1, 0.03), (2, 0.06), (2, 0.06), (3, 0.03))
    ]
    plan = Plan(corral, rows, header)
    plan.run()
    corral.wait_spool_empty()

    found = corral.json("collocation", "plan.csv", "--job", "params.model")
    (job,) = found["jobs"]
    assert (job["what"], job["alone"][0]["n"]) == ("small", 2)
    (one,) = found["configurations"]
    assert (one["jobs"], one["measured"]) == (["A", "A"], 1)
    # Sleeping takes longer on a busy machine, the more the shorter it is.
    assert 1.3 < one["slowdowns"][0]["slowdown"] < 2.5
    assert one["throughput"] == pytest.approx(2 / one["turnaround"], rel=0.01)
    assert one["energy"] is None, "no GPU is here"
    for run in found["cells"][0]["runs"]:
        assert run["slowdown"] == pytest.approx(run["step_s"] / job["alone"][0]["step_s"])
    told = corral("collocation", "plan.csv", "--job", "params.model").stdout.decode()
    assert "2A" in told
    assert "Who is slowed down by whom" in told
    lines = list(csv.DictReader(io.StringIO(corral("collocation", "shared", "--format", "csv").stdout.decode())))
    assert len(lines) == 1, "by its command, the two at once are another job"
    assert (lines[0]["sharing"], lines[0]["beside"], lines[0]["n_together"]) == ("naive", "B", "1")
    assert lines[0]["host"] == found["cells"][0]["runs"][0]["host"]
    assert lines[0]["slowdown"] == ""
    assert b"no run of" in corral("collocation", "shared").stdout
    assert b"job must be params.KEY" in corral("collocation", "shared", "--job", "colour", status=2).stderr
    program = "import json, corral; print(json.dumps(corral.collocation('plan.csv', job='params.model')))"
    assert printed_by(corral, program) == found


def test_a_neighbour_that_starts_again_disturbs_with_one_of_its_rounds(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, sys, time
        for _ in range(int(sys.argv[2])):
            with corral.phase("step"):
                time.sleep(0.02)
        """,
    )
    header = "Experiment,Workload,Name,Status,Run,Devices,Collocation,Listeners,File,Params,Loop"
    rows = [
        f"E,1,,,,,,proc,{script},main 60,",
        f"E,2,,,,,,proc,{script},main 400,",
        f"E,2,,,,,,proc,{script},again 60,yes",
    ]
    plan = Plan(corral, rows, header)
    plan.run()
    corral.wait_spool_empty()

    found = corral.json("collocation", "plan.csv")
    (cell,) = found["cells"]
    assert cell["reason"] is None
    assert cell["rounds_left_out"] >= 1, "8 s hold some rounds of 1.2 s, and the one that was stopped"
    assert sorted(run["outcome"] for run in cell["runs"])[0] == "finished"
    assert len(cell["runs"]) == 2
    assert all(run["step_s"] > 0.02 for run in cell["runs"])
    told = corral("collocation", "plan.csv").stdout.decode()
    assert "Of runs that started again, the round counts that was longest beside the others" in told


def test_the_workflow_of_a_plan(corral: Corral) -> None:
    """`first` fails and is repeated; `second` comes After it; `third` after nothing."""
    script = corral.script(
        "train.py",
        """
        import corral, os, sys, time
        if sys.argv[1] == "first" and not os.path.exists(sys.argv[2]):
            open(sys.argv[2], "w").close()
            sys.exit(3)
        with corral.phase("epoch", kind="control"):
            for _ in range(10):
                with corral.phase("step"):
                    time.sleep(0.03)
            with corral.phase("evaluation"):
                time.sleep(0.2)
        """,
    )
    header = "Experiment,Workload,Name,Status,Run,Devices,Collocation,File,Params,After"
    rows = [
        f"sizes,{number},{name},,,,,{script},{name} {corral.home}/failed,{after}"
        for number, name, after in ((1, "first", ""), (2, "second", "1"), (3, "third", ""))
    ]
    plan = Plan(corral, rows, header)
    plan.run(status=1)
    plan.run("--rerun")
    corral.wait_spool_empty()

    both = corral.json("explain", "plan.csv")
    assert len(both["runs"]) == 3
    flow = both["workflow"]
    names = [step["name"] for step in flow["path"]]
    assert [name.split()[-1] for name in names] == ["first", "third", "first", "second"]
    assert [step["link"] for step in flow["path"]] == ["first", "turn", "turn", "after"]
    spent = sum(step["wait_s"] + step["seconds"] for step in flow["path"])
    assert spent == pytest.approx(flow["makespan_s"], abs=1e-6)
    stages = {stage["stage"]: stage["seconds"] for stage in flow["stages"]}
    assert sum(stages.values()) == pytest.approx(flow["makespan_s"], abs=1e-6)
    assert stages["training"] >= 0.9
    assert stages["evaluation"] >= 0.6
    assert stages["unknown"] == pytest.approx(flow["path"][0]["seconds"], abs=1e-6), "the run that failed"
    assert flow["runs"] == {
        "all": 4, "running": 0, "finished": 3, "failed": 1, "interrupted": 0, "repeated": 1
    }  # fmt: skip
    (failed,) = flow["not_finished"]
    assert (failed["outcome"], failed["repeated_by"]) == ("failed", flow["path"][2]["run"])
    waits = {one["run"]: one["wait_s"] for one in flow["queue"]["longest"]}
    assert waits[flow["path"][3]["run"]] == pytest.approx(flow["path"][3]["wait_s"], abs=1e-6)
    assert flow["footprint"]["runs"] == 4

    program = """
import json, corral
errors = []
for group in ("nothing", ""):
    try:
        corral.workflow(group)
    except (LookupError, TypeError) as error:
        errors.append(type(error).__name__)
print(json.dumps([corral.workflow(name) for name in ("some/plan.csv", "2", "sizes")] + errors))
"""
    planned, workload, experiment, *errors = printed_by(corral, program)
    assert planned == flow
    assert (workload["runs"]["all"], workload["queue"], experiment["runs"]["all"]) == (1, None, 4)
    assert errors == ["LookupError", "TypeError"]

    text = corral("explain", "plan.csv").stdout.decode()
    assert flow["summary"] in text
    assert "its After" in text
    assert "workload 3: 1 runs" in corral("explain", "3").stdout.decode(), "too short for a run's id"
    assert "1 failed, 0 interrupted" in text
    markdown = corral("explain", "sizes", "--format", "markdown").stdout.decode()
    assert markdown.startswith("# experiment sizes: 4 runs")
    assert "\n| CRITICAL PATH | WAITED FOR | WAIT | DURATION | OUTCOME |\n| --- |" in markdown

"""MLflow's real clients inside `corral run`: what a script logs through them is the Corral run's, whatever happens."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from relay_support import CLIENTS, QUIET, artifacts, history, only_run, said, steps
from support import ROOT, Corral, alive, until, until_said


def test_a_script_and_the_hardware_are_one_run(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, math, os, time, mlflow
        with mlflow.start_run() as run:
            mlflow.log_params({"batch": 128, "rate": 0.1})
            mlflow.set_tag("kind", "größe")
            for step in range(50):
                mlflow.log_metric("loss", step * 0.5, step=step)
            mlflow.log_metrics({"a": 1.0, "b": math.nan}, step=7)
            time.sleep(0.6)  # a training's: long enough for samples of the hardware
        read = mlflow.get_run(run.info.run_id)
        history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
        print(json.dumps({"id": run.info.run_id, "env": os.environ["CORRAL_RUN_ID"], "params": read.data.params,
                          "loss": read.data.metrics["loss"], "history": len(history), "status": read.info.status}))
        """,
    )
    told = said(corral("run", python, script, env=QUIET).stdout)
    assert told["id"] == told["env"]
    assert told["params"] == {"batch": "128", "rate": "0.1"}
    assert (told["loss"], told["history"], told["status"]) == (24.5, 50, "FINISHED")
    run = only_run(corral)
    assert run["id"] == told["id"]
    assert run["status"] == "finished"
    assert run["params"] == {"batch": "128", "rate": "0.1"}
    assert run["tags"]["kind"] == "größe"
    points = corral.points("@1", "loss")
    assert [(p.step, p.value) for p in points] == [(i, i * 0.5) for i in range(50)]
    assert corral.points("@1", "run.memory.rss"), "the same run has its hardware metrics"
    assert abs(points[0].time_ns - time.time_ns()) < 600e9


@pytest.mark.skipif(not CLIENTS["3"].exists(), reason=".venv-mlflow3 is not installed")
def test_what_is_answered_and_not_kept_is_said(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import mlflow
        from mlflow.genai.datasets import create_dataset
        with mlflow.start_run():
            for name in ("a", "b"):
                create_dataset(name=name).merge_records([{"inputs": {"q": "?"}}])
        """,
    )
    done = corral("run", CLIENTS["3"], script, env=QUIET, seconds=120)
    assert done.stderr.count(b"mlflow.evaluation-datasets: evaluation datasets are not kept") == 1
    run = str(only_run(corral)["id"])
    told = corral.get(f"/api/corral/v1/runs/{run}/health")["parts"]
    assert [(p["state"], p["reason"]) for p in told if p["part"] == "mlflow.evaluation-datasets"] == [
        ("not captured", "evaluation datasets are not kept")
    ]


def test_points_that_a_logged_model_repeats_are_the_runs_once(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import mlflow, numpy
        from sklearn.linear_model import LogisticRegression
        mlflow.sklearn.autolog(silent=True)
        x = numpy.random.default_rng(0).normal(size=(60, 3))
        with mlflow.start_run():
            for step in range(40):
                mlflow.log_metric("loss", 1 / (1 + step), step=step)
            LogisticRegression().fit(x, (x[:, 0] > 0).astype(int))  # MLflow 3 sends the points of step 0 again
        """,
    )
    corral("run", python, script, env=QUIET, seconds=120)
    assert steps(corral, "loss") == list(range(40))


def test_an_experiment_is_the_scripts_unless_the_flag_says_it(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, mlflow
        mlflow.set_experiment("vision")
        with mlflow.start_run(run_name="first") as run:
            mlflow.log_metric("m", 1)
        with mlflow.start_run(run_id=run.info.run_id):
            mlflow.log_metric("m", 2)
        with mlflow.start_run():
            pass
        print(json.dumps(run.info.run_id))
        """,
    )
    corral("run", python, script, env=QUIET)
    first, second = corral.runs()[1], corral.runs()[0]
    assert (first["experiment"], second["experiment"]) == ("vision", "vision")
    assert first["name"] == "first"
    assert len({corral.show(run["id"])["workload_id"] for run in (first, second)}) == 1
    corral("run", "--experiment", "mine", "--name", "chosen", python, script, env=QUIET)
    chosen = corral.runs()[1]
    assert (chosen["experiment"], chosen["name"]) == ("mine", "chosen")


def test_a_search_without_an_experiment_finds_the_run(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, sys, mlflow
        before = mlflow.search_runs(output_format="list")  # before the client knows of any run
        if sys.argv[1:]:
            mlflow.set_experiment(sys.argv[1])
        with mlflow.start_run() as run:
            mlflow.log_metric("loss", 1.0)
        found = mlflow.search_runs(output_format="list")
        other = mlflow.search_runs(["0"], output_format="list")
        print(json.dumps([run.info.run_id, *[[r.info.run_id for r in runs] for runs in (before, found, other)]]))
        """,
    )
    run, before, found, other = said(corral("run", python, script, env=QUIET).stdout)
    assert (before, found, other) == ([run], [run], [run])
    assert corral.show(run)["experiment"] == "default", "the run is where it always was"
    # An experiment that the flag overrides is searched for under the name that the script knows.
    run, before, found, other = said(corral("run", "--experiment", "mine", python, script, "vision", env=QUIET).stdout)
    assert (before, found, other) == ([run], [run], [])
    assert corral.show(run)["experiment"] == "mine"
    # An experiment of the script's own is searched alone.
    run, before, found, other = said(corral("run", python, script, "vision", env=QUIET).stdout)
    assert (len(before), found, other) == (2, [run], [])


def test_later_and_nested_runs_are_children_in_the_same_workload(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, mlflow
        with mlflow.start_run() as parent:
            with mlflow.start_run(nested=True) as nested:
                mlflow.log_metric("inner", 1.0)
                with mlflow.start_run(nested=True) as deep:
                    mlflow.log_param("p", "deep")
        with mlflow.start_run(run_name="later") as later:
            mlflow.log_metric("inner", 2.0)
        try:
            with mlflow.start_run() as failed:
                raise RuntimeError
        except RuntimeError:
            pass
        print(json.dumps([r.info.run_id for r in (parent, nested, deep, later, failed)]))
        """,
    )
    parent, nested, deep, later, failed = said(corral("run", "--name", "top", python, script, env=QUIET).stdout)
    shown = {run: corral.show(run) for run in (parent, nested, deep, later, failed)}
    parents = {run: shown[run]["tags"].get("mlflow.parentRunId") for run in shown}
    assert parents == {parent: None, nested: parent, deep: nested, later: parent, failed: parent}
    assert {run["status"] for run in shown.values()} == {"finished", "failed"}
    assert shown[failed]["status"] == "failed"
    assert shown[later]["name"] == "later"
    assert shown[deep]["params"] == {"p": "deep"}
    assert len({run["workload_id"] for run in shown.values()}) == 1
    assert [p.value for p in corral.points(nested, "inner")] == [1.0]
    assert [p.value for p in corral.points(later, "inner")] == [2.0]


def test_a_server_that_is_killed_again_and_again_is_not_noticed(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, os, time, mlflow
        mlflow.set_experiment("kill")
        seconds = []
        with mlflow.start_run() as run:
            while len(seconds) < 600 or not os.path.exists("enough"):
                step = len(seconds)
                began = time.monotonic()
                mlflow.log_metric("loss", step * 0.5, step=step)
                seconds.append(time.monotonic() - began)
                if step % 100 == 50:
                    with mlflow.start_run(nested=True):
                        mlflow.log_metric("child", step)
                    mlflow.get_run(run.info.run_id)
                time.sleep(0.005)
        print(json.dumps([len(seconds), sorted(seconds)[-6]]))
        """,
    )
    run = corral.start("run", python, script, env=QUIET)
    kills = 0
    while run.poll() is None:
        if corral.server_pid() is not None:
            time.sleep(0.3)  # it works for a while: the kill is to come at any moment of that
            if corral.server_pid() is not None and run.poll() is None:
                corral.kill_server()
                kills += 1
                if kills == 6:
                    (corral.home / "enough").touch()
        time.sleep(0.3)  # and for a while there is none
    out, error = run.communicate()
    assert run.returncode == 0, error.decode()
    assert kills >= 6
    logged, sixth_slowest = said(out)
    # Each kill would have its slow call; some may be the machine's.
    assert sixth_slowest < 2.0, "no log call waited for a server"
    top = corral.runs()[-1]["id"]  # starts a server
    corral.wait_spool_empty()
    assert steps(corral, "loss", top) == list(range(logged))
    assert len(corral.runs()) == 1 + (logged + 49) // 100


def test_a_server_that_is_never_there_costs_no_exception(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, os, time, urllib.request, mlflow
        from mlflow.entities import Dataset, DatasetInput
        began = time.monotonic()
        mlflow.set_experiment("offline")
        with mlflow.start_run() as run:
            for step in range(100):
                mlflow.log_metric("loss", step * 0.5, step=step)
            mlflow.log_params({"p": "v"})
            with mlflow.start_run(nested=True) as child:
                mlflow.log_metric("inner", 5.0)
            mlflow.set_tags({"kept": "1", "gone": "1", "again": "1"})
            mlflow.delete_tag("gone")
            mlflow.delete_tag("again")
            mlflow.set_tag("again", "2")
            client = mlflow.MlflowClient()
            used = Dataset(name="digits", digest="d1", source_type="http", source="http://x")
            client.log_inputs(run.info.run_id, [DatasetInput(used, [])])
            model = {"run_id": run.info.run_id, "artifact_path": "m", "flavors": {}, "utc_time_created": "now"}
            for call, body in {"log-model": {"model_json": json.dumps(model)},
                               "outputs": {"models": [{"model_id": "m-1", "step": 3}]}}.items():
                body = json.dumps({"run_id": run.info.run_id} | body).encode()
                url = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/runs/" + call
                urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})).read()
        read = mlflow.get_run(run.info.run_id)
        try:
            mlflow.search_runs()
            refused = None
        except Exception as error:
            refused = str(error)
        print(json.dumps({"run": run.info.run_id, "child": child.info.run_id, "loss": read.data.metrics["loss"],
                          "status": read.info.status, "refused": refused, "seconds": time.monotonic() - began}))
        """,
    )
    nowhere = {"CORRAL_STORE": "", "CORRAL_SERVER": "http://127.0.0.1:9"}
    told = said(corral("run", python, script, env=QUIET | nowhere, seconds=180).stdout)
    assert (told["loss"], told["status"]) == (49.5, "FINISHED")
    assert "Corral's server does not answer" in told["refused"]
    assert told["seconds"] < 60, "not a wait for each call"
    # The spool goes to a server that is there at last.
    (directory,) = corral.spooled()
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps(manifest | {"server": "", "store": str(corral.store)}))
    corral.serve()
    corral.wait_spool_empty()
    run = corral.show(told["run"])
    assert run["experiment"] == "offline"
    assert run["params"] == {"p": "v"}
    assert (run["tags"]["kept"], run["tags"]["again"], "gone" in run["tags"]) == ("1", "2", False)
    assert [m["artifact_path"] for m in json.loads(run["tags"]["mlflow.log-model.history"])] == ["m"]
    read = corral.get(f"/api/2.0/mlflow/runs/get?run_id={told['run']}")["run"]
    assert [i["dataset"]["name"] for i in read["inputs"]["dataset_inputs"]] == ["digits"]
    assert [m["model_id"] for m in read["outputs"]["model_outputs"]] == ["m-1"]
    assert steps(corral, "loss", told["run"]) == list(range(100))
    child = corral.show(told["child"])
    assert (child["status"], child["tags"]["mlflow.parentRunId"]) == ("finished", told["run"])


def test_ranks_are_one_run_with_a_source_each(corral: Corral, python: Path) -> None:
    worker = corral.script(
        "worker.py",
        """
        import os, mlflow
        rank = int(os.environ["RANK"])
        with mlflow.start_run() as run:
            for step in range(20):
                mlflow.log_metric("loss", rank * 100 + step, step=step)
        print()
        print(run.info.run_id, flush=True)
        """,
    )
    launcher = corral.script(
        "launch.py",
        f"""
        import json, os, subprocess, sys
        ranks = [subprocess.Popen([sys.executable, {str(worker)!r}], env=os.environ | {{"RANK": str(r)}},
                                  stdout=subprocess.PIPE, text=True) for r in range(3)]
        print(json.dumps([p.communicate()[0].splitlines()[-1] for p in ranks]))
        sys.exit(max(p.returncode for p in ranks))
        """,
    )
    ids = said(corral("run", python, launcher, env=QUIET).stdout)
    run = only_run(corral)
    assert set(ids) == {run["id"]}
    assert run["tags"]["corral.ranks"] == "0,1,2"
    values = {
        source: [p.value for p in corral.points("@1", "loss") if p.source == source]
        for source in ("", "rank1", "rank2")
    }
    assert values == {
        "": [float(i) for i in range(20)],
        "rank1": [100.0 + i for i in range(20)],
        "rank2": [200.0 + i for i in range(20)],
    }


def test_processes_without_a_rank_are_runs_of_their_own(corral: Corral, python: Path) -> None:
    trial = corral.script("trial.py", "import mlflow\nwith mlflow.start_run(): mlflow.log_metric('score', 1)")
    script = corral.script(
        "search.py",
        f"""
        import subprocess, sys
        for _ in range(2):
            subprocess.run([sys.executable, {str(trial)!r}], check=True)
        """,
    )
    corral("run", python, script, env=QUIET)
    assert len(corral.runs()) == 2
    assert all(steps(corral, "score", run["id"]) == [0] for run in corral.runs())


def test_wrong_calls_are_refused_as_mlflow_refuses_them(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, mlflow
        refused = []
        def attempt(call, *arguments):
            try:
                call(*arguments)
            except mlflow.exceptions.MlflowException as error:
                refused.append(error.error_code)
        with mlflow.start_run():
            mlflow.log_param("p", "1")
            mlflow.log_param("p", "1")
            attempt(mlflow.log_param, "p", "2")
            attempt(mlflow.log_params, {"p": "3"})
            attempt(mlflow.log_params, {"ß" * 250: "1"})
            attempt(mlflow.get_run, "0" * 32)
            attempt(mlflow.MlflowClient().log_metric, "0" * 32, "m", 1)
            mlflow.set_tag("gone", "x")
            mlflow.delete_tag("gone")
            with mlflow.start_run(nested=True, run_name="n" * 300):
                mlflow.log_metric("inner", 1.0)
        print(json.dumps(refused))
        """,
    )
    refused = said(corral("run", python, script, env=QUIET).stdout)
    assert refused == ["INVALID_PARAMETER_VALUE"] * 3 + ["RESOURCE_DOES_NOT_EXIST"] * 2
    run = only_run(corral, children=1)
    assert run["params"] == {"p": "1"}
    assert "gone" not in run["tags"]
    child = corral.runs()[0]
    assert child["name"] == "n" * 300
    assert steps(corral, "inner", child["id"]) == [0]


def test_a_uri_of_the_users_own_is_respected(corral: Corral) -> None:
    print_uri = ["sh", "-c", "echo uri=$MLFLOW_TRACKING_URI"]
    own = {"MLFLOW_TRACKING_URI": "http://tracking.example:5000"}
    respected = corral("run", *print_uri, env=own)
    assert respected.stdout == b"uri=http://tracking.example:5000\n"
    assert b"--capture-mlflow" in respected.stderr
    captured = corral("run", "--capture-mlflow", *print_uri, env=own)
    assert re.fullmatch(rb"uri=http://127\.0\.0\.1:\d+/[0-9a-f]{32}/[0-9a-f]{32}\n", captured.stdout)
    assert corral("run", "--no-mlflow", *print_uri).stdout == b"uri=\n"
    assert corral("run", "--no-mlflow", "--capture-mlflow", "true", status=2).stderr


def test_a_run_inside_a_run_has_its_own_address(corral: Corral) -> None:
    program = Path(os.environ.get("CORRAL_BUILD", ROOT / "build" / "release")) / "corral"
    done = corral("run", "sh", "-c", f"echo $MLFLOW_TRACKING_URI; {program} run sh -c 'echo $MLFLOW_TRACKING_URI'")
    outer, inner = done.stdout.split()
    assert outer != inner
    assert inner.startswith(b"http://127.0.0.1:")


def test_nobody_else_can_use_the_address(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import http.client, json, os, urllib.parse
        uri = urllib.parse.urlsplit(os.environ["MLFLOW_TRACKING_URI"])
        def status(path):
            connection = http.client.HTTPConnection(uri.hostname, uri.port)
            connection.request("GET", path + "/api/2.0/mlflow/experiments/get?experiment_id=0")
            answer = connection.getresponse()
            answer.read()
            return answer.status
        run = uri.path.split("/")[1]
        print(json.dumps([status(uri.path), status(""), status(f"/{run}"), status(f"/{run}/{'0' * 32}"),
                          status(uri.path + "x")]))
        """,
    )
    assert said(corral("run", script).stdout) == [200, 403, 403, 403, 403]


def test_what_was_logged_outlives_a_killed_supervisor(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import sys, time, mlflow
        mlflow.start_run()
        for step in range(200):
            mlflow.log_metric("loss", step * 0.5, step=step)
        print("logged", file=sys.stderr, flush=True)
        time.sleep(60)
        """,
    )
    run = corral.start("run", python, script, env=QUIET)
    until_said(run, b"logged")
    (directory,) = corral.spooled()
    child = json.loads((directory / "manifest.json").read_text())["child"]["pid"]
    os.kill(run.pid, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    until(lambda: not alive(child), "the script is gone")
    corral.wait_spool_empty()
    assert steps(corral, "loss") == list(range(200))


def test_a_training_does_not_notice_that_its_supervisor_is_killed(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import json, os, pathlib, time, mlflow
        def wait_for(name):
            while not os.path.exists(name):
                time.sleep(0.01)
        mlflow.set_experiment("taken over")
        with mlflow.start_run() as run:
            mlflow.log_param("p", "before")
            client = mlflow.MlflowClient()
            parent = {"mlflow.parentRunId": run.info.run_id}
            open_child = client.create_run(run.info.experiment_id, tags=parent)
            closed = client.create_run(run.info.experiment_id, tags=parent)
            step = 0
            for part in ("killed", "restarted", ""):
                for _ in range(100):
                    mlflow.log_metric("loss", step * 0.5, step=step)
                    step += 1
                if part:
                    pathlib.Path("logged-" + part).touch()
                    wait_for(part)
            try:
                mlflow.log_param("p", "after")
                raise SystemExit("a param was changed")
            except mlflow.exceptions.MlflowException:
                pass
            mlflow.log_text("late", "late.txt")
            client.log_metric(closed.info.run_id, "inner", 1.0)
            client.set_terminated(closed.info.run_id)
            with mlflow.start_run(nested=True) as after:
                mlflow.log_metric("inner", 2.0)
            read = mlflow.get_run(run.info.run_id)
        with mlflow.start_run() as later:
            pass
        pathlib.Path("told").write_text(json.dumps({
            "run": run.info.run_id, "env": os.environ["CORRAL_RUN_ID"], "loss": read.data.metrics["loss"],
            "open": open_child.info.run_id, "closed": closed.info.run_id, "after": after.info.run_id,
            "later": later.info.run_id}))
        """,
    )
    ended = corral.home / "status"
    run = corral.start("run", "sh", "-c", f"{python} {script}; echo $? > {ended}", env=QUIET)
    until((corral.home / "logged-killed").exists, "the script has logged")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    (corral.home / "killed").touch()
    until((corral.home / "logged-restarted").exists, "the server took the address over")
    corral.kill_server()
    corral.serve()
    (corral.home / "restarted").touch()
    until(lambda: ended.exists() and ended.read_text(), "the script has ended", 120)
    assert ended.read_text() == "0\n"
    told = json.loads((corral.home / "told").read_text())
    corral.wait_spool_empty()
    assert told["run"] == told["env"]
    assert told["loss"] == 149.5
    assert sorted(history(corral, told["run"], "loss")) == list(range(300))
    assert (history(corral, told["closed"], "inner"), history(corral, told["after"], "inner")) == ([0], [0])
    shown = {name: corral.show(told[name]) for name in ("run", "open", "closed", "after", "later")}
    assert shown["run"]["params"] == {"p": "before"}
    statuses = {name: run["status"] for name, run in shown.items()}
    ends = {"open": "unknown", "closed": "finished", "after": "finished", "later": "finished"}
    assert statuses == {"run": "unknown"} | ends
    assert {run["experiment"] for run in shown.values()} == {"taken over"}
    assert {shown[name]["tags"]["mlflow.parentRunId"] for name in ends} == {told["run"]}
    assert [f["path"] for f in artifacts(corral, told["run"])] == ["late.txt"]
    assert len(corral.runs()) == 5


def test_a_run_of_a_remote_server_is_answered_by_the_next_one(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import os, pathlib, time, mlflow
        with mlflow.start_run() as run:
            for step in range(100):
                mlflow.log_metric("loss", step * 0.5, step=step)
            pathlib.Path("logged").touch()
            while not os.path.exists("killed"):
                time.sleep(0.01)
            for step in range(100, 200):
                mlflow.log_metric("loss", step * 0.5, step=step)
            assert mlflow.get_run(run.info.run_id).data.metrics["loss"] == 99.5
        pathlib.Path("done").write_text(run.info.run_id)
        """,
    )
    corral.serve()
    remote = {"CORRAL_STORE": "", "CORRAL_SERVER": corral.url()}
    run = corral.start("run", python, script, env=QUIET | remote)
    until((corral.home / "logged").exists, "the script has logged")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    (corral.home / "killed").touch()
    following = corral.start("run", "sleep", "600", env=remote)
    until((corral.home / "done").exists, "the script has ended")
    until(lambda: len(corral.spooled()) == 1, "its run is finished")
    following.terminate()
    following.communicate()
    told = (corral.home / "done").read_text()
    assert sorted(history(corral, told, "loss")) == list(range(200))
    assert corral.show(told)["status"] == "unknown"


def test_children_of_a_killed_supervisor_end_with_the_command(corral: Corral, python: Path) -> None:
    script = corral.script(
        "train.py",
        """
        import sys, time, mlflow
        mlflow.start_run()
        mlflow.start_run(nested=True)
        mlflow.log_metric("inner", 1.0)
        print("logged", file=sys.stderr, flush=True)
        time.sleep(60)
        """,
    )
    run = corral.start("run", python, script, env=QUIET)
    until_said(run, b"logged")
    (directory,) = corral.spooled()
    child = json.loads((directory / "manifest.json").read_text())["child"]["pid"]
    os.kill(run.pid, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    corral.wait_spool_empty()
    assert [run["status"] for run in corral.runs()] == ["unknown", "unknown"]

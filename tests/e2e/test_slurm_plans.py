"""`corral run plan.csv --slurm`: each workload of a plan runs in a job of a real Slurm with two nodes."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from cluster import LOCAL, NODES, Slurm, slurm
from plan_support import Plan
from support import Corral, until

HEADER = "Experiment,Workload,Name,Status,Run,File,Params,After"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


class Login:
    """A node of the cluster where somebody starts a plan. Nodes have one home, and spools of their own."""

    def __init__(self, corral: Corral, cluster: Slurm, rows: list[str]) -> None:
        self.corral = corral
        self.cluster = cluster
        self.plan = Plan(corral, rows, HEADER)
        own = {"CORRAL_SPOOL": str(LOCAL / corral.home.name), "CORRAL_SERVER": corral.url(), "CORRAL_STORE": ""}
        self.environment = cluster.environment | corral.environment | own | {"PATH": cluster.environment["PATH"]}

    def start(self, *options: str, jobs: str = "--nodes=1") -> subprocess.Popen[bytes]:
        return self.plan.start("--slurm", jobs, *options, env=self.environment)

    def run(self, *options: str, status: int = 0, jobs: str = "--nodes=1") -> str:
        return self.plan.run("--slurm", jobs, *options, status=status, env=self.environment)

    def jobs(self) -> list[int]:
        """Those of this user that wait or run."""
        said = self.cluster.run(["squeue", "--noheader", "--format=%i"]).stdout
        return [int(line) for line in said.split()]

    def hosts(self) -> dict[str, str]:
        return {run["name"]: run["host"] for run in self.corral.runs()}


@pytest.fixture
def login(corral: Corral, cluster: Slurm) -> Iterator[Login]:
    corral.serve()
    login = Login(
        corral,
        cluster,
        [
            "E,1,left,,,work.sh,left ./go,",
            "E,1,right,,,work.sh,right ./go,",
            "E,2,alone,,,work.sh,alone ./go,",
            "E,3,last,,,work.sh,last,1",
        ],
    )
    yield login
    for job in login.jobs():
        cluster.run(["scancel", str(job)], check=False)
    until(lambda: not login.jobs(), "the nodes are free for the next test")


def test_workloads_run_in_jobs_and_are_one_plan(login: Login) -> None:
    head = login.start()
    login.plan.until_started("left", "right", "alone")
    until(lambda: [row["Status"] for row in login.plan.rows().values()] == ["RUNNING"] * 3 + [""], "the file says so")
    login.plan.allow()
    said = login.plan.end(head)
    assert "4 of 4 runs finished" in said
    assert [login.plan.status(name) for name in ("left", "right", "alone", "last")] == ["FINISHED"] * 4
    until(lambda: all(run["status"] == "finished" for run in login.corral.runs()), "all are stored")
    hosts = login.hosts()
    assert hosts["left"] == hosts["right"] != hosts["alone"]
    assert set(hosts.values()) == set(NODES)
    runs = {name: login.corral.show(row["Run"]) for name, row in login.plan.rows().items()}
    assert runs["left"]["workload"] == runs["right"]["workload"]
    assert runs["left"]["end_ns"] <= runs["last"]["start_ns"], "it comes after the first workload"
    plans = login.corral.get("/api/corral/v1/plans")["plans"]
    assert len(plans) == 1
    assert {run["tags"]["corral.plan"] for run in runs.values()} == {plans[0]["id"]}
    assert [run["state"] for run in login.plan.document()["runs"]] == ["finished"] * 4
    assert "nothing" in login.run() or "4 of 4" in login.run()
    assert sorted(login.plan.starts()) == ["alone", "last", "left", "right"]


def test_jobs_go_on_without_their_scheduler_and_nothing_runs_twice(login: Login) -> None:
    head = login.start()
    login.plan.until_started("left", "right", "alone")
    login.plan.kill(head)
    assert "--slurm follows them" in login.plan.run(status=1, env=login.environment), "not here, too"
    head = login.start()
    until(lambda: login.plan.document()["state"] == "running", "it follows them")
    login.plan.allow()
    assert "4 of 4 runs finished" in login.plan.end(head)
    assert sorted(login.plan.starts()) == ["alone", "last", "left", "right"]


def test_ctrl_c_leaves_the_jobs_and_names_them(login: Login) -> None:
    head = login.start()
    login.plan.until_started("left", "right", "alone")
    head.send_signal(signal.SIGINT)
    said = login.plan.end(head, 130)
    named = re.search(r"the same command follows them; `scancel ([\d ]+)` ends them", said)
    assert named, said
    assert sorted(map(int, named[1].split())) == sorted(login.jobs())
    login.cluster.run(["scancel", "--full", *named[1].split()])
    until(lambda: not login.jobs(), "they have ended")
    login.plan.allow()
    login.run()
    assert [login.plan.status(name) for name in ("left", "right", "alone", "last")] == ["FINISHED"] * 4


def test_a_training_has_slurms_time_for_its_checkpoint(login: Login) -> None:
    """Longer than `corral run` itself gives one before it kills it. Slurm's time is a minute here."""
    save = "trap '' TERM; touch got; sleep 8; touch saved; exit 0"
    script = login.plan.folder / "saves.sh"
    script.write_text(f'#!/bin/sh\ntrap "{save}" TERM\ntouch begun\nwhile :; do sleep 0.1; done\n')
    script.chmod(0o755)
    login.plan.write(["E,1,saves,,,saves.sh,,"], HEADER)
    head = login.start()
    until((login.plan.folder / "begun").exists, "it runs")
    login.cluster.run(["scancel", *map(str, login.jobs())])
    until((login.plan.folder / "got").exists, "Slurm's signal has come")
    until((login.plan.folder / "saved").exists, "nobody has killed it")
    login.plan.end(head, None)


def test_what_slurm_refuses_is_said_and_nothing_is_lost(login: Login) -> None:
    login.plan.allow()
    said = login.run(jobs="--partition=nowhere", status=1)
    assert "invalid partition" in said
    assert login.plan.starts() == []
    assert login.plan.status("left") == ""
    login.run()
    assert login.plan.status("last") == "FINISHED"


def test_what_cannot_be_is_refused(login: Login) -> None:
    here = {"CORRAL_SERVER": "", "CORRAL_STORE": str(login.corral.store)}
    assert "--server URL" in login.plan.run("--slurm", "-N1", status=2, env=login.environment | here)
    for options, left_out in (
        ("--array=1-3", "--array"),
        ("--arr 1-3", "--arr"),
        ("-a1-3", "-a"),
        ("--test-only",) * 2,
    ):
        assert f"leave out {left_out}:" in login.run(jobs=options, status=2)
    assert "--cool-down" in login.run("--cool-down", "3s", status=2)
    assert "a quote is not closed" in login.run(jobs="--comment='a", status=2)
    nowhere = login.environment | {"PATH": "/nowhere"}
    assert "sbatch is not in PATH" in login.plan.run("--slurm", "-N1", status=1, env=nowhere)
    assert "sbatch --nodes=1" in login.run("--dry-run")
    assert login.jobs() == []


def test_a_job_waits_in_the_queue_and_says_why(login: Login) -> None:
    busy = [login.cluster.submit("sleep 100\n", "--nodes=1") for _ in NODES]
    head = login.start()
    plans = "/api/corral/v1/plans"
    until(lambda: login.corral.get(plans)["plans"], "the plan is known")
    until(lambda: "2 of 2 jobs wait in the queue" in login.plan.document()["message"], "it says so")
    for job in busy:
        login.cluster.run(["scancel", str(job)])
    login.plan.until_started("left", "right", "alone")
    login.plan.allow()
    login.plan.end(head)

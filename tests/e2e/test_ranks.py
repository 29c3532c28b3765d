"""Trainings of many processes: srun, mpirun and torchrun start them, and all of them record one run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import LOCAL, NODES, SEARCHED, Slurm, mpirun, slurm
from support import BINARY, PATIENCE, PYTHON, Corral, Json, runs_corral, until

MEASURE = ("--interval", "20ms", "--listeners", "proc+tree")
# Says who it is, and ends when the test or its rank is told to.
TRAIN = """
import os, sys, time
import corral
rank = int(os.environ.get("SLURM_PROCID", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
attempt = os.environ.get("SLURM_RESTART_COUNT", "0")
print(f"I am rank {rank} of attempt {attempt}", flush=True)
end = sys.argv[1]
for step in range(10):
    corral.log("loss", rank + 1 / (step + 1), step=step)
while not os.path.exists(end):
    time.sleep(0.01)
sys.exit(3 if os.path.exists(f"{end}-fails-{rank}") else 0)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def environment(corral: Corral, spool: Path | None = None) -> dict[str, str]:
    """Tasks of a cluster have one home, and spools of their own."""
    return corral.environment | {"CORRAL_SPOOL": str(spool or LOCAL / corral.home.name)}


def command(corral: Corral, *options: str, script: str = TRAIN) -> list[str]:
    path = corral.script("train.py", script)
    run = [str(BINARY), "run", "--server", corral.url(), *MEASURE, *options]
    return [*run, PYTHON, str(path), str(corral.home / "end")]


def members(corral: Corral) -> list[Json]:
    runs = corral.runs()
    return list(corral.show(runs[0]["id"])["members"]) if runs else []


def sampled(corral: Corral) -> set[str]:
    """The sources of the run's own use of processors."""
    return {m["source"] for m in corral.show()["metrics"] if m["name"] == "run.cpu.used" and m["points"] > 2}


def output(corral: Corral, member: int) -> str:
    return corral("logs", "@1", "--member", str(member)).stdout.decode()


def start(cluster: Slurm, words: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        cwd=cluster.root,
        env=cluster.environment | env | {"PATH": cluster.environment["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_tasks_of_srun_record_one_run(corral: Corral, cluster: Slurm) -> None:
    corral.serve()
    words = ["srun", "-N2", "-n4", *command(corral, "--name", "ddp")]
    step = start(cluster, words, environment(corral))
    ranks = {f"rank{n}" for n in range(4)}
    until(lambda: len(members(corral)) == 4 and sampled(corral) == ranks, "all four ranks are sampled")
    (corral.home / "end").touch()
    out, error = step.communicate(timeout=PATIENCE)
    assert step.returncode == 0, error
    # At the start and the end; a busy server may not answer in time at the end.
    assert error.count("/runs/") in (1, 2), f"the first rank alone tells the address: {error}"
    run = corral.wait_ended()
    assert len(corral.runs()) == 1
    assert (run["name"], run["status"], run["outcome"]) == ("ddp", "finished", "finished")
    assert [(m["rank"], m["host"], m["attempt"]) for m in run["members"]] == [
        (0, "node1", 0),
        (1, "node1", 0),
        (2, "node2", 0),
        (3, "node2", 0),
    ]
    assert {m["outcome"] for m in run["members"]} == {"finished"}
    # Each rank has its own values, output and use; a host is measured once.
    assert {p.source for p in corral.points(metric="loss")} == ranks
    assert sorted(out.splitlines()) == [f"I am rank {n} of attempt 0" for n in range(4)]
    for member in run["members"]:
        assert output(corral, member["member"]) == f"I am rank {member['rank']} of attempt 0\n"
    assert corral.logs().text("stdout") == "I am rank 0 of attempt 0\n", "the first rank's, unless another is asked for"
    used = [m for m in run["metrics"] if m["name"] == "host.memory.used"]
    assert sorted(m["host"] for m in used) == list(NODES)
    assert run["params"] == {}
    assert run["command"][0] == PYTHON
    shown = corral("show", "@1").stdout.decode()
    assert "node2" in shown
    assert "MEMBER" in shown
    for node in NODES:
        spool = cluster.local(node) / corral.home.name
        assert not [p for p in spool.iterdir() if p.is_dir()], "everything has reached the store"


def test_a_rank_that_fails_makes_the_run_fail(corral: Corral, cluster: Slurm) -> None:
    corral.serve()
    (corral.home / "end-fails-2").touch()
    step = start(cluster, ["srun", "-N2", "-n4", *command(corral)], environment(corral))
    until(lambda: len(members(corral)) == 4, "all ranks are there")
    (corral.home / "end").touch()
    _, error = step.communicate(timeout=PATIENCE)
    assert step.returncode == 3, error
    run = corral.wait_ended()
    assert (run["status"], run["exit_code"], run["outcome"]) == ("failed", 3, "failed")
    assert {m["rank"]: m["exit_code"] for m in run["members"]}[2] == 3


def test_a_job_that_is_requeued_goes_on_with_its_run(corral: Corral, cluster: Slurm) -> None:
    corral.serve()
    words = " ".join(command(corral, "--name", "again"))
    job = cluster.submit(f"srun {words}\n", "-N2", "-n2", env=environment(corral))
    until(
        lambda: len(members(corral)) == 2 and all(output(corral, m["member"]) for m in members(corral)),
        "both ranks of the first attempt have said who they are",
    )
    cluster.run(["scontrol", "requeue", str(job)])
    until(lambda: [m["attempt"] for m in members(corral)] == [1, 1, 0, 0], "the second attempt runs")
    (corral.home / "end").touch()
    run = corral.wait_ended()
    assert len(corral.runs()) == 1
    assert (run["status"], run["outcome"]) == ("finished", "finished")
    assert [m["outcome"] for m in run["members"]][:2] == ["finished"] * 2
    first = run["members"][2]
    assert first["status"] != "finished"
    assert output(corral, first["member"]).startswith("I am rank 0 of attempt 0\n")
    assert output(corral, run["members"][0]["member"]) == "I am rank 0 of attempt 1\n"
    # A requeued script without srun, too.
    (corral.home / "end").unlink()
    alone = cluster.submit(f"{words} alone\n", "-N1", "-n1", env=environment(corral))
    until(lambda: len(corral.runs()) == 2 and corral.runs()[0]["status"] == "running", "the script runs")
    cluster.run(["scontrol", "requeue", str(alone)])
    until(lambda: len(corral.show()["members"]) == 2, "the script runs again")
    (corral.home / "end").touch()
    assert corral.wait_ended()["status"] == "finished"
    assert len(corral.runs()) == 2
    assert {m["source"] for m in corral.show()["metrics"] if m["name"] == "run.cpu.used"} == {""}


def test_the_outcome_says_why_slurm_ended_the_job(corral: Corral, cluster: Slurm) -> None:
    """The training gets Slurm's time for its checkpoint, although the signal comes more than once."""
    corral.serve()
    saves = """
    import os, signal, sys, time
    end = sys.argv[1]
    def save(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(end + "-saves", "w").close()
        while not os.path.exists(end): time.sleep(0.01)
        print("saved", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, save)
    open(end + "-runs", "w").close()
    while True: time.sleep(0.01)
    """
    # The supervisor asks for the first time before the second signal, and has its answer after it.
    slow = corral.script(
        "scontrol",
        f"""#!/bin/sh
        if mkdir {corral.home}/asked 2>/dev/null; then
          until [ -e {corral.home}/end-cancelled ]; do sleep 0.01; done
          echo "JobId=$4 JobState=RUNNING Reason=None"
        else
          exec {shutil.which("scontrol", path=SEARCHED)} "$@"
        fi
        """,
    )
    slow.chmod(0o755)
    words = " ".join(command(corral, script=textwrap.dedent(saves)))
    path = f"{slow.parent}:{SEARCHED}"
    job = cluster.submit(f"srun {words}\n", "-N1", "-n1", env=environment(corral) | {"PATH": path})
    until((corral.home / "end-runs").exists, "the training runs")
    cluster.run(["scancel", "--signal=TERM", str(job)])
    until((corral.home / "end-saves").exists, "the training saves")
    until((corral.home / "asked").exists, "the supervisor asks")
    cluster.run(["scancel", str(job)])
    (corral.home / "end-cancelled").touch()
    reason = f"Slurm's job {job} was cancelled"
    until(lambda: corral.show()["tags"].get("corral.outcome.reason") == reason, "the reason is known")
    (corral.home / "end").touch()
    run = corral.wait_ended()
    assert (run["outcome"], run["status"]) == ("cancelled", "stopped")
    assert run["tags"]["corral.outcome.reason"] == reason
    assert corral.logs().text("stdout") == "saved\n", "nobody killed it meanwhile"


# A clock that is ahead, by BY ns, of the machine's.
CLOCK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  long failed = syscall(SYS_clock_gettime, id, t);
  if (!failed && id == CLOCK_REALTIME) {
    long ns = t->tv_nsec + BY;
    t->tv_sec += ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
  }
  return failed;
}
"""


def test_a_slow_rank_is_named_although_the_clocks_of_the_hosts_differ(corral: Corral, cluster: Slurm) -> None:
    """node2's clock is 250 ms ahead. Rank 0 enters its backward pass 140 ms late, but by the clocks rank 1 does."""
    corral.serve()
    source = corral.script("clock.c", CLOCK)
    ahead = corral.home / "ahead.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-DBY=250000000", "-o", ahead, source], check=True)
    steps = """
    import os, pathlib, sys, time
    import corral
    rank = os.environ["SLURM_PROCID"]
    begin, here = pathlib.Path(sys.argv[1] + "-begin"), pathlib.Path(sys.argv[1] + "-here")
    if rank == "0":
        here.touch()
    while not here.exists():
        time.sleep(0.01)
    if rank == "1":
        pathlib.Path(f"{begin}.new").write_text(str(time.monotonic() + 1))
        os.rename(f"{begin}.new", begin)
    while not begin.exists():
        time.sleep(0.01)
    for step in range(20):
        time.sleep(max(0, float(begin.read_text()) + step * 0.4 - time.monotonic()))
        # They meet, or one that a busy machine has stopped would be a step behind from then on.
        pathlib.Path(f"{begin}-{rank}-{step}").touch()
        while not os.path.exists(f"{begin}-{1 - int(rank)}-{step}"):
            time.sleep(0.001)
        with corral.phase("step"):
            time.sleep(0.15 if rank == "0" else 0.01)
            with corral.phase("backward"):
                time.sleep(0.2)
    """
    words = " ".join(command(corral, script=textwrap.dedent(steps)))
    on_node2 = f"if [ $(hostname) = node2 ]; then export LD_PRELOAD={ahead}; fi; exec {words}"
    cluster.run(["srun", "-N2", "-n2", "sh", "-c", on_node2], env=environment(corral))
    run = corral.wait_ended()
    hosts = {m["rank"]: m["host"] for m in run["members"]}
    clocks = {
        metric: {p.source: p.value for p in corral.points(metric=f"corral.clock.{metric}")}
        for metric in ("offset", "error")
    }
    for rank, host in hosts.items():
        offset, error = (clocks[metric][f"rank{rank}"] for metric in ("offset", "error"))
        # The anchor of the session is not exact either.
        assert abs(offset - (-0.25 if host == "node2" else 0)) <= error + 1e-3
    slow = corral.json("explain", "@1")["slow_rank"]
    assert slow["rank"] == 0, f"{slow} by the clocks {clocks}"
    assert slow["late_s"] == pytest.approx(0.14, abs=0.07)
    assert slow["clock_error_s"] > 0
    assert "by the hosts' clocks) after the first rank" in corral("explain", "@1").stdout.decode()


def test_an_epilog_sends_what_a_killed_job_left(corral: Corral, cluster: Slurm) -> None:
    corral.serve()
    spool = cluster.local("node1") / corral.home.name
    step = start(cluster, ["srun", "-w", "node1", "-n2", *command(corral)], environment(corral))
    until(lambda: len(members(corral)) == 2, "both ranks run")
    for pid in [p for p in corral.processes() if runs_corral(p) and p != corral.server_pid()]:
        os.kill(pid, signal.SIGKILL)
    step.communicate(timeout=PATIENCE)
    # Without control groups Slurm leaves the trainings alone.
    (corral.home / "end").touch()
    until(lambda: set(corral.processes()) <= {corral.server_pid()}, "both trainings have ended")
    assert sum(p.is_dir() for p in spool.iterdir()) == 2
    assert {m["status"] for m in members(corral)} == {"running"}
    env = corral.environment | {"CORRAL_SPOOL": str(spool)}
    sent = corral("spool", "send", "--server", corral.url(), "--user", "root", env=env)
    assert sent.stdout.decode() == f"2 waiting runs reached {corral.url()}\n"
    assert not [p for p in spool.iterdir() if p.is_dir()]
    run = corral.wait_ended()
    assert {p.source for p in corral.points(metric="loss")} == {"rank0", "rank1"}
    assert {m["status"] for m in run["members"]} == {"unknown"}
    again = corral("spool", "send", "--server", corral.url(), env=env)
    assert again.stdout.decode() == f"nothing waits for {corral.url()}\n"


def test_another_users_data_is_sent_by_root_alone(corral: Corral) -> None:
    refused = corral("spool", "send", "--user", "nobody-of-this-name", status=1)
    assert b"there is no user nobody-of-this-name" in refused.stderr
    if os.geteuid() == 0:
        done = subprocess.run(
            [BINARY, "spool", "send", "--user", "root"],
            env=corral.environment,
            capture_output=True,
            check=False,
            user="nobody",
        )
        assert done.returncode == 1
        assert b"only root can send another user's data" in done.stderr


def test_two_commands_of_one_step_are_two_runs(corral: Corral, cluster: Slurm) -> None:
    corral.serve()
    (corral.home / "end").touch()
    words = " ".join(command(corral))
    cluster.run(["srun", "-N2", "-n2", "sh", "-c", f"{words} && {words}"], env=environment(corral))
    until(lambda: [r["status"] for r in corral.runs()] == ["finished"] * 2, "both runs have ended")
    assert [len(corral.show(r["id"])["members"]) for r in corral.runs()] == [2, 2]


def test_the_ranks_of_mpirun_record_one_run(corral: Corral) -> None:
    corral.serve()
    words = mpirun(3, *command(corral))
    process = subprocess.Popen(words, cwd=corral.home, env=environment(corral, corral.spool), start_new_session=True)
    until(lambda: sampled(corral) == {"rank0", "rank1", "rank2"} if members(corral) else False, "all ranks are sampled")
    (corral.home / "end").touch()
    assert process.wait(PATIENCE) == 0
    run = corral.wait_ended()
    assert [m["rank"] for m in run["members"]] == [0, 1, 2]
    assert len(corral.runs()) == 1
    assert b"the run has no member 7" in corral("logs", "@1", "--member", "7", status=1).stderr
    # The same command again is another job.
    assert subprocess.run(words, cwd=corral.home, env=environment(corral, corral.spool), check=False).returncode == 0
    until(lambda: [r["status"] for r in corral.runs()] == ["finished"] * 2, "the second job has a run of its own")


@pytest.mark.skipif(os.geteuid() != 0, reason="another host name needs root")
def test_hosts_with_the_same_key_record_one_run(corral: Corral) -> None:
    corral.serve()
    words = command(corral, "--job", "pair")
    enter = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
    hosts = ("node-a", "node-b")
    started = [
        subprocess.Popen(
            [*enter, host, *words],
            env=environment(corral, corral.home / f"spool-{host}"),
            cwd=corral.home,
            start_new_session=True,
        )
        for host in hosts
    ]
    until(lambda: sampled(corral) == set(hosts) if members(corral) else False, "both hosts are sampled")
    (corral.home / "end").touch()
    assert [process.wait(PATIENCE) for process in started] == [0, 0]
    run = corral.wait_ended()
    assert [(m["rank"], m["host"]) for m in run["members"]] == [(None, "node-a"), (None, "node-b")]
    assert len(corral.runs()) == 1


def test_a_process_without_the_secret_has_a_run_of_its_own(corral: Corral) -> None:
    corral.serve()
    (corral.home / "end").touch()
    config = corral.home / "config" / "corral"
    config.mkdir(parents=True, mode=0o700)
    (config / "job-secret").symlink_to("/etc/hostname")
    done = subprocess.run(
        command(corral, "--job", "pair"),
        env=environment(corral, corral.spool),
        cwd=corral.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, "the training is not held up"
    assert "this process has a run of its own, apart from the others of its job" in done.stderr
    assert "job-secret" in done.stderr
    assert corral.wait_ended()["members"] == []


def test_job_none_keeps_a_process_apart(corral: Corral) -> None:
    corral.serve()
    (corral.home / "end").touch()
    words = mpirun(2, *command(corral, "--job", "none"))
    assert subprocess.run(words, cwd=corral.home, env=environment(corral, corral.spool), check=False).returncode == 0
    until(lambda: [r["status"] for r in corral.runs()] == ["finished"] * 2, "two runs have ended")

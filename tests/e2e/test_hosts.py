"""Series of hosts: two hosts never mix, and runs of one host share its timeline."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support import BINARY, Corral, Json, until

METRIC = "host.memory.used"
OPTIONS = ("--quiet", "--interval", "20ms", "--listeners", "proc")
WAITS = "import os, time\nwhile not os.path.exists('end-' + os.environ['WHO']): time.sleep(0.01)"


def series_of(run: Json) -> list[Json]:
    return [m for m in run["metrics"] if m["name"] == METRIC]


def points_of(corral: Corral, run: str) -> list[int]:
    """The times of the samples that the run shows."""
    if corral.record() is None or run not in {one["name"] for one in corral.runs()}:
        return []
    return [p.time_ns for p in corral.points(run, METRIC)] if series_of(corral.show(run)) else []


def on_host(corral: Corral, host: str, spool: Path, *command: str) -> subprocess.Popen[bytes]:
    """In a UTS namespace whose host has this name."""
    enter = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, str(BINARY), *command]
    env = corral.environment | {"CORRAL_SPOOL": str(spool), "WHO": host}
    return subprocess.Popen(enter, env=env, cwd=corral.home, start_new_session=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="another host name needs root")
def test_a_workload_on_two_hosts_has_two_timelines(corral: Corral) -> None:
    corral.serve()
    script = str(corral.script("waits.py", WAITS))
    hosts = ("node-a", "node-b")
    started = [
        on_host(corral, host, corral.home / f"spool-{host}", "run", *OPTIONS, "--workload", "w", "--name", host, script)
        for host in hosts
    ]
    for host in hosts:
        until(lambda host=host: len(points_of(corral, host)) > 20, f"{host} is sampled")  # type: ignore[misc]
    for host, process in zip(hosts, started, strict=True):
        (corral.home / f"end-{host}").touch()
        assert process.wait(60) == 0
    for host in hosts:
        corral.wait_ended(host)
    runs = [corral.show(host) for host in hosts]
    assert runs[0]["workload_id"] == runs[1]["workload_id"]
    assert [[m["host"] for m in series_of(run)] for run in runs] == [["node-a"], ["node-b"]]
    times = [points_of(corral, host) for host in hosts]
    for run, mine in zip(runs, times, strict=True):
        assert len(mine) == series_of(run)[0]["points"]
        assert mine == sorted(set(mine))
        assert int(run["start_ns"]) - 10**9 <= mine[0] <= mine[-1] <= int(run["end_ns"]) + 10**9
    assert not set(times[0]) & set(times[1]), "a sample of one host is shown for the other"


def test_runs_of_two_workloads_share_their_hosts_timeline(corral: Corral) -> None:
    """The first samples the host for both until its supervisor is killed; then the second does."""
    corral.serve()
    script = corral.script("waits.py", WAITS)
    runs = {}
    for name in ("first", "second"):
        runs[name] = corral.start("run", *OPTIONS, "--workload", name, "--name", name, script, env={"WHO": name})
        until(lambda name=name: len(points_of(corral, name)) > 10, f"{name} shows the host")  # type: ignore[misc]
    since = points_of(corral, "second")[0]
    shared = [t for t in points_of(corral, "first") if t >= since]
    assert set(shared) <= set(points_of(corral, "second")), "one timeline for both"
    os.kill(runs["first"].pid, signal.SIGKILL)
    runs["first"].wait()
    before = len(points_of(corral, "second"))
    until(lambda: len(points_of(corral, "second")) > before + 50, "the second samples the host")
    for name in runs:
        (corral.home / f"end-{name}").touch()
    assert runs["second"].wait(60) == 0
    corral.wait_ended("first")
    one, other = corral.show("first"), corral.show("second")
    assert one["workload_id"] != other["workload_id"]
    assert series_of(one)[0]["series"] != series_of(other)[0]["series"]
    times = points_of(corral, "second")
    assert times == sorted(set(times))
    assert len(times) == series_of(other)[0]["points"]
    assert not list(corral.spool.glob("host-*.lock")), "the last one takes its lock away"

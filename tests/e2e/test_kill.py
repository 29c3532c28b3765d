"""kill -9 of trainee, supervisor and server at random: what was logged is stored exactly once, training never stops.

The expected points come from a counter in shared memory that the logging program keeps by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from support import Corral, Counter, alive, check_steps, until

ROUNDS = 50
AT_ONCE = 5  # rounds that go on at the same time, against one server


def wait_random(rng: random.Random, seconds: float) -> None:
    """Busy for the last part, so that the instant is as random as its number."""
    end = time.monotonic() + rng.random() * seconds
    time.sleep(max(0.0, end - time.monotonic() - 0.002))
    while time.monotonic() < end:
        pass


def rounds(rng: random.Random, one: Callable[[int, random.Random], None]) -> None:
    seeds = [rng.random() for _ in range(ROUNDS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(one, i, random.Random(seed)) for i, seed in enumerate(seeds)]:
            done.result()


def start_logger(corral: Corral, i: int, plan: int, burst: int) -> tuple[subprocess.Popen[bytes], Counter]:
    counter = corral.counter(f"counter-{i}")
    pure = {"CORRAL_PURE_PYTHON": "1"} if i % 5 == 4 else {}  # the twin for machines without the native module
    run = corral.start(
        "run", "--quiet", "--interval", "1s", "--name", f"run-{i}", "--", *counter.program(plan, burst), env=pure
    )
    return run, counter


def no_drops(corral: Corral, runs: Iterable[int]) -> None:
    for i in runs:
        assert corral.show(f"run-{i}")["drops"] == {"points": 0, "frames": 0, "ticks": 0}


def test_trainee(corral: Corral, rng: random.Random) -> None:
    corral.serve()
    in_calls = []

    def one(i: int, rng: random.Random) -> None:
        # Every other one without a pause: then most kills strike inside a call.
        run, counter = start_logger(corral, i, 60_000, burst=10 if i % 2 else 1_000_000)
        pid = until(lambda: counter.pid, "the trainee runs")
        wait_random(rng, 0.05)
        with contextlib.suppress(ProcessLookupError):  # it may end just now
            if not counter.done:
                os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=120)
        assert run.returncode == 128 + signal.SIGKILL or counter.done
        points = corral.points(f"run-{i}", "x") if counter.returned > 0 else []
        check_steps(points, counter.returned, in_flight=1)
        in_calls.append(len(points) - counter.returned)

    rounds(rng, one)
    assert len(corral.runs()) == ROUNDS
    assert {r["status"] for r in corral.runs()} <= {"failed", "finished"}
    assert corral.spooled() == []
    no_drops(corral, range(0, ROUNDS, 10))
    print(f"kills between a call's store and its return: {sum(in_calls)} of {len(in_calls)}")


def test_supervisor(corral: Corral, rng: random.Random) -> None:
    corral.serve()
    counters: dict[int, Counter] = {}
    plan = 12_000

    def one(i: int, rng: random.Random) -> None:
        run, counter = start_logger(corral, i, plan, burst=20)
        counters[i] = counter
        if i % 5:
            until(lambda: counter.pid, "the trainee runs")
            wait_random(rng, 0.5)
        else:
            wait_random(rng, 0.1)  # also before the trainee is there
        run.kill()
        run.communicate(timeout=120)
        if counter.pid == 0:
            time.sleep(0.2)  # released in the last instant: it may still come up
        if counter.pid != 0:
            until(lambda: counter.done, "the training goes on to its planned end")
            until(lambda: not alive(counter.pid), "and ends by itself")

    rounds(rng, one)
    corral.wait_spool_empty()
    stored = {r["name"]: r for r in corral.runs()}
    finished = [i for i, counter in counters.items() if counter.done]
    assert len(finished) >= ROUNDS * 4 // 5
    for i in finished:
        check_steps(corral.points(f"run-{i}", "x"), plan)
        assert corral.logs(f"run-{i}").text("stdout") == "".join(f"{step}\n" for step in range(19, plan, 20))
        assert stored[f"run-{i}"]["status"] in ("unknown", "finished")
    assert sum(r["status"] == "unknown" for r in stored.values()) >= ROUNDS // 2
    no_drops(corral, finished[::8])


def test_server(corral: Corral, rng: random.Random) -> None:
    """Two runs log all the while; each kill waits for the next server that took something in."""
    runs = [start_logger(corral, i, 10_000_000, burst=20) for i in range(2)]

    def stored_something() -> bool:
        done = corral("ls", "metrics", "run-0", "--format", "json", status=None)
        return done.returncode == 0 and any(m["name"] == "x" for m in json.loads(done.stdout))

    until(lambda: all(counter.returned > 0 for _, counter in runs), "both log")
    killed = set()
    for kill in range(ROUNDS):
        pid = until(corral.server_pid, "a server is there")
        if kill % 10 == 9:
            until(stored_something, "points arrive")
        wait_random(rng, 0.3)
        before = [counter.returned for _, counter in runs]
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed.add(pid)
        until(lambda pid=pid: not alive(pid), "the server is gone")  # type: ignore[misc]
        until(lambda before=before: moved(runs, before), "both runs go on")  # type: ignore[misc]
        corral.start("serve", "--idle-exit", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert len(killed) >= ROUNDS - 5
    for run, counter in runs:
        os.kill(counter.pid, signal.SIGKILL)
        run.communicate(timeout=120)
        assert run.returncode == 128 + signal.SIGKILL
    corral.wait_spool_empty()
    for i, (_, counter) in enumerate(runs):
        check_steps(corral.points(f"run-{i}", "x"), counter.returned, in_flight=1)
        facts = corral.show(f"run-{i}")
        assert facts["drops"] == {"points": 0, "frames": 0, "ticks": 0}
        assert (facts["status"], facts["exit_signal"]) == ("failed", 9)


def moved(runs: list[tuple[subprocess.Popen[bytes], Counter]], before: list[int]) -> bool:
    return all(counter.returned > count for (_, counter), count in zip(runs, before, strict=True))

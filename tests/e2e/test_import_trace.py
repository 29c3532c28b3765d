"""`corral import` of profilers' traces: phases of a run that is there, or of one of their own."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from support import ROOT, Corral, Json

CPU = ROOT / "tests" / "fixtures" / "traces" / "torch-1.13-cpu.json.gz"
BASE = 1_759_395_792_000_000_123  # 2025-10-02
STEP = 10_000.0  # us
STEPS = 12


def event(category: str, name: str, begin: float, length: float, **args: int) -> Json:
    on_device = "stream" in args
    process, thread = (args["device"], args["stream"]) if on_device else (4711, 4712)
    place = {"pid": process, "tid": thread, "ts": begin, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": args}


def step_events(number: int) -> list[Json]:
    """10 ms: 2 ms of waiting for data, two kernels of 3 and 2 ms, a call between ranks that overlaps the second.

    The first kernel is launched after the device went idle (a host wait), the second long before.
    """
    begin, first = number * STEP, 10 * number
    return [
        event("user_annotation", f"ProfilerStep#{number}", begin, STEP - 0.001),
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 2000),
        event("user_annotation", "## forward ##", begin + 2000, 500.5),
        event("cpu_op", "aten::mm", begin + 2100, 200),
        event("cuda_runtime", "cudaLaunchKernel", begin + 2200, 10, correlation=first),
        event("cuda_runtime", "cudaLaunchKernel", begin + 2300, 10, correlation=first + 1),
        event("cuda_runtime", "cudaLaunchKernel", begin + 2400, 10, correlation=first + 2),
        event("user_annotation", "Optimizer.step#SGD.step", begin + 3000, 100),
        event("cuda_runtime", "cudaStreamSynchronize", begin + 4000, 4600, correlation=first + 3),
        event("kernel", "gemm_1", begin + 2500, 3000, device=0, stream=7, correlation=first),
        event("kernel", "gemm_2", begin + 5600, 2000, device=0, stream=7, correlation=first + 1),
        event("kernel", "ncclDevKernel_AllReduce", begin + 6600, 2000, device=0, stream=20, correlation=first + 2),
    ]


def cuda_trace(base: int = BASE, rank: int = 0) -> Json:
    name = {"ph": "M", "name": "thread_name", "pid": 4711, "tid": 4712, "args": {"name": "thread 4712 (python)"}}
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "traceEvents": [found for number in range(STEPS) for found in step_events(number)] + [name],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
    }


@pytest.fixture
def trace(corral: Corral) -> Path:
    file = corral.home / "node7.pt.trace.json.gz"
    file.write_bytes(gzip.compress(json.dumps(cuda_trace()).encode()))
    return file


def phases(corral: Corral, run: str) -> list[Json]:
    found: list[Json] = corral.get(f"/api/corral/v1/runs/{run}/phases")["phases"]
    return found


def spans(found: list[Json]) -> list[tuple[Json, ...]]:
    return [tuple(phase[key] for key in ("id", "parent", "type", "lane", "start_ns", "end_ns")) for phase in found]


def test_a_trace_becomes_a_run_that_explain_understands(corral: Corral, trace: Path) -> None:
    said = corral("import", trace).stdout.decode()
    assert "left out: 12 operators\n" in said
    assert f", {STEPS} steps\n" in said
    run = corral.get("/api/corral/v1/runs/node7")
    assert run["start_ns"] == str(BASE)
    assert run["end_ns"] == str(BASE + 12 * 10_000_000 - 1)
    found = corral.json("explain", "node7")
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["data wait"]["seconds"] == pytest.approx(12 * 0.002, abs=1e-9)
    assert (parts["data wait"]["kind"], parts["data wait"]["type"]) == ("wait", "step/data wait")
    assert parts["cudaStreamSynchronize"]["seconds"] == pytest.approx(12 * 0.0046, abs=1e-9)
    assert parts["## forward ##"]["seconds"] == pytest.approx(12 * 0.0005005, abs=1e-9)
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1, abs=1e-9)
    lanes = {lane["lane"]: lane for lane in found["lanes"]}
    assert lanes["trace/rank0/4711/thread 4712 (python)"]["trains"]
    assert "trace/rank0/GPU 0/stream 7" in lanes
    corral("show", "node7", "--check-trace")


def test_explain_says_how_busy_the_device_was(corral: Corral, trace: Path) -> None:
    corral("import", trace, "--name", "job")
    (device,) = corral.json("explain", "job")["devices"]
    assert (device["device"], device["rank"]) == ("trace/rank0/GPU 0", 0)
    assert (device["streams"], device["phases"]) == (2, 3 * STEPS)
    milliseconds = {"compute_s": 5, "communication_s": 2, "overlap_s": 1, "busy_s": 6}
    for member, each in milliseconds.items():
        assert device[member] == pytest.approx(STEPS * each / 1e3, abs=1e-9), member
    # Between the steps, and between the two kernels of one.
    idle = {"host_wait_s": 0.0039 * (STEPS - 1), "kernel_wait_s": 0, "other_s": 0.0001 * STEPS, "unknown_s": 0}
    assert device["idle"] == pytest.approx(idle, abs=1e-9)
    assert "of its idle time waited for the host's next launch" in device["text"]
    text = corral("explain", "job").stdout.decode()
    assert f"\nDevices\n  {device['text']}\n" in text
    assert "IDLE: HOST" in text
    assert corral.json("explain", "job", "--to", "1ms")["devices"] == []


@pytest.mark.parametrize(("kernel", "part", "said"), [(2500, "wait", 100), (100, "work", 5)])
def test_a_wait_bounds_only_while_the_device_idles(corral: Corral, kernel: int, part: str, said: int) -> None:
    """Waits of 2.1 ms in steps of 10 ms, while the device idles, or beside a kernel of 2 ms."""
    content = cuda_trace()
    kept = []
    for found in content["traceEvents"]:
        if found["name"].startswith("enumerate"):
            found["dur"] = 2100
        if found["name"] == "gemm_1":
            found |= {"ts": found["ts"] - 2500 + kernel, "dur": 2000}
        if found["name"] not in ("## forward ##", "cudaStreamSynchronize"):
            kept.append(found)
    file = corral.home / "job.json"
    file.write_text(json.dumps(content | {"traceEvents": kept}))
    corral("import", file, "--name", "job")
    bottleneck = corral.json("explain", "job")["bottleneck"]
    assert bottleneck["part"] == part
    assert f"the GPU idled in {said} % of " in bottleneck["text"]


def random_kernels() -> list[Json]:
    """600 kernels of one stream with launches now before, now after the end of the one before."""
    chance = random.Random(5)
    events, free, host = [], 1000.0, 900.0
    for number in range(1, 601):
        host = host + chance.uniform(1, 60) if chance.random() < 0.7 else free + chance.uniform(1, 30)
        launch = round(host, 3)
        gap = chance.choice([0.0, 0.01, 0.02, 0.05, 3.0])
        begin = round(max(free + gap, launch + 4), 3)
        length = round(chance.uniform(2, 80), 3)
        events.append(event("cuda_runtime", "cudaLaunchKernel", launch, 1.0, correlation=number))
        name = "gemm" if number % 20 else "ncclDevKernel_AllReduce"
        events.append(event("kernel", name, begin, length, device=0, stream=7, correlation=number))
        free, host = round(begin + length, 3), launch + 1
    return events


# Its answers about random_kernels() in us, the waits rounded to 0.01: temporal breakdown and idle time breakdown.
HTA = {"compute": 23402.079, "non-compute": 1040.816, "idle": 5495.222, "host wait": 5299.89, "kernel wait": 195.34}


def test_the_numbers_are_those_of_holistic_trace_analysis(corral: Corral) -> None:
    """HTA 0.5.0 without its rounding; its kernel wait is compared with 30 us, so it has what is other here."""
    file = corral.home / "kernels.json"
    file.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE, "traceEvents": random_kernels()}))
    corral("import", file)
    (device,) = corral.json("explain", "kernels")["devices"]
    idle = device["idle"]
    assert device["compute_s"] * 1e6 == pytest.approx(HTA["compute"], abs=1e-3)
    assert device["communication_s"] * 1e6 == pytest.approx(HTA["non-compute"], abs=1e-3)
    assert sum(idle.values()) * 1e6 == pytest.approx(HTA["idle"], abs=1e-3)
    assert idle["host_wait_s"] * 1e6 == pytest.approx(HTA["host wait"], abs=0.006)
    assert (idle["kernel_wait_s"] + idle["other_s"]) * 1e6 == pytest.approx(HTA["kernel wait"], abs=0.006)
    assert idle["kernel_wait_s"] > 0


def test_the_same_trace_is_imported_once(corral: Corral, trace: Path) -> None:
    corral("import", trace)
    plain = corral.home / "plain.json"  # the same text, not packed
    plain.write_bytes(gzip.decompress(trace.read_bytes()))
    (run,) = corral.json("ls", "runs")
    before = phases(corral, run["id"])
    assert "nothing was added twice" in corral("import", plain).stdout.decode()
    assert len(corral.json("ls", "runs")) == 1
    assert spans(phases(corral, run["id"])) == spans(before)
    corral("import", plain, "--operators")
    after = phases(corral, run["id"])
    assert len(after) == len(before) + STEPS
    assert {phase["id"] for phase in before} < {phase["id"] for phase in after}
    corral("rm", run["id"], "--now", "--yes")
    corral("import", plain)
    (again,) = corral.json("ls", "runs")
    assert again["id"] != run["id"]
    assert len(phases(corral, again["id"])) == len(before)


def test_traces_of_ranks_go_into_one_run_on_its_time(corral: Corral) -> None:
    corral("run", "--quiet", "--name", "job", "sleep", "2")
    run = corral.get("/api/corral/v1/runs/job")
    start = int(run["start_ns"])
    for rank in (0, 1):
        file = corral.home / f"rank{rank}.json"
        file.write_text(json.dumps(cuda_trace(start + 500_000_000, rank)))
        for _ in range(2):
            corral("import", file, "--run", "job")
    found = phases(corral, run["id"])
    waits = [phase for phase in found if phase["name"] == "data wait"]
    assert len(waits) == 2 * STEPS
    assert min(int(phase["start_ns"]) for phase in waits) == start + 500_000_000
    assert {phase["lane"] for phase in waits} == {
        f"{run['host']}/rank{rank}/4711/thread 4712 (python)" for rank in (0, 1)
    }
    after = corral.get("/api/corral/v1/runs/job")
    assert (after["start_ns"], after["end_ns"]) == (run["start_ns"], run["end_ns"])


def test_a_trace_at_another_time_than_the_run_is_refused(corral: Corral, trace: Path) -> None:
    corral("run", "--quiet", "--name", "job", "true")
    before = phases(corral, "job")
    failed = corral("import", trace, "--run", "job", status=None)
    assert failed.returncode != 0
    assert b"the trace lies outside of the run's time: 2025-10-02T" in failed.stderr
    assert phases(corral, "job") == before


def test_a_profile_of_a_pytorch_without_kineto(corral: Corral) -> None:
    said = corral("import", CPU, "--name", "profile").stdout.decode()
    assert "the trace has no date: its times count from 1970" in said
    found = corral.json("explain", "profile")
    (lane,) = [lane for lane in found["lanes"] if lane["trains"]]
    assert lane["steps"] == 4
    names = {part["name"] for part in found["parts"]}
    assert {"data wait", "optimizer", "## forward ##", "forward and rest"} <= names


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"traceEvents":[{"ph":"X","name":"a" "b":1}]}', b"malformed JSON at byte 37"),
        (b'{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1}', b"the text ends too early"),
        (b'{"a":1}', b"it has no 'traceEvents'"),
        (b"[]", b"none of the trace's 0 events became a phase"),
        # Without the time of packing, which would be part of the test's name and differ between workers.
        (gzip.compress(json.dumps(cuda_trace()).encode(), mtime=0)[:-100], b"the gzip file ends too early"),
        (gzip.compress(b"no JSON", mtime=0), b"malformed JSON at byte 0"),
    ],
)
def test_nothing_of_a_damaged_trace_is_imported(corral: Corral, content: bytes, reason: bytes) -> None:
    corral("run", "--quiet", "--name", "other", "true")
    file = corral.home / "bad.json"
    file.write_bytes(content)
    failed = corral("import", file, status=None)
    assert failed.returncode != 0
    assert reason in failed.stderr
    assert [run["name"] for run in corral.json("ls", "runs")] == ["other"]


def test_options_of_the_other_kind_are_misuse(corral: Corral, trace: Path) -> None:
    for arguments, reason in [
        ((trace, "--copy-artifacts"), b"a trace has no artifacts"),
        ((trace, "--run", "@1", "--name", "x"), b"--run and --name exclude each other"),
        (("mlflow.db", "--run", "@1"), b"are for traces"),
    ]:
        failed = corral("import", *arguments, status=2)
        assert reason in failed.stderr

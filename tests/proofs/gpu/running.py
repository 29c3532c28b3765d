"""Steps 6 and 7: Corral beside nvidia-smi, profilers, an MPS plan, DCGM."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from gpu.machine import Machine, changing
from gpu.nvml import Nvml
from gpu.reading import in_host_namespace
from gpu.record import Json, within

# nvidia-smi's name, ours, its unit in ours, how far the means may differ.
COMPARED = (
    ("power.draw", "host.gpu.power", 1.0, 0.05),
    ("utilization.gpu", "host.gpu.busy", 0.01, 0.1),
    ("memory.used", "host.gpu.memory.used", 2.0**20, 0.02),
    ("clocks.sm", "host.gpu.clock.sm", 1e6, 0.03),
)
COST = "corral.collector.call."


def recording(machine: Machine) -> None:
    record = machine.record
    status, _ = record.run("doctor.txt", [machine.corral, "doctor"])
    record.check("corral doctor ends well", status == 0, status)
    _, text = record.run("listeners.txt", [machine.corral, "doctor", "--listeners", "--format", "json"])
    # Metrics that it cannot measure are listed, each with the reason; that is kept.
    record.check("corral doctor --listeners knows GPU metrics", "host.gpu.busy" in text)
    for interval in ("100ms",) if record.smoke else ("100ms", "1s"):
        one_run(machine, interval, record.seconds(60) + (2 if record.smoke else 0))


def one_run(machine: Machine, interval: str, seconds: float) -> None:
    record, name = machine.record, f"every-{interval}"
    query = ",".join(one[0] for one in COMPARED)
    peer = machine.record.folder / str(record.step) / f"nvidia-smi-{interval}.csv"
    peer.parent.mkdir(parents=True, exist_ok=True)
    with machine.load("sm", seconds + 30), peer.open("w") as output:
        time.sleep(record.seconds(3))
        smi = start_smi(machine, query, output)
        command = ["run", "--quiet", "--name", name, "--experiment", "proof", "--interval", interval]
        status, _ = record.run(f"run-{interval}.txt", [machine.corral, *command, "sleep", f"{seconds:g}"])
        if smi is not None:
            smi.terminate()
            smi.wait()
    if not record.check(f"a run sampled every {interval} ends well", status == 0, status):
        return
    means = exported(machine, name, f"points-{interval}.csv")
    record.finding(f"cost of calls at {interval}, us", {k: v * 1e6 for k, v in means.items() if k.startswith(COST)})
    told = run_facts(machine, name, f"facts-{interval}.json")
    if not in_host_namespace():
        record.check("run.gpu.* is unavailable outside the host's PID namespace", "run.gpu.*" in json.dumps(told))
    compare(machine, interval, peer.read_text(), means)


def start_smi(machine: Machine, query: str, output: Any) -> subprocess.Popen[str] | None:
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-lms", "100"]
    try:
        environment = {**os.environ, **machine.record.environment}
        program = shutil.which("nvidia-smi", path=environment["PATH"]) or "nvidia-smi"
        return subprocess.Popen([program, *command[1:]], env=environment, stdout=output, text=True)
    except OSError as error:
        machine.record.impossible("nvidia-smi beside a run", str(error))
        return None


def exported(machine: Machine, run: str, name: str) -> dict[str, float]:
    """The mean of each metric of a run, once the server has its end; of gpu0 alone, and of each kind of call."""
    deadline = time.monotonic() + 60
    text = ""
    while "host.gpu" not in text and time.monotonic() < deadline:
        time.sleep(0.2)
        _, text = machine.record.run(name, [machine.corral, "export", run, "--metric", "*"])
    lines = [line for line in text.splitlines() if line and not line.startswith(("$", "["))]
    values: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        metric, source = row.get("metric") or "", row.get("source") or ""
        if metric.startswith(COST) or source == "gpu0":
            key = f"{metric}/{source}" if metric.startswith(COST) else metric
            values.setdefault(key, []).append(float(row["value"]))
    return {key: statistics.fmean(found) for key, found in values.items()}


def run_facts(machine: Machine, run: str, name: str) -> Json:
    _, text = machine.record.run(name, [machine.corral, "show", run, "--format", "json"])
    body = text[text.find("{") :]
    try:
        return json.JSONDecoder().raw_decode(body)[0]
    except json.JSONDecodeError:
        return {}


def compare(machine: Machine, interval: str, peer: str, means: dict[str, float]) -> None:
    record = machine.record
    rows = [[part.strip() for part in line.split(",")] for line in peer.splitlines()]
    for column, (_, ours, unit, share) in enumerate(COMPARED):
        found = [row[column] for row in rows if len(row) == len(COMPARED)]
        numbers = [float(one) * unit for one in found if one.replace(".", "", 1).isdigit()]
        if not numbers or ours not in means:
            record.impossible(f"{ours} beside nvidia-smi", "one of the two has no values")
            continue
        mean = statistics.fmean(numbers)
        near = within(mean, means[ours], share) or (ours == "host.gpu.busy" and abs(mean - means[ours]) < 0.05)
        seen = {"nvidia-smi": mean, "corral": means[ours]}
        record.check(f"{ours} at {interval} is nvidia-smi's within {share:.0%}", near, seen)


# ---- step 7

PROFILED = "from gpu.load import main\n\nmain('sm', 3, 0)\n"
DEFAULT_MODE = 0  # compute mode: any number of processes
PLAN = "Experiment,Workload,Devices,Collocation,Model,Listeners,Params,Name\n"


def sharing(machine: Machine) -> None:
    profilers(machine)
    mps(machine)
    dcgm(machine)


def profilers(machine: Machine) -> None:
    record = machine.record
    script = record.keep("profiled.py", PROFILED)
    for tool in ("nsys", "ncu"):
        path = shutil.which(tool)
        if path is None or machine.fake:
            record.impossible(f"a run under {tool}", "it is not installed" if path is None else "a fake driver")
            continue
        command: list[str | Path] = [
            machine.corral,
            "run",
            "--quiet",
            "--name",
            f"under-{tool}",
            "--profile",
            f"{tool}raw",
            script,
        ]
        status, _ = record.run(f"{tool}.txt", command, module_path())
        record.check(f"a run under {tool} ends well", status == 0, status)


def mps(machine: Machine) -> None:
    """Two clients of a daemon of the plan's own: one is over its memory limit, one is killed; then all is put back."""
    record = machine.record
    if not machine.fake and shutil.which("nvidia-cuda-mps-control") is None:
        record.impossible("an MPS plan", "nvidia-cuda-mps-control is not installed")
        return
    mode = Nvml(machine.nvml).read("nvmlDeviceGetComputeMode")["values"]
    if not (machine.fake or machine.settings or mode == [DEFAULT_MODE]):
        record.impossible("an MPS plan", f"compute mode {mode} would have to change, which takes --settings")
        return
    script = record.keep("client.py", (Path(__file__).parent / "client.py").read_text())
    rows = [
        f"proof,1,0,mps:memory=1G,{script},proc,want=4096,over",
        f"proof,1,0,mps:threads=50,{script},proc,want=64,killed",
    ]
    plan = record.keep("plan.csv", PLAN + "\n".join(rows) + "\n")
    variables = changing(machine)
    status, said = record.run("plan.txt", [machine.corral, "run", plan], module_path() | variables)
    record.finding("how the plan of two clients ended", {"status": status, "says": said.splitlines()[-6:]})
    undone, text = record.run("undo.txt", [machine.corral, "undo"], variables)
    record.check("nothing of the plan is left to undo", undone == 0, text.splitlines()[:5])
    left = record.folder / "home" / "state" / "corral" / "mps"
    record.check("no MPS daemon's directories are left", not (left.exists() and any(left.iterdir())))


def dcgm(machine: Machine) -> None:
    record = machine.record
    engine = shutil.which("nv-hostengine")
    if engine is None or machine.fake:
        record.impossible("DCGM", "nv-hostengine is not installed" if engine is None else "a fake driver")
        return
    socket = record.folder / "run" / "dcgm.sock"
    process = subprocess.Popen([engine, "-n", "-d", str(socket)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(5)
        command: list[str | Path] = [
            machine.corral,
            "doctor",
            "--listeners",
            "--dcgm-address",
            socket,
            "--format",
            "json",
        ]
        status, text = record.run("dcgm.txt", command)
        record.check("corral doctor reaches the host engine", status == 0 and "dcgm" in text, status)
    finally:
        process.terminate()
        process.wait()


def module_path() -> dict[str, str]:
    """For commands that run modules of this proof."""
    return {"PYTHONPATH": str(Path(__file__).parents[1])}

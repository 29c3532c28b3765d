"""The active listeners, the metrics they would record here, their cost; a driver that hangs is harmless."""

from __future__ import annotations

import csv
import io
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from support import BUILD, PYTHON, Corral, Json, until


def names(corral: Corral) -> set[str]:
    return {m["name"] for m in corral.json("ls", "metrics", "@1")}


# ---- selection


def test_all_listeners_by_default_and_radts_names(corral: Corral) -> None:
    # First, because a run shows what others measured of its host at the same time, or shortly before.
    corral("run", "--quiet", "--listeners", "ps", "sh", "-c", "sleep 3")
    assert "run.memory.rss" in names(corral)
    assert not any(n.startswith("host.") for n in names(corral))
    corral("run", "--quiet", "sh", "-c", "sleep 3")
    assert {"host.memory.used", "run.memory.rss"} <= names(corral)
    corral("run", "--quiet", "--listeners", "iostat,ps", "sh", "-c", "sleep 3")
    assert {"host.memory.used", "run.memory.rss"} <= names(corral)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tere", "unknown listener 'tere', did you mean 'tree'? There are: proc, tree"),
        ("macmon", "exec source"),
    ],
)
def test_a_listener_that_is_not_there_is_named_before_anything_starts(corral: Corral, words: str, message: str) -> None:
    done = corral("run", "--listeners", words, "sh", "-c", "echo ran", status=2)
    assert message in done.stderr.decode()
    assert done.stdout == b""


# ---- doctor --listeners


def doctor(corral: Corral, env: dict[str, str] | None = None) -> list[Json]:
    done = corral("doctor", "--listeners", "--format", "csv", env=env)
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def test_doctor_shows_every_metric_with_value_unit_and_cost_and_each_absence_with_its_reason(corral: Corral) -> None:
    rows = corral.json("doctor", "--listeners")
    assert {"proc", "tree", "nvidia"} <= {row["listener"] for row in rows}
    by_metric = {(row["listener"], row["metric"], row["source"]): row for row in rows}
    memory = by_metric["proc", "host.memory.used", ""]
    assert memory["available"] is True
    assert memory["unit"] == "B"
    assert memory["value"] > 1e6
    assert 0 < memory["cost_us"] < 1e6
    assert by_metric["proc", "host.cpu.busy", ""]["unit"] == "cores", "a counter is shown as its rate"
    assert by_metric["tree", "run.memory.rss", ""]["value"] > 1e6
    assert not any(row["metric"].startswith("corral.") for row in rows)
    for row in rows:
        assert row["available"] == (row["why"] == ""), row
        assert row["available"] is False or row["metric"], row
    text = corral("doctor", "--listeners").stdout.decode()
    assert text.splitlines()[0].split()[:3] == ["LISTENER", "METRIC", "SOURCE"]
    assert len(doctor(corral)) >= len({(r["listener"], r["metric"], r["source"]) for r in rows}) - 5
    assert not corral.store.exists()


def test_doctor_tries_the_configured_sources(corral: Corral) -> None:
    corral.configure(
        """\
        listeners = "proc"  # of corral run: doctor's flag of this name is another

        [exec.room]
        command = 'while true; do echo "room.temperature 21.5 C # not a comment"; sleep 0.1; done'
        format = "plain"
        [exec.broken]
        command = "echo no such sensor >&2; exit 3"
        [regex.loss]
        pattern = 'loss: (?P<loss>[0-9.]+)'
        [statsd]
        listen = "127.0.0.1:0"
        """.replace(" # not a comment", ""),
    )

    def looked() -> dict[str, Json] | None:
        """It watches for a moment: on a busy machine maybe before the room's command has said anything."""
        rows = {row["listener"]: row for row in doctor(corral)}
        return rows if rows["exec.room"]["metric"] and "no such sensor" in rows["exec.broken"]["why"] else None

    rows = until(looked, "the room is measured, and the other one has failed")
    assert rows["exec.room"]["metric"] == "room.temperature"
    assert (float(rows["exec.room"]["value"]), rows["exec.room"]["unit"]) == (21.5, "C")
    assert "pattern" in rows["regex.loss"]["metric"]
    assert rows["statsd"]["source"].startswith("127.0.0.1:")


@pytest.mark.parametrize("verb", [("run", "true"), ("doctor", "--listeners")])
def test_a_slip_in_a_source_is_named_with_its_line(corral: Corral, verb: tuple[str, ...]) -> None:
    corral.configure('experiment = "x"\n\n[exec.power]\ncomand = "meter"\n')
    error = corral(*verb, status=2).stderr.decode()
    assert "corral.toml:4: [exec.power] has no option 'comand'; did you mean 'command'?" in error


# ---- sources in a run


def driver_that_samples(corral: Corral) -> dict[str, str]:
    """One GPU whose driver keeps samples of its power, one every 20 ms, and lies about its temperature."""
    says = "gpus 1\ngpu0.busy 1\ngpu0.memory_busy 1\ngpu0.ring.0 321000\ngpu0.temperature 512\n"
    timeline = corral.script("driver.timeline", says)
    return {"CORRAL_NVML_LIBRARY": str(BUILD / "fakes" / "libnvidia-ml.so.1"), "CORRAL_FAKE_NVML": str(timeline)}


def test_a_run_records_what_its_sources_give(corral: Corral) -> None:
    corral.configure(
        """\
        [exec.room]
        command = 'while true; do echo "room.temperature 21.5 C"; sleep 0.05; done'
        [regex.loss]
        pattern = 'step (?P<step>\\d+) loss: (?P<loss>[0-9.]+)'
        """,
    )
    script = corral.script(
        "train.py",
        """
        import os, time
        for step in range(100):
            print(f"step {step} loss: {1 / (step + 1)}", flush=True)
        while not os.path.exists("end"):
            time.sleep(0.01)
        print("step 100 loss: 0.0", end="", flush=True)
        """,
    )
    corral.serve()
    corral.environment |= driver_that_samples(corral)
    run = corral.start("run", "--quiet", script)
    wanted = {"room.temperature", "host.gpu.power.samples"}
    until(lambda: corral.runs() and wanted <= names(corral), "the room is measured, and the driver's samples are")
    (corral.home / "end").touch()
    out, error = run.communicate(timeout=60)
    lie = "host.gpu.temperature of gpu0 is 512, outside -40 to 150 °C: such values are stored as read"
    assert (run.returncode, error.decode()) == (0, f"corral: {lie}\n"), "said once"
    assert {p.value for p in corral.points(metric="host.gpu.temperature")} == {512}
    assert (
        "outside -40 to 150 °C, stored as read: 512 to 512"
        in corral.show()["info"]["outside.host.gpu.temperature of gpu0"]
    )
    loss = corral.points(metric="loss")
    assert [(p.step, p.value) for p in loss] == [(s, 1 / (s + 1)) for s in range(100)] + [(100, 0.0)]
    assert {p.value for p in corral.points(metric="room.temperature")} == {21.5}
    assert {m["name"]: m["unit"] for m in corral.json("ls", "metrics", "@1")}["room.temperature"] == "C"
    assert out.count(b"loss") == 101
    samples = corral.points(metric="host.gpu.power.samples")
    assert {p.value for p in samples} == {321}
    gaps = [(b.time_ns - a.time_ns) / 1e6 for a, b in itertools.pairwise(samples)]
    assert gaps, "more than once a second"
    assert all(round(gap / 20) >= 1 and abs(gap - round(gap / 20) * 20) < 1 for gap in gaps), "each at its own time"


# ---- what it costs


def test_the_facts_say_what_collecting_cost(corral: Corral) -> None:
    said = corral("run", "sleep", "2.1").stderr.decode()
    assert "samples" not in said, "too few to complain"
    assert "of a core" not in said, "the cost of a short run is that of its start"
    info = corral.show()["info"]
    assert info["collecting_ticks"] >= 5
    assert 0 <= info["collecting_ticks_late"] <= info["collecting_ticks"]
    assert 0 < info["collecting_cpu_seconds"] < 60
    assert info["collecting_memory_bytes"] > 1 << 20
    assert 0 <= info["collecting_lateness_p50_seconds"] <= info["collecting_lateness_max_seconds"]
    assert corral("run", "--quiet", "true").stderr == b""


# ---- a driver that hangs


@pytest.fixture
def hanging_driver(tmp_path: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "hang.c"
    source.write_text("#include <unistd.h>\nint nvmlInit_v2(void) { for (;;) pause(); }\n")
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def test_a_driver_that_hangs_holds_up_neither_the_run_nor_the_host(corral: Corral, hanging_driver: Path) -> None:
    environment = {"CORRAL_NVML_LIBRARY": str(hanging_driver)}
    command = "while [ ! -e go ]; do sleep 0.05; done; echo done; exit 3"
    run = corral.start("run", "sh", "-c", command, env=environment)

    def sampled() -> bool:
        done = corral("export", "@1", "--metric", "host.memory.used", status=None)
        return len(done.stdout.splitlines()) > 5

    until(sampled, "the host is sampled")
    (corral.home / "go").touch()
    out, error = run.communicate(timeout=60)
    assert (run.returncode, out) == (3, b"done\n")
    assert error.decode().count("listener nvidia: its driver has not answered") == 1, error
    corral.wait_spool_empty()
    assert corral.show()["exit_code"] == 3
    rows = doctor(corral, environment)
    assert [r["why"] for r in rows if r["listener"] == "nvidia"] == ["its driver does not answer"]


def test_runs_hear_what_the_supervisor_that_measures_their_host_cannot_read(
    corral: Corral, hanging_driver: Path
) -> None:
    command = ["sh", "-c", "while [ ! -e $WHO ]; do sleep 0.05; done"]
    options = ("run", "--quiet", "--listeners", "proc,nvidia", "--name")
    driver = {"CORRAL_NVML_LIBRARY": str(hanging_driver)}
    first = corral.start(*options, "first", *command, env={"WHO": "first"} | driver)
    until(lambda: list(corral.spool.glob("host-*.lock")), "it measures the host")
    second = corral.start(*options, "second", *command, env={"WHO": "second", "CORRAL_NVML_LIBRARY": "/no/driver"})

    def states() -> list[str]:
        if corral.record() is None or "second" not in {run["name"] for run in corral.runs()}:
            return []
        parts = {part["part"]: part for part in corral.show("second")["health"]["parts"]}
        return [change["state"] for change in parts.get("listener.nvidia", {"changes": []})["changes"]]

    until(lambda: states() == ["not captured", "partial"], "the other's driver does not answer")
    (corral.home / "first").touch()
    assert first.wait(60) == 0
    until(lambda: states() == ["not captured", "partial", "not captured"], "it measures the host itself")
    (corral.home / "second").touch()
    assert second.wait(60) == 0


def test_orphans_are_counted_and_reaped_while_the_run_goes_on(corral: Corral) -> None:
    script = corral.script(
        "daemons.py",
        """
        import os, sys, time

        read, write = os.pipe()
        for _ in range(40):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while time.process_time() < 0.02:
                        pass
                os._exit(0)
            os.wait()
        os.close(write)
        os.read(read, 1)  # all of them have ended
        supervisor = os.getppid()

        def is_zombie(pid):
            try:
                return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return False  # reaped meanwhile

        def zombies():
            return [p for p in open(f"/proc/{supervisor}/task/{supervisor}/children").read().split() if is_zombie(p)]

        deadline = time.monotonic() + 30
        while zombies() and time.monotonic() < deadline:
            time.sleep(0.1)
        sys.exit(len(zombies()))
        """,
    )
    corral("run", "--quiet", PYTHON, script)
    corral.wait_ended()
    last = {p.metric: p.value for p in corral.points(metric="run.cpu.*")}
    used = last["run.cpu.user"] + last["run.cpu.system"]
    assert used > 40 * 0.02, "the daemons' own clocks do not see how they end"
    if "run.cpu.used" in last:
        assert abs(used - last["run.cpu.used"]) < 0.1 * last["run.cpu.used"]

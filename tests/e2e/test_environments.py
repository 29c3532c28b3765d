"""Environments of commands: containers of two C libraries, requirements, MLproject files; with real tools.

The images are made from nothing: no registry is asked. conda is tried with a fake in src/environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from container_support import HOST_PYTHON, Podman, groups_called, make_podman, remove_podman
from support import ROOT, Corral, Json, control_groups, until

UV = ROOT / ".venv" / "bin" / "uv"


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    root = Path(tempfile.mkdtemp(prefix="corral-podman-"))
    try:
        made = make_podman(root)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    yield made
    remove_podman(made)


@pytest.fixture
def contained(corral: Corral, podman: Podman) -> Corral:
    corral.environment |= podman.environment
    return corral


def facts(corral: Corral) -> dict[str, Json]:
    """Returns the recorded facts of the newest run's environment."""
    return {key: value for key, value in corral.wait_ended()["info"].items() if key.startswith("environment.")}


def used(corral: Corral, counter: str) -> float:
    values = [p.value for p in corral.points(metric=counter)]
    print(counter, values)
    return max(values) - min(values) if values else 0.0


# ---- containers


@pytest.mark.parametrize("libc", ["glibc", "musl"])
def test_a_container_is_recorded_whatever_its_libc(contained: Corral, podman: Podman, libc: str) -> None:
    done = contained("run", "--environment", f"podman=corral-{libc}", "burner", "12", "7", status=7)
    shown = contained.wait_ended()
    assert done.stdout.decode().splitlines() == [f"run {shown['id']}", *(f"epoch {n}" for n in range(12))]
    assert contained.logs().text("stdout").endswith("epoch 11\n")
    # Some of the three seconds of the container's own CPU time, for any owner of its processes.
    assert used(contained, "run.cpu.used") > 0.5
    assert used(contained, "cgroup.cpu.used") > 0.5
    recorded = facts(contained)
    assert recorded["environment.kind"] == "podman"
    assert recorded["environment.image_digest"].startswith("sha256:")
    assert podman.containers() == []


def test_a_container_that_is_known_only_once_it_runs(contained: Corral, podman: Podman) -> None:
    # The docker of this test is podman under its name: no daemon runs here.
    shim = contained.home / "bin" / "docker"
    shim.parent.mkdir()
    shim.write_text('#!/bin/sh\nexec podman "$@"\n')
    shim.chmod(0o755)
    contained.environment["PATH"] = f"{shim.parent}:{contained.environment['PATH']}"
    contained("run", "--environment", "docker=corral-glibc", "burner", "16", "5", status=5)
    contained.wait_ended()
    assert used(contained, "cgroup.cpu.used") > 0.3
    assert podman.containers() == []


@pytest.fixture
def own_groups() -> Iterator[list[Path]]:
    """Control groups as a scheduler makes them: of v1 one in each of two hierarchies."""
    root = Path("/sys/fs/cgroup")
    hierarchies = [root / name for name in ("memory", "cpuacct") if (root / name / "tasks").exists()] or [root]
    groups = [hierarchy / f"corral-test-{os.getpid()}" for hierarchy in hierarchies]
    try:
        for group in groups:
            group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield groups

    def removed(group: Path) -> bool:
        with contextlib.suppress(OSError):  # the last process in it may be about to end
            group.rmdir()
        return not group.exists()

    for group in groups:
        until(lambda group=group: removed(group), f"{group} is empty")  # type: ignore[misc]


def test_a_container_is_in_its_runs_group(contained: Corral, own_groups: list[Path]) -> None:
    groups = ":".join(map(str, own_groups))
    done = contained("run", "--cgroup", groups, "--environment", "podman=corral-musl", "cat", "/proc/self/cgroup")
    name = own_groups[0].name
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if f":/{name}/" in line], lines
    # The groups that podman made for it in other hierarchies and below are gone with it.
    assert sorted(groups_called(name)) == sorted(own_groups)
    assert [p for group in own_groups for p in group.iterdir() if p.is_dir()] == []


def test_python_in_a_container_logs_to_the_run(contained: Corral) -> None:
    script = contained.script(
        "train.py",
        """
        import os
        import corral
        for step in range(200):
            corral.log("loss", step * 0.5, step=step)
        corral.param("where", os.getcwd())
        token = os.environ["TOKEN"]
        corral.param("token", token[::-1])
        for process in filter(str.isdigit, os.listdir("/proc")):  # the host's
            try:
                assert token.encode() not in open(f"/proc/{process}/cmdline", "rb").read(), process
            except OSError:
                pass
        """,
    )
    contained.environment["TOKEN"] = "a1b2c3d4e5"
    # As a plan's column Env names it.
    contained("run", "--pass", "TOKEN", "--environment", f"podman=corral-glibc{HOST_PYTHON}", script.name)
    shown = contained.wait_ended()
    assert shown["params"]["where"] == str(contained.home)
    assert shown["params"]["token"] == "5e4d3c2b1a"
    assert [p.step for p in contained.points(metric="loss")] == list(range(200))
    assert facts(contained)["environment.python_version"].startswith("3.")


def test_ctrl_c_ends_the_container(contained: Corral, podman: Podman) -> None:
    run = contained.start("run", "--environment", "podman=corral-musl", "sh", "-c", "echo go; sleep 600")
    until(lambda: podman("ps", "--quiet").strip(), "the container runs")
    assert run.stdout is not None
    assert run.stdout.readline() == b"go\n"
    run.send_signal(signal.SIGINT)
    assert run.wait(60) != 0
    assert podman.containers() == []
    assert contained.wait_ended()["status"] != "finished"


def test_a_container_outlives_all_of_corral_and_is_taken_over(contained: Corral, podman: Podman) -> None:
    # It ends a while after its last word: whether podman's client still passes that on is podman's matter.
    (contained.home / "train.sh").write_text("echo on; while [ ! -e go ]; do sleep 0.05; done; echo off; sleep 1\n")
    (contained.home / "plan.csv").write_text(
        "Experiment,Workload,Status,Run,Environment,Model,Params\nc,outlives,,,podman=corral-musl,sh,train.sh\n"
    )
    scheduler = contained.start("run", "--no-listeners", "plan.csv")
    (spooled,) = until(contained.spooled, "it is spooled")
    until(lambda: (spooled / "out.log").exists() and b"on" in (spooled / "out.log").read_bytes(), "it runs")
    manifest = json.loads((spooled / "manifest.json").read_text())
    groups = control_groups("corral-outlives-")
    for pid in (scheduler.pid, manifest["supervisor"]["pid"]):
        os.kill(pid, signal.SIGKILL)
    scheduler.wait()
    assert podman.containers()
    undone = contained("undo", status=None)
    assert (undone.returncode, b"waits: " in undone.stdout) == ((1, True) if groups else (0, False))
    assert podman.containers()
    heir = contained.start("run", "--no-listeners", "plan.csv")
    until(lambda: '"adoptions":1' in (spooled / "manifest.json").read_text(), "it is taken over")
    (contained.home / "go").touch()
    heir.communicate(timeout=120)
    contained.wait_spool_empty()
    assert contained.logs(spooled.name).text("stdout") == "on\noff\n"
    # Nobody could reap it, but its tool knows how it ended.
    shown = contained.show(spooled.name)
    assert (shown["tags"]["corral.outcome"], shown["exit_code"]) == ("finished", 0)
    assert podman.containers() == []
    assert control_groups("corral-outlives-") == []


def test_a_killed_supervisors_container_ends_with_its_own_status(contained: Corral, podman: Podman) -> None:
    (contained.home / "train.sh").write_text("while [ ! -e go ]; do sleep 0.05; done; exit 7\n")
    run = contained.start("run", "--environment", "podman=corral-musl", "sh", "train.sh")
    until(lambda: podman("ps", "--quiet").strip(), "the container runs")
    (spooled,) = contained.spooled()
    until(lambda: '"begun_ns":null' not in (spooled / "manifest.json").read_text(), "it has begun")
    run.kill()
    run.wait()
    (contained.home / "go").touch()
    shown = contained.wait_ended(spooled.name)
    assert shown["exit_code"] == 7
    until(lambda: podman.containers() == [], "it is taken away")


def test_stopped_containers_of_finished_runs_are_swept(contained: Corral, podman: Podman) -> None:
    labels = ("--label=corral.supervisor=1.2.3", f"--label=corral.spool={contained.home}/gone")
    podman("run", "--name=corral-left", "--network=host", *labels, "corral-musl", "true")
    assert podman.containers() == ["corral-left"]
    contained("run", "--environment", "podman=corral-musl", "true")
    assert podman.containers() == []


def test_an_image_that_is_not_there_is_named(contained: Corral) -> None:
    done = contained("run", "--environment", "podman=corral-nothing;pull=never", "true", status=None)
    assert done.returncode in (126, 127)
    assert b"image corral-nothing is not present" in done.stderr, done.stderr
    assert not contained.store.exists(), "nothing was started, so nothing is recorded"


# ---- requirements


def wheel(directory: Path) -> Path:
    """A package made here, so that nothing is fetched."""
    path = directory / "fleet-2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fleet.py", "SHIPS = 7\n")
        archive.writestr("fleet-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fleet\nVersion: 2.0\n")
        archive.writestr(
            "fleet-2.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: here\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("fleet-2.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def with_uv(corral: Corral) -> Corral:
    if not UV.exists():
        pytest.skip("uv is not installed in .venv")
    (corral.home / "bin").mkdir()
    (corral.home / "bin" / "uv").symlink_to(UV)
    corral.environment["PATH"] = f"{corral.home / 'bin'}:{corral.environment['PATH']}"
    corral.environment["UV_CACHE_DIR"] = str(corral.home / "uv-cache")
    corral.environment["UV_OFFLINE"] = "1"
    return corral


SHIPS = "import fleet, sys; print(fleet.SHIPS, sys.prefix)\n"


def test_uv_builds_an_environment_once_for_its_content(with_uv: Corral) -> None:
    wheel(with_uv.home)
    (with_uv.home / "requirements.txt").write_text("./fleet-2.0-py3-none-any.whl\n")
    script = with_uv.script("train.py", SHIPS)
    first = with_uv("run", "--environment", "uv=requirements.txt", script)
    assert b"building requirements.txt with uv" in first.stderr
    second = with_uv("run", "--environment", "uv=requirements.txt", script)
    assert b"building" not in second.stderr
    assert first.stdout == second.stdout
    ships, prefix = first.stdout.decode().split()
    assert ships == "7"
    assert Path(prefix).is_relative_to(with_uv.home / ".cache")
    recorded = facts(with_uv)
    assert "fleet==2.0" in recorded["environment.packages"].splitlines()
    assert recorded["environment.requirements"] == "./fleet-2.0-py3-none-any.whl\n"


def test_a_package_that_cannot_be_had_is_named(with_uv: Corral) -> None:
    (with_uv.home / "requirements.txt").write_text("corral-no-such-package==1\n")
    done = with_uv("run", "--environment", "uv=requirements.txt", with_uv.script("train.py", SHIPS), status=None)
    assert done.returncode == 126, done
    assert b"package corral-no-such-package==1 cannot be installed" in done.stderr, done.stderr
    environments = with_uv.home / ".cache" / "corral" / "environments"
    assert [p for p in environments.glob("????????????????????????????????")] == []
    assert not with_uv.store.exists(), "nothing was started, so nothing is recorded"


# ---- others


def test_a_projects_entry_point_runs_with_its_parameters(corral: Corral) -> None:
    project = corral.home / "project"
    project.mkdir()
    (project / "MLproject").write_text(
        "name: p\nentry_points:\n  main:\n    parameters:\n      epochs: {type: float, default: 2}\n"
        '      note: string\n    command: "echo {epochs} {note}; pwd"\n'
    )
    done = corral("run", "--environment", "mlproject=project", "main", "--note", "a; b")
    assert done.stdout.decode().splitlines() == ["2 a; b", str(project)]
    assert facts(corral)["environment.kind"] == "mlproject"
    failed = corral("run", "--environment", "mlproject=project", "main", status=None)
    assert failed.returncode == 126
    assert b"entry point main: needs note: give --note VALUE" in failed.stderr


def test_an_unknown_kind_is_refused_with_the_nearest(corral: Corral) -> None:
    done = corral("run", "--environment", "podmn=x", "true", status=None)
    assert done.returncode in (2, 126)
    assert b"did you mean podman=?" in done.stderr

"""A full disk, for spool, output and store: training goes on, losses are counted and said once, all recovers."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support import PYTHON, Corral, check_steps, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")

Mount = Callable[[Path, int], Path]


@contextmanager
def tmpfs(path: Path, megabytes: int) -> Iterator[Path]:
    path.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "corral-e2e", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("this environment allows no mounts")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def mount(corral: Corral) -> Iterator[Mount]:
    with ExitStack() as stack:
        yield lambda path, megabytes: stack.enter_context(tmpfs(path, megabytes))
        corral.close()


def fill(path: Path, leave: int = 0) -> Path:
    """A file that takes all space of the filesystem but `leave` bytes, although others write there."""
    filler = path / "filler"
    with filler.open("wb") as file:
        while (free := (shutil.disk_usage(path).free - leave) // 4096 * 4096) > 0:
            try:
                os.posix_fallocate(file.fileno(), 0, free)
                break
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return filler


def test_spool_for_points(corral: Corral, mount: Mount) -> None:
    mount(corral.spool, 12)  # with 8 MiB for what it prints
    corral.store.write_text("no store yet")
    counter = corral.counter()
    plan = 300_000  # 9.6 MB
    run = corral("run", "--no-listeners", "--", *counter.program(plan, 5_000, 0.005))
    assert counter.done
    error = run.stderr.decode()
    assert error.count("log calls are being dropped") == 1
    corral.make_way()
    corral.serve()
    corral.wait_spool_empty()
    points = corral.points(metric="x")
    dropped = corral.show()["drops"]["points"]
    assert 0 < dropped < plan
    steps = [p.step for p in points]
    assert len(points) + dropped == plan
    assert len(set(steps)) == len(steps)
    assert corral.show()["status"] == "finished"


def test_spool_limit(corral: Corral) -> None:
    corral.store.write_text("no store yet")
    counter = corral.counter()
    plan = 100_000
    run = corral("run", "--no-listeners", "--spool-limit", "2MiB", "--", *counter.program(plan, 5_000, 0.005))
    assert run.stderr.decode().count("log calls are being dropped") == 1
    assert sum(f.stat().st_size for f in corral.spool.rglob("*.seg")) <= 2 << 20
    corral.make_way()
    corral.serve()
    corral.wait_spool_empty()
    assert len(corral.points(metric="x")) + corral.show()["drops"]["points"] == plan


def test_spool_for_metrics_and_output(corral: Corral, mount: Mount) -> None:
    """Without a server: what is sampled while the disk is full is lost and counted; then it goes on."""
    mount(corral.spool, 24)
    corral.store.write_text("no store yet")
    code = """
        import os, time
        print("before", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.01)
        print("after", flush=True)
    """
    run = corral.start("run", "--interval", "10ms", corral.script("waits.py", code))
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline() == b"before\n"
    until(lambda: any(f.stat().st_size > 10_000 for f in corral.spool.rglob("*.frames")), "samples are spooled")
    filler = fill(corral.spool)
    while b"metrics and output are being dropped" not in (line := run.stderr.readline()):
        assert line, "the supervisor ended"
    filler.unlink()
    frames = next(corral.spool.rglob("*.frames"))
    size = frames.stat().st_size
    until(lambda: frames.stat().st_size > size, "samples are spooled again")
    (corral.home / "go").touch()
    out, error = run.communicate(timeout=60)
    assert run.returncode == 0
    assert out == b"after\n"
    assert b"dropped" not in error
    corral.make_way()
    corral.serve()
    corral.wait_spool_empty()
    facts = corral.show()
    assert facts["status"] == "finished"
    assert facts["drops"]["frames"] > 0
    assert "after" in corral.logs().text("stdout")


def test_a_print_does_not_fail(corral: Corral, mount: Mount) -> None:
    """Output has space reserved ahead, and what is passed on and stored gives its space back."""
    mount(corral.spool, 24)
    # A part is printed when all before it is passed on and stored: the machine's pace does not count.
    parts, lines = 24, 32
    code = f"""
        import os, sys, time
        print("ready", flush=True)
        for i in range({parts * lines}):
            while i % {lines} == 0 and not os.path.exists(f"go-{{i // {lines}}}"):
                time.sleep(0.01)
            sys.stdout.write("%016383d\\n" % i)
    """
    shown = corral.home / "shown"
    with shown.open("wb") as stdout:
        run = corral.start("run", "--no-listeners", corral.script("prints.py", code), stdout=stdout)
    until(lambda: shown.read_bytes() == b"ready\n", "it prints")
    (spooled,) = corral.spooled()

    def has_printed(size: int) -> bool:
        assert run.poll() is None, run.communicate()
        stored = int.from_bytes((spooled / "out.log.stored").read_bytes(), "little")
        return shown.stat().st_size == stored == size

    until(lambda: corral.server_pid() and has_printed(len(b"ready\n")), "a server is there")
    fill(corral.spool)
    for part in range(parts):
        size = len(b"ready\n") + part * lines * 16384
        until(lambda size=size: has_printed(size), f"part {part} is passed on and stored")  # type: ignore[misc]
        (corral.home / f"go-{part}").touch()
    _, error = run.communicate(timeout=60)
    assert run.returncode == 0, error
    assert shown.read_bytes() == b"ready\n" + b"".join(b"%016383d\n" % i for i in range(parts * lines))


def test_store(corral: Corral, mount: Mount) -> None:
    mount(corral.store, 16)
    corral("run", "--no-listeners", "--name", "before", "true")
    filler = fill(corral.store)
    counter = corral.counter()
    done = corral("run", "--name", "during", "--", "sh", "-c", '"$@"; exit 3', "sh", *counter.program(20_000), status=3)
    assert counter.done
    error = done.stderr.decode()
    assert "waits in" in error
    assert str(corral.spool) in error
    assert len(corral.spooled()) == 1
    filler.unlink()
    corral("run", "--no-listeners", "--name", "after", "true")
    corral.wait_spool_empty()
    check_steps(corral.points("during", "x"), 20_000)
    facts = corral.show("during")
    assert (facts["status"], facts["exit_code"]) == ("failed", 3)
    assert facts["drops"] == {"points": 0, "frames": 0, "ticks": 0}
    assert {r["name"]: r["status"] for r in corral.runs()} == {
        "before": "finished",
        "during": "failed",
        "after": "finished",
    }


def test_store_that_was_full_from_the_start(corral: Corral, mount: Mount) -> None:
    mount(corral.store, 4)
    filler = fill(corral.store)
    done = corral("run", "--no-listeners", "--", PYTHON, "-c", "print('trained')")
    assert done.stdout == b"trained\n"
    assert "waits in" in done.stderr.decode()
    filler.unlink()
    corral.serve()
    corral.wait_spool_empty()
    assert corral.show()["status"] == "finished"


def test_store_that_fills_while_a_run_logs(corral: Corral, mount: Mount) -> None:
    mount(corral.store, 16)
    counter = corral.counter()
    logs = counter.program(10**9, 100, 0.01)
    run = corral.start("run", "--no-listeners", "--", *logs, stdout=subprocess.DEVNULL)
    until(lambda: corral.server_pid() and corral("ls", "runs").stdout and counter.returned > 5_000, "the run is stored")
    filler = fill(corral.store)
    at_full = counter.returned
    until(lambda: counter.returned > at_full + 20_000, "the run goes on")
    filler.unlink()
    counter.stop()
    _, error = run.communicate(timeout=120)
    assert run.returncode == 0, error
    corral.wait_spool_empty()
    check_steps(corral.points(metric="x"), counter.returned)

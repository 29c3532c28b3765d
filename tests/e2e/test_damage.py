"""Damaged segments, frames and manifests, malformed requests, filesystems that a store must not be on."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from support import Corral, Counter, Json, alive, until

HEADER = 4096
SLOT = 32


def orphan(corral: Corral, plan: int) -> tuple[Path, Counter]:
    """A run whose supervisor was killed and whose data waits; the run's directory."""
    corral.store.write_text("no store yet")
    counter = corral.counter()
    run = corral.start("run", "--no-listeners", "--name", "orphan", "--", *counter.program(plan, 500, 0.01))
    until(lambda: counter.returned > 0, "it logs")
    run.kill()
    run.wait()
    until(lambda: counter.done and not alive(counter.pid), "the training ends")
    (directory,) = corral.spooled()
    return directory, counter


def take_in(corral: Corral) -> None:
    corral.make_way()
    corral.serve()
    corral.wait_spool_empty()


def told(corral: Corral) -> list[Json]:
    """Returns the collector's and the store's events of the run."""
    done = corral("show", "orphan", status=None)
    return [e for e in corral.events("orphan") if e["origin"] == "corral"] if done.returncode == 0 else []


def flip(path: Path, offset: int, count: int = 1) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        old = file.read(count)
        file.seek(offset)
        file.write(bytes(b ^ 0x5A for b in old))


def test_damaged_slots_are_named_and_the_rest_is_stored(corral: Corral) -> None:
    directory, _ = orphan(corral, 20_000)
    first, second, *_ = sorted((directory / "seg").glob("*.seg"))
    # Slot 0 declares the series; step s is in slot s + 1.
    flip(first, HEADER + SLOT * 101 + 24)
    flip(first, HEADER + SLOT * 201 + 16, 8)
    flip(second, HEADER + SLOT * 50 + 24)
    take_in(corral)
    steps = [p.step for p in corral.points("orphan", "x")]
    missing = sorted(set(range(20_000)) - {s for s in steps if s is not None})
    assert len(steps) == len(set(steps)) == 20_000 - 3
    assert missing[:2] == [100, 200]
    texts = [e["name"] + json.dumps(e["attributes"]) for e in corral.events("orphan") if e["origin"] == "corral"]
    assert any("checksum" in t and "slot" in t for t in texts), texts
    assert corral.show("orphan")["status"] == "unknown"


def test_a_segment_with_a_damaged_header_costs_its_points_alone(corral: Corral) -> None:
    directory, _ = orphan(corral, 20_000)
    segments = sorted((directory / "seg").glob("*.seg"))
    assert len(segments) == 3 or len(segments) == 2
    flip(segments[0], 200)
    corral.make_way()
    corral.serve()
    until(lambda: any(segments[0].name in e["name"] for e in told(corral)), "the damage is reported")
    until(lambda: any("segment" in e["name"] and "lost" in e["name"] for e in told(corral)), "and what it cost")
    steps = [p.step for p in corral.points("orphan", "x")]
    assert len(steps) == len(set(steps))
    assert 0 not in steps
    assert 19_999 in steps


def test_a_truncated_segment_is_named(corral: Corral) -> None:
    directory, _ = orphan(corral, 5_000)
    (segment,) = (directory / "seg").glob("*.seg")
    os.truncate(segment, HEADER + SLOT * 1001)
    take_in(corral)
    assert [p.step for p in corral.points("orphan", "x")] == list(range(1000))


LOG_FRAME = 7


def frames_of(log: Path) -> list[tuple[int, int, int]]:
    """Begin, end and kind of each frame in a file of them. src/codec/frame.cpp has the header."""
    content = log.read_bytes()
    begins = [m.start() for m in re.finditer(b"CRFR", content)]
    return [(at, end, content[at + 5]) for at, end in pairwise([*begins, len(content)])]


def killed_supervisor(corral: Corral, seen: Callable[[Path], bool]) -> tuple[Path, int]:
    """A run that printed and was sampled until `seen`, and on, when its supervisor and its command were killed.

    Returns its frames, and when they were `seen`, in ns.
    """
    corral.store.write_text("no store yet")
    script = "while echo out; do sleep 0.1; done"
    run = corral.start("run", "--interval", "10ms", "--name", "orphan", "sh", "-c", script)

    def logs() -> Iterator[Path]:
        return (log for directory in corral.spooled() for log in directory.glob("*.frames"))

    log = until(lambda: next(filter(seen, logs()), None), "it prints and is sampled")
    half, before = time.time_ns(), log.stat().st_size
    until(lambda: log.stat().st_size > before + 10_000, "and goes on")
    run.kill()
    run.wait()
    os.kill(json.loads((log.parent / "manifest.json").read_text())["child"]["pid"], signal.SIGKILL)
    return log, half


def test_a_damaged_frame_of_the_supervisor_costs_itself_alone(corral: Corral) -> None:
    """A frame of output, which no other depends on; those of metrics declare series for the ones after them."""

    def printed(log: Path) -> list[tuple[int, int]]:
        return [(begin, end) for begin, end, kind in frames_of(log) if kind == LOG_FRAME]

    log, half = killed_supervisor(corral, lambda log: len(printed(log)) > 3 and log.stat().st_size > 20_000)
    begin, end = printed(log)[2]
    flip(log, (begin + end) // 2)
    take_in(corral)
    facts = corral.show("orphan")
    assert facts["status"] == "unknown"
    assert len(facts["metrics"]) > 20
    logs = corral.logs("orphan")
    lost = [gap for gap in logs.gaps if gap["stream"] == "stdout"]
    assert len(lost) == 1, logs.gaps
    kept = int(logs.end["stdout"]) - (int(lost[0]["to"]) - int(lost[0]["from"]))
    assert logs.text("stdout") == "out\n" * (kept // len("out\n"))
    assert any(log.name in e["name"] for e in told(corral))
    assert any(p.time_ns > half for p in corral.points("orphan", "run.cpu.used")), (
        "what came after the damage is stored"
    )


def test_a_damaged_description_of_a_run_is_made_again(corral: Corral) -> None:
    log, half = killed_supervisor(corral, lambda log: log.stat().st_size > 20_000)
    begin, end, _ = frames_of(log)[0]
    flip(log, (begin + end) // 2)
    take_in(corral)
    logs = corral.logs("orphan")
    assert (logs.gaps, len(logs.text("stdout"))) == ([], int(logs.end["stdout"]))
    assert any(p.time_ns > half for p in corral.points("orphan", "run.cpu.used"))


def test_a_damaged_manifest_is_named_and_stops_nobody(corral: Corral) -> None:
    directory, _ = orphan(corral, 100)
    (directory / "manifest.json").write_text("{ not json")
    corral.make_way()
    server = corral.serve(stderr=subprocess.PIPE)
    corral("run", "--no-listeners", "--name", "next", "true")
    assert corral.show("next")["status"] == "finished"
    assert server.stderr is not None
    assert str(directory / "manifest.json") in server.stderr.readline().decode()


def test_a_directory_that_was_never_finished_is_cleared(corral: Corral) -> None:
    """A supervisor that was killed while it made its run's directory leaves one without a manifest."""
    half = corral.spool / ("0" * 31 + "1")
    (half / "seg").mkdir(parents=True)
    old = 1_000_000_000
    os.utime(half, (old, old))
    corral.serve()
    until(lambda: not half.exists(), "the half-made directory is gone")


# Requests


def send(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes, **headers: str
) -> tuple[int, Json]:
    connection.request(method, path, body, {"Content-Type": "application/json"} | headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


API = "/api/corral/v1"


def test_malformed_requests_name_field_and_position_and_the_connection_lives_on(corral: Corral) -> None:
    corral.serve()
    connection = corral.connection()
    connection.connect()
    socket = connection.sock
    cases: list[tuple[str, str, bytes, int, dict[str, object]]] = [
        ("POST", "/charts", b'{"series": [1], "width": 0}', 400, {"field": "width", "position": 16}),
        ("POST", "/charts", b'{"series": [1, "x"], "width": 10}', 400, {"field": "series"}),
        ("POST", "/charts", b'{"series": [1], ', 400, {"code": "invalid_argument"}),
        ("POST", "/charts", b"", 400, {}),
        ("POST", "/charts", b"[]", 400, {}),
        ("POST", "/frames", b"garbage", 400, {"position": 0}),
        ("POST", "/frames", b"\0" * 100, 400, {"position": 0}),
        ("GET", "/runs?limit=many", b"", 400, {"field": "limit"}),
        ("GET", "/sessions/xyz", b"", 400, {}),
        ("GET", "/runs/00000000000000000000000000000000", b"", 404, {}),
        ("GET", "/nothing", b"", 404, {}),
        ("PUT", "/runs", b"", 405, {}),
    ]
    for method, path, body, status, detail in cases:
        got, answer = send(connection, method, API + path, body)
        error = answer["error"]
        assert (path, body, got) == (path, body, status)
        assert error["message"]
        assert error["code"]
        for key, value in detail.items():
            assert error.get(key) == value, (path, body, error)
    assert send(connection, "GET", f"{API}/version", b"")[0] == 200
    assert connection.sock is socket
    connection.close()


def test_a_damaged_frame_is_refused_with_its_position(corral: Corral) -> None:
    """A frame as a supervisor wrote it is taken; with one byte changed it is refused, whole."""
    corral.store.write_text("no store yet")
    corral("run", "--no-listeners", "true")
    (directory,) = corral.spooled()
    frames = next(directory.glob("*.frames")).read_bytes()
    shutil.rmtree(directory)
    corral.make_way()
    corral.serve()
    connection = corral.connection()
    damaged = bytearray(frames)
    damaged[len(frames) // 2] ^= 1
    status, answer = send(connection, "POST", f"{API}/frames", bytes(damaged))
    assert status in (400, 422)
    if status == 400:
        assert 0 <= answer["error"]["position"] <= len(frames) // 2
    else:
        assert answer["refused"]
    status, answer = send(connection, "POST", f"{API}/frames", frames)
    assert status == 200, answer
    assert corral.show()["status"] == "finished"
    again, answer = send(connection, "POST", f"{API}/frames", frames)
    assert again == 200
    assert len(corral.runs()) == 1


def test_too_large_a_body_is_refused(corral: Corral) -> None:
    corral.serve()
    connection = corral.connection()
    status, answer = send(connection, "POST", f"{API}/frames", bytes((64 << 20) + 1))
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert send(connection, "GET", f"{API}/version", b"")[0] == 200
    # A client that asks first is answered before it sends a byte of the body.
    connection.putrequest("POST", f"{API}/frames")
    connection.putheader("Content-Length", str(1 << 40))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    refused = connection.getresponse()
    assert refused.status == 413
    refused.read()
    connection.close()
    assert corral.runs() == []


def test_pages_of_other_sites_are_refused(corral: Corral) -> None:
    corral.serve()
    connection = corral.connection()
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        status, answer = send(connection, "GET", f"{API}/runs", b"", **headers)
        assert (status, answer["error"]["code"]) == (403, "permission")
    assert send(connection, "GET", f"{API}/runs", b"", Origin=corral.url())[0] == 200
    connection.close()


# Filesystems


@contextmanager
def fuse_mount(below: Path, at: Path) -> Iterator[None]:
    bindfs = shutil.which("bindfs")
    if bindfs is None:
        pytest.skip("bindfs is not installed")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be used")
    below.mkdir()
    at.mkdir()
    done = subprocess.run([bindfs, str(below), str(at)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"FUSE mounts do not work here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def test_a_store_on_a_network_filesystem_is_refused(corral: Corral) -> None:
    shared = corral.home / "shared"
    with fuse_mount(corral.home / "below", shared):
        store = shared / "store"
        error = corral("serve", "--store", store, status=1).stderr.decode()
        assert f"{store} is on fuse" in error
        assert "network filesystem" in error
        assert "--server" in error
        done = corral("run", "--no-listeners", "--store", store, "--", "sh", "-c", "echo trained; exit 3", status=3)
        assert done.stdout == b"trained\n"
        assert "network filesystem" in done.stderr.decode()
        assert not store.exists()
        assert len(corral.spooled()) == 1
        doctor = {row["part"]: row for row in corral.json("doctor", "--store", str(store))}
        assert doctor["store"]["available"] is False
        # A spool there would be no better: another directory is taken.
        done = corral("run", "--no-listeners", "--spool", shared / "spool", "true")
        assert "network filesystem" in done.stderr.decode()
        assert not (shared / "spool").exists()

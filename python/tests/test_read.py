"""read() against a server that answers with bytes made here, by docs/format-points.md."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from package import PACKAGE, RUN

sys.path.insert(0, str(PACKAGE))
import corral

START = 1_700_000_000_000_000_000
KINDS = [
    pytest.param("numpy", marks=pytest.mark.skipif(find_spec("numpy") is None, reason="no numpy")),
    pytest.param("pandas", marks=pytest.mark.skipif(find_spec("pandas") is None, reason="no pandas")),
    pytest.param("arrow", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="no pyarrow")),
    "lists",
]
Point = tuple[int, "int | None", float]


def chunk(kind: int, body: bytes, *, count: int = 0, series: int = 0, flags: int = 0) -> bytes:
    return struct.pack("<IIQIIq", kind, flags, len(body), count, series, 1) + body


def text(kind: int, value: object, series: int = 0) -> bytes:
    body = json.dumps(value).encode()
    return chunk(kind, body + bytes(-len(body) % 8), count=len(body), series=series)


def declaration(series: int = 0, metric: str = "loss", points: int = 0) -> bytes:
    facts = {"run": RUN, "run_name": "otter", "start_ns": str(START), "metric": metric, "source": "", "unit": ""}
    return text(1, facts | {"kind": "gauge", "owner": "run", "points": points, "series": 17}, series)


def points(times: list[int], values: list[float], steps: list[int] | None = None, series: int = 0) -> bytes:
    n = len(times)
    columns = struct.pack(f"<{n}q", *times) + (struct.pack(f"<{n}q", *steps) if steps else b"")
    return chunk(2, columns + struct.pack(f"<{n}d", *values), count=n, series=series, flags=1 if steps else 0)


def gap(start: int, end: int, series: int = 0) -> bytes:
    return chunk(3, struct.pack("<qqQ", start, end, 5), series=series)


def stream(*chunks: bytes, totals: tuple[int, int, int] | None) -> bytes:
    end = chunk(4, struct.pack("<QQQ", *totals)) if totals else b""
    return struct.pack("<4sHHQ", b"CRPT", 1, 0, 0) + b"".join(chunks) + end


class Server:
    """Answers every request on a store's socket with the same bytes, in small HTTP chunks."""

    def __init__(self, store: Path) -> None:
        store.mkdir()
        self.store = store
        self.answer = b""
        self.status = "200 OK"
        self.whole = True
        self.asked: dict[str, Any] = {}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(store / "corral.sock"))
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            # A reader may hang up as soon as it has what it needs; the next one is answered all the same.
            with contextlib.suppress(ConnectionError), peer, peer.makefile("rb") as lines:
                self._answer(peer, lines)

    def _answer(self, peer: socket.socket, lines: BinaryIO) -> None:
        size = 0
        while (line := lines.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.asked = json.loads(lines.read(size))
        peer.sendall(f"HTTP/1.1 {self.status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for at in range(0, len(self.answer), 100):
            piece = self.answer[at : at + 100]
            peer.sendall(b"%08x\r\n%s\r\n" % (len(piece), piece))
        if self.whole:
            peer.sendall(b"0\r\n\r\n")

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("SERVER", "STORE", "TOKEN_FILE", "CONFIG"):
        monkeypatch.delenv(f"CORRAL_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    server = Server(tmp_path / "s")
    monkeypatch.setenv("CORRAL_STORE", str(server.store))
    yield server
    server.close()


def rows(result: Any, kind: str) -> list[Point]:
    """Converts any result of read() to (time, step, value)."""
    if kind in ("numpy", "lists"):
        found = []
        for series in result:
            steps = [None] * len(series) if series.step is None else list(series.step)
            if kind == "numpy":
                steps = series.step.tolist() if series.step is not None else steps
            found += list(zip(map(int, series.time_ns), steps, map(float, series.value), strict=True))
        return found
    if kind == "pandas":
        times = result["time"].astype("int64").tolist()
        steps = [None if step is missing(result) else int(step) for step in result["step"]]
        return list(zip(times, steps, result["value"].tolist(), strict=True))
    return [
        (t.value, s, v) for t, s, v in zip(*(result[c].to_pylist() for c in ("time", "step", "value")), strict=True)
    ]


def missing(frame: Any) -> Any:
    return sys.modules["pandas"].NA


@pytest.mark.parametrize("kind", KINDS)
def test_points_arrive_in_order_of_time_whatever_holds_them(server: Server, kind: Any) -> None:
    late = points([START + 5, START + 15], [-0.0, 0.5])
    server.answer = stream(
        declaration(points=2),
        points([START + 10, START + 20, START + 20], [1.0, 2.0, 2.5], [-1, 7, 2**62]),
        late,
        declaration(1, "acc"),
        declaration(2, "lr"),
        points([START], [1e-310], [0], series=2),
        totals=(3, 6, 0),
    )
    found = rows(corral.read("@1", as_=kind), kind)
    assert found == [
        (START + 5, None, -0.0),
        (START + 10, -1, 1.0),
        (START + 15, None, 0.5),
        (START + 20, 7, 2.0),
        (START + 20, 2**62, 2.5),
        (START, 0, 1e-310),
    ]
    assert str(found[0][2]) == "-0.0"
    assert server.asked == {"runs": ["@1"], "metrics": ["*"]}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_the_range_is_an_empty_result(server: Server, kind: Any) -> None:
    server.answer = stream(declaration(), totals=(1, 0, 0))
    result = corral.read(["a", "b"], ["x", "y*"], as_=kind)
    assert rows(result, kind) == []
    assert server.asked == {"runs": ["a", "b"], "metrics": ["x", "y*"]}


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_are_told(server: Server, kind: Any) -> None:
    server.answer = stream(declaration(), points([1], [2.0]), gap(5, 9), gap(-(2**63), 2**63 - 1), totals=(1, 1, 2))
    with pytest.warns(corral.DamageWarning, match="2 gaps in loss"):
        result = corral.read("@1", as_=kind)
    if kind == "pandas":
        gaps = result.attrs["gaps"]
    elif kind == "arrow":
        gaps = json.loads(result.schema.metadata[b"corral.gaps"])
    else:
        gaps = [vars(gap) for gap in result[0].gaps]
    assert [(g["from_ns"], g["to_ns"]) for g in gaps] == [(5, 9), (None, None)]


def test_the_default_is_the_best_that_is_installed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answer = stream(declaration(), points([1], [2.0]), totals=(1, 1, 0))
    read = sys.modules[corral.read.__module__]
    monkeypatch.setattr(read, "installed", lambda name: False)
    (series,) = corral.read("@1")
    assert (series.time_ns, series.step, series.value) == ([1], None, [2.0])
    with pytest.raises(ImportError, match="pip install pyarrow"):
        corral.read("@1", as_="arrow")


@pytest.mark.parametrize(
    ("start", "wanted", "origin"),
    [
        (2, "2000000000", "run"),
        (0.25, "250000000", "run"),
        (-1, "-1000000000", "run"),
        (timedelta(milliseconds=3), "3000000", "run"),
        (START + 1, str(START + 1), "utc"),
        (datetime(2023, 11, 14, 22, 13, 20, 5, timezone.utc), str(START + 5000), "utc"),
        (datetime(2023, 11, 14, 23, 13, 20, tzinfo=timezone(timedelta(hours=1))), str(START), "utc"),
    ],
)
def test_moments(server: Server, start: Any, wanted: str, origin: str) -> None:
    server.answer = stream(declaration(), totals=(1, 0, 0))
    corral.read("@1", start=start, points=1500, as_="lists")
    assert server.asked == {"runs": ["@1"], "metrics": ["*"], "from_ns": wanted, "origin": origin, "points": 1500}


@pytest.mark.skipif(find_spec("numpy") is None, reason="no numpy")
def test_moments_of_numpy(server: Server) -> None:
    np: Any = sys.modules.get("numpy") or __import__("numpy")
    server.answer = stream(declaration(), totals=(1, 0, 0))
    corral.read("@1", start=np.datetime64(START + 3, "ns"), end=np.datetime64("2030-01-01"), as_="lists")
    assert (server.asked["from_ns"], server.asked["to_ns"]) == (str(START + 3), "1893456000000000000")
    corral.read("@1", end=np.float32(1.5), as_="lists")
    assert (server.asked["to_ns"], server.asked["origin"]) == ("1500000000", "run")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"runs": []}, ValueError),
        ({"runs": "@1", "metrics": [""]}, ValueError),
        ({"runs": "@1", "start": "yesterday"}, TypeError),
        ({"runs": "@1", "start": 1, "end": datetime.now()}, ValueError),
        ({"runs": "@1", "as_": "polars"}, ValueError),
        ({"runs": "@1", "server": "host:5000"}, ValueError),
        ({"runs": "@1", "server": "http://host", "store": "/x"}, ValueError),
    ],
)
def test_misuse_is_named(server: Server, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"corral: "):
        corral.read(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"runs": None}, TypeError, "runs must be a name or several"),
        ({"runs": 1}, TypeError, "runs must be"),
        ({"runs": "@1", "metrics": None}, TypeError, "metrics must be"),
        ({"runs": "@1", "points": 4.5}, TypeError, "points must be a whole number"),
        ({"runs": "@1", "start": float("nan")}, ValueError, "start must be seconds since the run's start"),
    ],
)
def test_a_wrong_argument_is_named(
    server: Server, arguments: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=rf"corral: {named}.*, not "):
        corral.read(**arguments)


def test_nothing_is_no_moment(server: Server) -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for nothing in (pd.NaT, pd.NA, np.datetime64("NaT")):
        with pytest.raises(ValueError, match=r"corral: end must be .*, not "):
            corral.read("@1", end=nothing)


CUT: list[Callable[[bytes], bytes]] = [lambda b: b[:-1], lambda b: b[:-56], lambda b: b[:100], lambda b: b[:7]]


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("whole", [True, False])
def test_an_answer_that_is_cut_off_is_no_answer(server: Server, cut: Callable[[bytes], bytes], whole: bool) -> None:
    server.answer = cut(stream(declaration(), points([1, 2], [1.0, 2.0]), totals=(1, 2, 0)))
    server.whole = whole
    with pytest.raises(ConnectionError, match="cut off"):
        corral.read("@1", as_="lists")


def test_an_error_in_the_middle_is_raised(server: Server) -> None:
    error = text(5, {"code": "io", "message": "disk on fire"})
    server.answer = stream(declaration(), points([1], [1.0]), error, totals=None)
    with pytest.raises(RuntimeError, match="the server failed: disk on fire"):
        corral.read("@1", as_="lists")


@pytest.mark.parametrize(
    "broken",
    [
        stream(declaration(), points([1], [1.0]), totals=(1, 2, 0)),
        stream(points([1], [1.0]), totals=(0, 1, 0)),
        stream(declaration(1), totals=(1, 0, 0)),
        stream(declaration(), chunk(2, bytes(16), count=2), totals=(1, 2, 0)),
        stream(declaration(), chunk(2, b"", count=0), totals=(1, 0, 0)),
        stream(declaration(), chunk(99, b"")[:8] + struct.pack("<QIIq", 1 << 60, 0, 0, 0), totals=None),
        b"<html>" + bytes(100),
    ],
)
def test_nonsense_is_refused(server: Server, broken: bytes) -> None:
    server.answer = broken
    with pytest.raises(RuntimeError, match=r"damaged|not a stream"):
        corral.read("@1", as_="lists")


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        ("404 Not Found", "not_found", LookupError),
        ("400 Bad Request", "invalid_argument", ValueError),
        ("401 Unauthorized", "unauthenticated", PermissionError),
        ("503 Unavailable", "unavailable", ConnectionError),
    ],
)
def test_refusals_have_the_servers_words(server: Server, status: str, code: str, error: type[Exception]) -> None:
    server.status = status
    server.answer = json.dumps({"error": {"code": code, "message": "no run has the name x"}}).encode()
    with pytest.raises(error, match="no run has the name x"):
        corral.read("x", as_="lists")


def test_no_server_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=f"corral serve --store {tmp_path / 'nothing'}"):
        corral.read("@1", store=tmp_path / "nothing", as_="lists")


def test_a_store_of_a_long_path_has_its_socket_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corral._server import socket_path

    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    found = socket_path("/" + "x" * 110)
    assert found.startswith("/run/user/7/")
    assert len(os.path.basename(found)) == 16 + len(".sock")
    assert socket_path(str(tmp_path / "." / "a" / "..")) == str(tmp_path / "corral.sock")


def test_the_configuration_file_names_the_store(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("tomllib") is None:
        pytest.skip("this Python reads no TOML")
    monkeypatch.delenv("CORRAL_STORE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    own = tmp_path / "config" / "corral" / "corral.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'store = "{server.store}"\n')
    own.chmod(0o600)
    server.answer = stream(declaration(), points([1], [2.0]), totals=(1, 1, 0))
    assert corral.read("@1", as_="lists")[0].value == [2.0]


def test_a_pipe_in_the_directory_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("tomllib") is None:
        pytest.skip("this Python reads no TOML")
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "corral.toml")
    with pytest.raises(ValueError, match="not a regular file"):
        corral.read("@1", as_="lists")
    (tmp_path / "corral.toml").unlink()
    (tmp_path / "corral.toml").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="not a regular file"):
        corral.read("@1", as_="lists")


def test_a_file_of_the_directory_names_the_store_once_it_is_trusted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("tomllib") is None:
        pytest.skip("this Python reads no TOML")
    from corral._server import find_server

    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.delenv("CORRAL_STORE")
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("CORRAL_TOKEN_FILE", str(tmp_path / "token"))
    here = tmp_path / "corral.toml"
    here.write_text('server = "http://evil"\n')
    with pytest.raises(PermissionError, match="corral trust"):
        corral.read("@1", as_="lists")
    assert find_server("http://mine", None, None).token == "secret"
    record = tmp_path / "STATE" / "corral" / "trusted"
    record.parent.mkdir(parents=True)
    record.write_text(f"{hashlib.sha256(here.read_bytes()).hexdigest()} {here.resolve()}\n")
    record.chmod(0o600)
    trusted = find_server(None, None, None)
    assert (trusted.url, trusted.token) == ("http://evil", "")
    with pytest.raises(ValueError, match="give server="):
        find_server(None, None, "mine")
    record.chmod(0o666)
    with pytest.raises(PermissionError, match="corral trust"):
        find_server(None, None, None)

"""Attacks by a hostile client or a page of another site: each is refused by name, and the server goes on."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from support import Corral, Json, until

JSON = {"Content-Type": "application/json"}
API = "/api/corral/v1"
MLFLOW = "/api/2.0/mlflow"
SQL = [
    "'; DROP TABLE runs; --",
    "' OR '1'='1",
    '" OR 1=1 --',
    "1 UNION SELECT sql FROM sqlite_master",
    "%' AND 1=0 UNION SELECT 1,2,3 --",
    "x'); DELETE FROM runs; --",
    "\\'; SELECT pg_sleep(5); --",
    "$1; DROP TABLE batches",
]


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The message of an error in either form."""
        body = self.json
        return str(body["message"] if "error_code" in body else body["error"]["message"])


class Door:
    """A server with one run of one metric, and what can be sent to it."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        script = "import corral; corral.log({'loss': 0.5}); corral.event('e', a=1)"
        self.server = corral.serve()
        corral(
            "run",
            "--no-listeners",
            "--name",
            "one",
            "--experiment",
            "digits",
            "python3",
            "-c",
            script,
        )
        url = urlsplit(corral.url())
        assert url.hostname is not None
        assert url.port is not None
        self.address = (url.hostname, url.port)
        self.host = f"127.0.0.1:{url.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Json = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        if not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), JSON | (headers or {})
        with closing(self.corral.connection()) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), dict(answer.getheaders()))

    def raw(self, request: bytes) -> bytes:
        """All that comes back until the server closes the connection, which it must."""
        with closing(socket.create_connection(self.address, timeout=30)) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
            return answer

    def is_well(self) -> None:
        assert self.server.poll() is None
        runs = self.ask("GET", f"{API}/runs").json["runs"]
        assert [run["name"] for run in runs] == ["one"]
        assert [
            m["points"] for m in self.ask("GET", f"{API}/runs/one/metrics").json["metrics"] if m["name"] == "loss"
        ] == [1]

    def resident(self) -> int:
        statm = Path(f"/proc/{self.server.pid}/statm").read_text().split()
        return int(statm[1]) * os.sysconf("SC_PAGESIZE")


@pytest.fixture
def door(corral: Corral) -> Iterator[Door]:
    door = Door(corral)
    yield door
    door.is_well()


# ---- whose page asks


def test_a_foreign_host_is_named(door: Door) -> None:
    hosts = [
        "evil.example",
        "evil.example:5000",
        "localhost.evil.example",
        "10.0.0.1",
        "[::1]evil",
    ]
    paths = ["/", "/health", "/metrics", f"{API}/runs", f"{MLFLOW}/experiments/search"]
    for host, path in itertools.product(hosts, paths):
        answer = door.ask("GET", path, headers={"Host": host})
        assert answer.status == 403
        assert f"Invalid Host header: '{host}'" in answer.message


def test_a_foreign_origin_is_named(door: Door) -> None:
    for origin in (
        "http://evil.example",
        "null",
        "http://localhost:3000",
        f"http://{door.host}.evil.example",
    ):
        for method, path in (
            ("GET", f"{API}/runs"),
            ("DELETE", f"{API}/runs/one"),
            ("POST", f"{MLFLOW}/runs/create"),
        ):
            answer = door.ask(method, path, headers={"Origin": origin})
            assert answer.status == 403
            assert f"'{origin}'" in answer.message


def test_nothing_is_changed_by_what_a_page_may_send_unasked(door: Door) -> None:
    for site in ("cross-site", "same-site"):
        answer = door.ask("DELETE", f"{API}/runs/one", headers={"Sec-Fetch-Site": site})
        assert answer.status == 403
        assert answer.json["error"]["field"] == "Sec-Fetch-Site"
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        body = json.dumps({"name": "stolen"}).encode()
        answer = door.ask("POST", f"{MLFLOW}/experiments/create", body, {"Content-Type": kind})
        assert (answer.status, answer.json["error_code"]) == (
            400,
            "INVALID_PARAMETER_VALUE",
        )
        answer = door.ask("POST", f"{API}/charts", body, {"Content-Type": kind})
        assert answer.status == 415
        assert answer.json["error"]["field"] == "Content-Type"


def test_every_answer_tells_browsers_to_keep_off(door: Door) -> None:
    for method, path in (
        ("GET", "/"),
        ("GET", f"{API}/runs"),
        ("GET", "/nothing"),
        ("DELETE", "/health"),
        ("GET", "/metrics"),
    ):
        headers = door.ask(method, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe-eval" not in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers


# ---- where a request ends


SMUGGLED = [
    (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"exclude each other"),
    (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"exclude each other"),
    (b"Content-Length: 5\r\nContent-Length: 50\r\n", b"two content-length headers"),
    (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"two content-length headers"),
    (b"Content-Length: 5, 50\r\n", b"is not a number"),
    (b"Content-Length: +5\r\n", b"is not a number"),
    (b"Content-Length : 50\r\n", b"white space before the colon"),
    (b"X-A: b\r\n Content-Length: 50\r\n", b"obs-fold"),
    (b"X-A: b\nContent-Length: 50\r\n", b"CR LF"),
    (b"X-A: b\rContent-Length: 50\r\n", b"CR LF"),
    (b"X-A: \x00\r\n", b"control character"),
    (b"Transfer-Encoding: xchunked\r\n", b"only chunked"),
    (b"Transfer-Encoding: chunked, identity\r\n", b"only chunked"),
    (b"Host: evil.example\r\n", b"two host headers"),
]


def test_a_smuggled_request_is_named_and_never_handled(door: Door) -> None:
    hidden = f"DELETE {API}/runs/one?force=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = f"POST {API}/charts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    for fields, named in SMUGGLED:
        answer = door.raw(head + fields + b"\r\n0\r\n\r\n" + hidden)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), (fields, answer)
        assert named in answer
        assert b"\r\nConnection: close\r\n" in answer
        assert answer.count(b"HTTP/1.1 ") == 1, (fields, answer)


# ---- too much


def test_header_bombs_are_named(door: Door) -> None:
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    answer = door.raw(start + b"X: y\r\n" * 200 + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"at most 100 headers" in answer
    answer = door.raw(start + b"X: " + b"y" * 50_000 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")
    answer = door.raw(b"GET /health?" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 414 ")


def test_a_body_over_the_limit_is_refused_before_it_is_read(door: Door) -> None:
    head = f"POST {API}/frames HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 40}\r\n\r\n".encode()
    assert door.raw(head + b"x" * 1000).startswith(b"HTTP/1.1 413 ")


def test_deep_json_is_named(door: Door) -> None:
    for text in (
        b"[" * 1_000_000,
        b'{"a":' * 500_000,
        b"[" * 100_000 + b"]" * 100_000,
    ):
        native = ("charts", "windows", "points", "lines", "xy", "epochs", "changes")
        for path in (*(f"{API}/{route}" for route in native), f"{MLFLOW}/runs/search"):
            answer = door.ask("POST", path, text, JSON)
            assert answer.status in (400, 404), (path, answer)
            assert answer.status == 400 or path.startswith(MLFLOW)
            assert answer.message


def test_a_zip_bomb_is_refused_while_it_unfolds(door: Door) -> None:
    bomb = gzip.compress(bytes(300 << 20), 9)  # 300 KB
    before = door.resident()
    for path in (
        f"{API}/charts",
        f"{API}/frames",
        f"{MLFLOW}/runs/log-batch",
        "/v1/traces",
    ):
        answer = door.ask("POST", path, bomb, JSON | {"Content-Encoding": "gzip"})
        assert answer.status == 413, (path, answer)
        assert "unpack" in answer.message
    assert door.resident() - before < 100 << 20
    answer = door.ask("POST", f"{API}/charts", b"no gzip", JSON | {"Content-Encoding": "gzip"})
    assert answer.status == 400
    assert "gzip" in answer.message
    answer = door.ask("POST", f"{API}/charts", b"{}", JSON | {"Content-Encoding": "br"})
    assert answer.status == 415


MIB = 1 << 20


def peak_resident(pid: int) -> int:
    """The most memory that the process ever had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def test_large_bodies_share_the_memory_and_are_all_stored(corral: Corral) -> None:
    clients, size = 6, 60 * MIB
    server = corral.serve("--max-memory", "64MiB")
    corral(
        "run",
        "--no-listeners",
        "--name",
        "one",
        "python3",
        "-c",
        "import corral; corral.log({'loss': 0.5})",
    )
    before = peak_resident(server.pid)
    notes = f"{API}/runs/one/notes"

    def add_note(i: int) -> int:
        with closing(corral.connection()) as connection:
            body = json.dumps({"text": f"note {i}"}).encode()
            connection.request("POST", notes, body + b" " * (size - len(body)), JSON)
            return connection.getresponse().status

    with ThreadPoolExecutor(clients) as pool:
        assert set(pool.map(add_note, range(clients))) <= {200, 201}
    texts = {note["text"] for note in corral.get(notes)["notes"]}
    assert texts == {f"note {i}" for i in range(clients)}
    # One body at a time, and what reading it as JSON takes.
    assert peak_resident(server.pid) - before < 6 * size


# These documents take the most memory for their length, once they are read.
DENSE = ["[]", "0", '{"a":0}', '"a"', "[0]", "{}", '"aaaaaaaaaaaaaaaa"', '{"a":{"a":{}}}']


def dense_document(item: str, around: str, size: int) -> bytes:
    count = (size - len(around)) // (len(item) + 1)
    return around.replace("LIST", ",".join([item] * count)).encode()


def test_documents_share_the_memory_for_json(corral: Corral) -> None:
    memory, clients = 64 * MIB, 16
    server = corral.serve("--max-memory", f"{memory}")
    readers = [
        (f"{API}/charts", '{"width": 10, "series": [LIST]}'),
        (f"{MLFLOW}/experiments/create", '{"name": "dense", "tags": [LIST]}'),
        (f"{MLFLOW}/runs/search", '{"experiment_ids": [LIST]}'),
        (f"{MLFLOW}/runs/log-batch", '{"run_id": "0", "metrics": [LIST]}'),
    ]

    def answer_to(path: str, body: bytes) -> int:
        with closing(corral.connection()) as connection:
            connection.request("POST", path, body, JSON)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def answers_to(size: int, items: list[str]) -> set[int]:
        """Sends documents of at most `size` bytes for each item and reader, `clients` at a time."""
        asked = [(path, dense_document(item, around, size)) for item in items for path, around in readers]
        with ThreadPoolExecutor(clients) as pool:
            return set(pool.map(lambda one: answer_to(*one), asked))

    before = peak_resident(server.pid)
    assert answers_to(8 * MIB, DENSE) == {413}
    # These are read, a few at a time, and found wrong.
    assert answers_to(MIB // 2, DENSE) <= {400, 404}
    # The bodies, what is read of them, and the handlers' own.
    assert peak_resident(server.pid) - before < 2 * memory + 32 * MIB


def test_a_body_is_not_kept_for_who_may_not_send_it(corral: Corral) -> None:
    (corral.home / "token").write_text("a" * 20)
    server = corral.serve("--token-file", corral.home / "token")
    url = urlsplit(corral.url())
    before = peak_resident(server.pid)
    for path in ("/health", f"{API}/frames", f"{MLFLOW}/runs/log-batch", "/nowhere"):
        for length in (f"Content-Length: {64 * MIB}", "Transfer-Encoding: chunked"):
            with closing(socket.create_connection((url.hostname, url.port), timeout=30)) as connection:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
                with suppress(ConnectionError):
                    connection.sendall(head.encode() + b"3f00000\r\n" + b"x" * (63 * MIB))
    with closing(corral.connection()) as connection:
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
    assert peak_resident(server.pid) - before < 16 * MIB


def test_the_memory_for_bodies_holds_one_at_least(corral: Corral) -> None:
    said = corral("serve", "--max-memory", "63MiB", status=2).stderr.decode()
    assert "--max-memory must be at least 64 MiB" in said


def test_a_gzip_body_is_taken(door: Door) -> None:
    question = {"series": [door.ask("GET", f"{API}/runs/one/metrics").json["metrics"][0]["series"]]}
    plain = door.ask("POST", f"{API}/windows", question)
    packed = door.ask(
        "POST",
        f"{API}/windows",
        gzip.compress(json.dumps(question).encode()),
        JSON | {"Content-Encoding": "gzip"},
    )
    assert (packed.status, packed.json) == (200, plain.json)


# ---- out of the place


OUTSIDE = [
    "/../../../../etc/passwd",
    "/assets/../../../../etc/passwd",
    "/assets/..%2f..%2f..%2fetc%2fpasswd",
    "/assets/%2e%2e/%2e%2e/etc/passwd",
    "/assets/..%252f..%252fetc%252fpasswd",
    "/assets//etc/passwd",
    "/assets/..\\..\\etc\\passwd",
    "/assets/%5c..%5c..%5cetc%5cpasswd",
    "/assets/index.html%00.js",
    "/runs/../../etc/passwd",
    f"{API}/../../../etc/passwd",
    f"{API}/runs/..%2f..%2fetc%2fpasswd",
    "/api/2.0/mlflow-artifacts/artifacts/../../../../etc/passwd",
    "/api/2.0/mlflow-artifacts/artifacts/..%2f..%2f..%2fetc%2fpasswd",
    "/api/2.0/mlflow-artifacts/artifacts/%252e%252e%252fetc%252fpasswd",
    "/api/2.0/mlflow-artifacts/artifacts//etc/passwd",
    "/api/2.0/mlflow-artifacts/artifacts?path=../../etc",
    "/get-artifact?run_uuid=x&path=../../../etc/passwd",
    "file:///etc/passwd",
]


def test_no_path_leads_to_a_file_of_the_machine(door: Door) -> None:
    for path in OUTSIDE:
        answer = door.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert b"root:" not in answer
        page = b"text/html" in answer or b"without its page" in answer
        assert answer.split(b" ", 2)[1] in (b"400", b"404") or page, (
            path,
            answer[:300],
        )


# ---- SQL in every field


def test_sql_in_every_field_of_the_native_api_is_text(door: Door) -> None:
    for text in SQL:
        send_everywhere(door, text)


def send_everywhere(door: Door, text: str) -> None:
    word = quote(text, safe="")
    gets = [
        f"workloads?experiment={word}",
        *(f"runs?{name}={word}" for name in ("experiment", "workload", "status", "limit", "before")),
        *(
            f"runs/{word}{rest}"
            for rest in (
                "",
                "/metrics",
                "/phases",
                "/events",
                "/logs",
                "/export",
                "/latest",
            )
        ),
        *(f"runs/one/logs?{name}={word}" for name in ("stream", "from", "limit")),
        *(f"runs/one/export?{name}={word}" for name in ("metric", "format")),
        f"runs/one/latest?metric={word}",
        f"sessions/{word}",
    ]
    for path in gets:
        answer = door.ask("GET", f"{API}/{path}")
        assert answer.status in (200, 400, 404), (path, answer)
    for path in (f"runs/{word}", f"experiments/{word}"):
        assert door.ask("DELETE", f"{API}/{path}?force=true").status in (400, 404)
    bodies: list[tuple[str, Json]] = [
        ("charts", {"series": [text], "width": 10}),
        ("charts", {"series": [1], "width": 10, "axis": text}),
        ("charts", {"series": [1], "width": 10, "from_ns": text, "to_ns": text}),
        ("lines", {"width": 10, "lines": [{"kind": text, "series": [1]}]}),
        ("windows", {"series": [1], "rule": text}),
        ("points", {"runs": [text]}),
        ("points", {"runs": ["one"], "metrics": [text]}),
        ("xy", {"lines": [{"x": text, "y": 1}], "width": 10, "height": 10}),
        ("xy", {"lines": [{"x": 1, "y": 1}], "width": 10, "height": 10, "pair": text}),
        ("epochs", {"runs": [text]}),
        ("changes", {"series": [1], "from_ns": text, "to_ns": "1"}),
        (
            "changes",
            {
                "series": [1],
                "from_ns": 0,
                "to_ns": 1,
                "against": text,
                "baseline": [{"series": text}],
            },
        ),
    ]
    for path, body in bodies:
        assert door.ask("POST", f"{API}/{path}", body).status in (400, 404), (
            path,
            body,
        )


def test_sql_in_every_field_of_mlflow_is_text(door: Door) -> None:
    for text in SQL:
        send_everywhere_in_mlflow(door, text)


def send_everywhere_in_mlflow(door: Door, text: str) -> None:
    made = door.ask(
        "POST",
        f"{MLFLOW}/experiments/create",
        {"name": text, "tags": [{"key": "k", "value": text}]},
    )
    assert made.status == 200, made
    experiment = made.json["experiment_id"]
    known = door.ask("GET", f"{MLFLOW}/experiments/get?experiment_id={experiment}").json["experiment"]
    assert known["name"] == text
    assert known["tags"] == [{"key": "k", "value": text}]
    for body in (
        {"experiment_id": text},
        {"experiment_id": experiment, "start_time": text},
    ):
        assert door.ask("POST", f"{MLFLOW}/runs/create", body).status in (400, 404)
    for name in ("filter", "order_by", "page_token"):
        value: Json = [text] if name == "order_by" else text
        body = {"experiment_ids": [experiment], "max_results": 10, name: value}
        assert door.ask("POST", f"{MLFLOW}/runs/search", body).status in (200, 400), name
        body = {"max_results": 10, name: value}
        assert door.ask("POST", f"{MLFLOW}/experiments/search", body).status in (
            200,
            400,
        ), name
    for path in (
        "runs/get?run_id=",
        "metrics/get-history?metric_key=a&run_id=",
        "experiments/get?experiment_id=",
    ):
        assert door.ask("GET", f"{MLFLOW}/{path}{quote(text, safe='')}").status in (
            200,
            400,
            404,
        ), path
    door.ask("POST", f"{MLFLOW}/experiments/delete", {"experiment_id": text})
    assert door.ask("GET", f"{MLFLOW}/experiments/get?experiment_id={experiment}").status == 200


# ---- hangers-on


def test_a_hundred_half_open_requests_disturb_nobody(door: Door) -> None:
    sockets = [socket.create_connection(door.address) for _ in range(100)]
    try:
        for i, connection in enumerate(sockets):
            connection.sendall(b"POST /api/corral/v1/frames HTTP/1.1\r\nHost: localhost\r\n"[: 10 + i % 40])
        assert door.ask("GET", "/health").status == 200
        until(lambda: figure(door, "corral_http_connections") >= 100, "they are counted")
    finally:
        for connection in sockets:
            connection.close()
    until(lambda: figure(door, "corral_http_connections") < 10, "they are gone")


def test_slow_uploads_hold_up_nobody(door: Door) -> None:
    """Each sends half of its file and pauses; the pool that takes files has eight threads."""
    size, slow = 1 << 20, 16
    files = f"{API}/runs/one/artifacts"

    def head(i: int) -> bytes:
        return f"PUT {files}/slow{i} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()

    def received() -> float:
        return figure(door, "corral_http_received_bytes_total")

    before = received()
    sockets = [socket.create_connection(door.address, timeout=30) for _ in range(slow)]
    try:
        for i, connection in enumerate(sockets):
            connection.sendall(head(i) + b"x" * (size // 2))
        until(lambda: received() - before >= slow * (size // 4), "all of them have begun")
        assert door.ask("PUT", f"{files}/fast", b"y" * size).status == 200
        with closing(socket.socket(socket.AF_UNIX)) as own:
            own.settimeout(15)
            own.connect(str((door.corral.record() or {})["socket"]))
            own.sendall(head(slow) + b"z" * size)
            assert own.recv(65536).startswith(b"HTTP/1.1 200 ")
        for connection in sockets:
            connection.sendall(b"x" * (size // 2))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    finally:
        for connection in sockets:
            connection.close()
    names = {entry["name"] for entry in door.ask("GET", files).json["entries"]}
    assert names >= {"fast", *(f"slow{i}" for i in range(slow + 1))}


def figure(door: Door, name: str) -> float:
    for line in door.ask("GET", "/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(name)

"""Artifacts over HTTP: a directory and a bucket, long files, full disks, a bucket that is down."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import select
import shutil
import socket
import struct
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from s3 import BUCKET, CheckedServer
from support import Corral, Json, until
from test_full_disk import tmpfs

PROXY = "/api/2.0/mlflow-artifacts/artifacts/"
MANY = 256 << 20


class Artifacts:
    def __init__(self, corral: Corral) -> None:
        self.corral = corral

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = self.corral.connection()
        headers = headers or {}
        chunked = body is not None and not isinstance(body, bytes) and "Content-Length" not in headers
        connection.request(method, path, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, {k.lower(): v for k, v in answer.getheaders()}

    def put(self, path: str, body: bytes | Iterator[bytes], headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        return self.send("PUT", PROXY + quote(path), body, headers)[:2]

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes, dict[str, str]]:
        return self.send("GET", PROXY + quote(path), headers=headers)

    def list(self, path: str = "") -> list[Json]:
        status, body, _ = self.send("GET", f"{PROXY[:-1]}?path={quote(path)}")
        assert status == 200, body
        return list(json.loads(body).get("files", []))

    def post(self, path: str, message: Json) -> tuple[int, Json]:
        headers = {"Content-Type": "application/json"}
        status, body, _ = self.send("POST", path, json.dumps(message).encode(), headers)
        return status, json.loads(body)


@pytest.fixture
def s3() -> Iterator[CheckedServer]:
    server = CheckedServer()
    yield server
    server.close()


@pytest.fixture(params=["directory", "bucket"])
def artifacts(request: pytest.FixtureRequest, corral: Corral) -> Iterator[Artifacts]:
    if request.param == "directory":
        corral.serve("--artifacts", corral.home / "files")
        yield Artifacts(corral)
        uploads = corral.home / "files" / ".corral-uploads"
        until(lambda: not list(uploads.iterdir()), "unfinished uploads are gone")
        return
    s3 = request.getfixturevalue("s3")
    corral.serve("--artifacts", f"s3://{BUCKET}/some/prefix", env=s3.environment)
    yield Artifacts(corral)
    until(lambda: not s3.uploads(), "unfinished uploads are gone")
    corral.close()
    assert s3.refused == []
    assert s3.uploads() == []


def pieces(size: int, piece: int = 1 << 20) -> Iterator[bytes]:
    block = bytes(range(256)) * (piece // 256)
    for at in range(0, size, piece):
        yield block[: size - at]


def test_what_was_put_is_listed_got_and_deleted(artifacts: Artifacts) -> None:
    names = ["1/run/artifacts/model/MLmodel", "1/run/artifacts/img%step%1+x.png", "1/run/artifacts/größe & (1)~'.txt"]
    for name in names:
        assert artifacts.put(name, name.encode()) == (200, b"{}")
    assert artifacts.put("1/run/artifacts/empty", b"") == (200, b"{}")
    assert artifacts.put("1/run/artifacts/none", iter([])) == (200, b"{}")
    for name in names:
        status, body, headers = artifacts.get(name)
        assert (status, body) == (200, name.encode())
        assert headers["content-length"] == str(len(body))
        assert headers["x-content-type-options"] == "nosniff"
    assert artifacts.get("1/run/artifacts/empty")[:2] == (200, b"")
    assert artifacts.get("1/run/artifacts/none")[:2] == (200, b"")
    listed = {f["path"]: (f["is_dir"], f.get("file_size")) for f in artifacts.list("1/run/artifacts")}
    assert listed == {
        "model": (True, None),
        "empty": (False, 0),
        "none": (False, 0),
        "img%step%1+x.png": (False, len(names[1])),
        "größe & (1)~'.txt": (False, len(names[2].encode())),
    }
    assert artifacts.send("DELETE", PROXY + "1/run/artifacts")[0] == 200
    assert artifacts.send("DELETE", PROXY + "1/run/artifacts")[0] == 200
    assert artifacts.list("1/run/artifacts") == []
    status, body, _ = artifacts.get(names[0])
    assert status == 404
    assert json.loads(body)["error_code"] == "RESOURCE_DOES_NOT_EXIST"


def test_long_files_with_a_length_and_in_chunks(artifacts: Artifacts) -> None:
    size = (40 << 20) + 17
    expected = hashlib.sha256(b"".join(pieces(size))).digest()
    assert artifacts.put("sized", pieces(size), {"Content-Length": str(size)})[0] == 200
    assert artifacts.put("chunked", pieces(size))[0] == 200
    for name in ("sized", "chunked"):
        status, body, headers = artifacts.get(name)
        assert (status, headers["content-length"]) == (200, str(size))
        assert hashlib.sha256(body).digest() == expected
    status, body, headers = artifacts.get("sized", {"Range": f"bytes={size - 5}-"})
    assert (status, body) == (206, b"".join(pieces(size))[-5:])
    assert headers["content-range"] == f"bytes {size - 5}-{size - 1}/{size}"
    assert artifacts.get("sized", {"Range": f"bytes={size}-"})[0] == 416
    status, body, headers = artifacts.send("HEAD", PROXY + "sized")
    assert (status, body, headers["content-length"], headers["accept-ranges"]) == (200, b"", str(size), "bytes")


def test_a_client_that_leaves_leaves_nothing(artifacts: Artifacts) -> None:
    parts = urlsplit(artifacts.corral.url())
    with socket.create_connection((parts.hostname, parts.port)) as client:
        head = f"PUT {PROXY}half HTTP/1.1\r\nHost: localhost\r\nContent-Length: {64 << 20}\r\n\r\n"
        client.sendall(head.encode() + bytes(20 << 20))
    until(lambda: "half" not in str(artifacts.list()), "the half is gone")
    assert artifacts.list() == []
    assert artifacts.get("half")[0] == 404


def test_memory_does_not_grow_with_the_file(corral: Corral) -> None:
    server = corral.serve("--artifacts", corral.home / "files")
    artifacts = Artifacts(corral)
    assert artifacts.put("large", pieces(MANY), {"Content-Length": str(MANY)})[0] == 200
    with urllib.request.urlopen(corral.url() + PROXY + "large") as answer:
        size = sum(len(piece) for piece in iter(lambda: answer.read(1 << 20), b""))
    assert size == MANY
    status = Path(f"/proc/{server.pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 64 << 10


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk(corral: Corral) -> None:
    with tmpfs(corral.home / "files", 8) as files:
        corral.serve("--artifacts", files)
        artifacts = Artifacts(corral)
        for headers in ({"Content-Length": str(16 << 20)}, {}):
            status, body = artifacts.put("f", pieces(16 << 20), headers)
            assert status == 507
            assert json.loads(body)["message"]
        assert artifacts.list() == []
        assert shutil.disk_usage(files).used < 1 << 20
        assert artifacts.put("f", bytes(1 << 20))[0] == 200
        corral.close()


def test_a_bucket_that_is_down(corral: Corral, s3: CheckedServer) -> None:
    corral.serve("--artifacts", f"s3://{BUCKET}", env=s3.environment)
    artifacts = Artifacts(corral)
    assert artifacts.put("f", b"text")[0] == 200
    s3.down = True
    for method in ("GET", "PUT", "DELETE"):
        status, body, _ = artifacts.send(method, PROXY + "f", b"x")
        assert status == 503
        assert json.loads(body)["error_code"] == "TEMPORARILY_UNAVAILABLE"
    s3.down = False
    assert artifacts.get("f")[:2] == (200, b"text")


def test_wrong_keys_are_no_reason_to_try_again(corral: Corral, s3: CheckedServer) -> None:
    corral.serve("--artifacts", f"s3://{BUCKET}", env=s3.environment | {"AWS_SECRET_ACCESS_KEY": "wrong"})
    artifacts = Artifacts(corral)
    status, body = artifacts.put("f", b"text")
    assert status == 403
    assert "SignatureDoesNotMatch" in json.loads(body)["message"]
    assert len(s3.refused) == 1


def test_parts_that_clients_send_to_the_bucket(corral: Corral, s3: CheckedServer) -> None:
    corral.serve("--artifacts", f"s3://{BUCKET}/p", env=s3.environment)
    artifacts = Artifacts(corral)
    mpu = "/api/2.0/mlflow-artifacts/mpu/"
    status, made = artifacts.post(mpu + "create/1/run/artifacts", {"path": "/home/me/model.bin", "num_parts": 2})
    assert status == 200
    bodies = [bytes(5 << 20), b"end"]
    parts = []
    for credential, body in zip(made["credentials"], bodies, strict=True):
        request = urllib.request.Request(
            credential["url"], body, {"Content-Type": "application/octet-stream"}, method="PUT"
        )
        with urllib.request.urlopen(request) as answer:
            parts.append({"part_number": credential["part_number"], "etag": answer.headers["ETag"], "url": ""})
    message = {"path": "model.bin", "upload_id": made["upload_id"], "parts": parts}
    assert artifacts.post(mpu + "complete/1/run/artifacts", message) == (200, {})
    assert artifacts.get("1/run/artifacts/model.bin")[1] == b"".join(bodies)
    _, made = artifacts.post(mpu + "create/1/run/artifacts", {"path": "other.bin", "num_parts": 1})
    message = {"path": "other.bin", "upload_id": made["upload_id"]}
    assert artifacts.post(mpu + "abort/1/run/artifacts", message) == (200, {})
    assert s3.uploads() == []
    assert s3.refused == []


def test_keys_are_asked_for_at_the_start(corral: Corral) -> None:
    done = corral("serve", "--artifacts", f"s3://{BUCKET}", status=1)
    assert b"AWS_ACCESS_KEY_ID" in done.stderr


def png(width: int, height: int, rows: Iterator[bytes], kind: bytes = b"\x08\x02", **more: bytes) -> bytes:
    """An image whose `rows` are of that depth and colour type: by default 8 bits of red, green and blue.

    `more` are chunks before its pixels.
    """

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer = zlib.compressobj(1)
    packed = b"".join([packer.compress(b"\0" + row) for row in rows] + [packer.flush()])
    head = struct.pack(">II", width, height) + kind + b"\0\0\0"
    front = chunk(b"IHDR", head) + b"".join(chunk(name.encode(), content) for name, content in more.items())
    return b"\x89PNG\r\n\x1a\n" + front + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def random_png(**more: bytes) -> bytes:
    return png(800, 600, (os.urandom(2400) for _ in range(600)), **more)


def width_of(content: bytes) -> int:
    return int(struct.unpack(">I", content[16:20])[0])


def thumbnail(artifacts: Artifacts, run: str, name: str, content: bytes) -> bytes:
    path = f"/api/corral/v1/runs/{run}/artifacts/{quote(name)}"
    assert artifacts.send("PUT", path, content)[0] == 200
    status, answer, _ = artifacts.send("GET", path + "?width=480")
    assert status == 200
    return answer


def new_run(artifacts: Artifacts) -> str:
    created = artifacts.post("/api/2.0/mlflow/runs/create", {"experiment_id": "0"})[1]
    return str(created["run"]["info"]["run_id"])


def test_a_large_image_is_made_small(artifacts: Artifacts) -> None:
    small = thumbnail(artifacts, new_run(artifacts), "media/a b@1.png", random_png())
    assert width_of(small) == 480


def test_images_that_are_none_and_ones_that_unpack_to_gigabytes_are_sent_as_they_are(corral: Corral) -> None:
    corral.serve()
    artifacts = Artifacts(corral)
    run = new_run(artifacts)
    bomb = png(100_000, 100_000, (bytes(12_500) for _ in range(30_000)), b"\x01\x00")
    deep = png(8192, 8192, (bytes(65_536) for _ in range(8192)), b"\x10\x06")
    whole = random_png()
    for name, content in {
        "bomb.png": bomb,
        "text.png": b"/* XPM */" * 10_000,
        "torn.png": whole[:40] + bytes(100_000),
        "gif.png": b"GIF89a" + os.urandom(100_000),
        "moving.png": random_png(acTL=struct.pack(">II", 2, 0)),
        "narrow.png": png(480, 600, (os.urandom(1440) for _ in range(600))),
        "none.jpg": b"\xff\xd8\xff" + os.urandom(100_000),
    }.items():
        assert thumbnail(artifacts, run, name, content) == content, name
    # One that looks like SVG at its beginning, one as large as may be, and after all of them.
    assert width_of(thumbnail(artifacts, run, "words.png", random_png(tEXt=b"Comment\0<!DOCTYPE svg"))) == 480
    assert width_of(thumbnail(artifacts, run, "deep.png", deep)) in (480, 8192)
    assert width_of(thumbnail(artifacts, run, "whole.png", whole)) == 480


def decoders(server: int) -> list[Path]:
    found = []
    for pid in [pid for file in Path(f"/proc/{server}/task").glob("*/children") for pid in file.read_text().split()]:
        with suppress(OSError):  # it has ended
            if b"thumbnail" in Path("/proc", pid, "cmdline").read_bytes():
                found.append(Path("/proc", pid))
    return found


def confined_decoder(server: int, asking: http.client.HTTPConnection) -> tuple[list[str], bytes] | None:
    """Descriptors and environment of a decoder at its work; None: the answer came before one was seen."""
    while not select.select([asking.sock], [], [], 0)[0]:
        for decoder in decoders(server):
            with suppress(OSError):
                if "Seccomp:\t2" in (decoder / "status").read_text():
                    descriptors = sorted(entry.name for entry in (decoder / "fd").iterdir())
                    return descriptors, (decoder / "environ").read_bytes()
    return None


def test_the_decoder_of_an_image_is_alone_and_goes_with_its_client(corral: Corral) -> None:
    corral.serve(env={"AWS_SECRET_ACCESS_KEY": "secret"})
    artifacts = Artifacts(corral)
    path = f"/api/corral/v1/runs/{new_run(artifacts)}/artifacts/deep.png"
    noise = os.urandom(24_000)
    assert artifacts.send("PUT", path, png(8000, 8000, (noise for _ in range(8000))))[0] == 200
    server = corral.server_pid()
    assert server is not None
    others = [corral.connection() for _ in range(3)]
    for other in others:
        other.request("GET", "/health")
        other.getresponse().read()
    for width in range(400, 420):
        asking = corral.connection()
        asking.request("GET", f"{path}?width={width}")
        confined = confined_decoder(server, asking)
        asking.close()
        if confined is not None:
            break
    assert confined is not None
    descriptors, environment = confined
    until(lambda: not decoders(server), "nobody waits for it any more")
    assert descriptors == ["0", "1", "2"]
    assert b"secret" not in environment
    assert b"CORRAL" not in environment
    for other in others:
        other.close()


def test_without_the_library_images_are_sent_as_they_are(corral: Corral, tmp_path: Path) -> None:
    (tmp_path / "libgdk_pixbuf-2.0.so.0").write_text("no library")
    corral.serve(env={"LD_LIBRARY_PATH": str(tmp_path)})
    artifacts = Artifacts(corral)
    whole = random_png()
    assert thumbnail(artifacts, new_run(artifacts), "whole.png", whole) == whole

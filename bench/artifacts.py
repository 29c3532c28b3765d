"""A file of many GiB through the server, into a directory and into S3: seconds, MB/s, and the server's peak memory.

    bench/artifacts.py [--gib 5] [--binary build/release/corral]

S3 is a stand-in that counts what it is sent and throws it away, on the same machine: the figure is Corral's cost, not a
network's.
"""

from __future__ import annotations

import argparse
import http.client
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIECE = os.urandom(1 << 20)
PATH = "/api/2.0/mlflow-artifacts/artifacts/large"


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    taken = 0

    def _answer(self, body: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drop(self) -> None:
        left = int(self.headers.get("Content-Length", "0"))
        Sink.taken += left
        buffer = bytearray(1 << 20)
        while left > 0:
            left -= self.rfile.readinto(memoryview(buffer)[: min(left, len(buffer))])

    def do_PUT(self) -> None:
        self._drop()
        self._answer()

    def do_POST(self) -> None:
        self._drop()
        name = "InitiateMultipartUploadResult" if "uploads" in self.path else "CompleteMultipartUploadResult"
        self._answer(f"<{name}><UploadId>u</UploadId></{name}>".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // len(PIECE)):
        yield PIECE


def peak_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def measure(binary: Path, artifacts: str, size: int, environment: dict[str, str], read: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="corral-bench-") as store:
        command = [str(binary), "serve", "--store", store, "--listen", "127.0.0.1:0", "--artifacts", artifacts]
        server = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            started = time.monotonic()
            connection.request("PUT", PATH, pieces(size), {"Content-Length": str(size)})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            report("write", artifacts, size, time.monotonic() - started, server.pid)
            if not read:
                return
            started = time.monotonic()
            connection.request("GET", PATH)
            answer = connection.getresponse()
            buffer = bytearray(1 << 20)
            while answer.readinto(buffer):
                pass
            report("read", artifacts, size, time.monotonic() - started, server.pid)
        finally:
            server.terminate()
            server.wait()


def report(what: str, artifacts: str, size: int, seconds: float, pid: int) -> None:
    where = "s3" if artifacts.startswith("s3") else "directory"
    rate = size / seconds / 1e6
    print(
        f"{where:9} {what:5} {size >> 30} GiB: {seconds:6.1f} s, {rate:6.0f} MB/s, peak {peak_megabytes(pid):.1f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=int, default=5)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "corral")
    options = parser.parse_args()
    size = options.gib << 30
    files = Path(tempfile.mkdtemp(prefix="corral-bench-"))
    try:
        measure(options.binary, str(files), size, {}, read=True)
    finally:
        shutil.rmtree(files)
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    keys = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "secret"}
    measure(
        options.binary,
        "s3://bucket/bench",
        size,
        keys | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{sink.server_port}"},
        read=False,
    )
    assert Sink.taken >= size
    sink.shutdown()


if __name__ == "__main__":
    main()

"""A server of S3's protocol for tests: moto's, behind a check of every signature (AWS Signature Version 4).

The check is written from the protocol's description and knows headers and presigned URLs; moto itself would let
anything in.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import threading
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from wsgiref.types import StartResponse, WSGIEnvironment

import boto3  # type: ignore[import-untyped]
import werkzeug.serving
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

ACCESS, SECRET, REGION, BUCKET = "AKCORRALTEST", "s3cr3t/with+signs=", "eu-test-1", "runs-of-a-test"
App = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


def _encode(text: str) -> str:
    return quote(text, safe="-._~")


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signed:
    """The signature of a request, and the expected one."""

    def __init__(self, environ: WSGIEnvironment) -> None:
        path, _, query = environ["RAW_URI"].partition("?")
        self.path = path
        self.pairs = parse_qsl(query, keep_blank_values=True)
        self.environ = environ
        fields = dict(self.pairs)
        if "X-Amz-Signature" in fields:
            self.credential, self.names = fields["X-Amz-Credential"], fields["X-Amz-SignedHeaders"]
            self.given, self.time, self.digest = fields["X-Amz-Signature"], fields["X-Amz-Date"], "UNSIGNED-PAYLOAD"
            self.pairs = [(k, v) for k, v in self.pairs if k != "X-Amz-Signature"]
            return
        parts = dict(p.strip().split("=", 1) for p in self.header("authorization").partition(" ")[2].split(","))
        self.credential, self.names, self.given = parts["Credential"], parts["SignedHeaders"], parts["Signature"]
        self.time, self.digest = self.header("x-amz-date"), self.header("x-amz-content-sha256")
        assert {"host", "x-amz-date", "x-amz-content-sha256"} <= set(self.names.split(";"))

    def header(self, name: str) -> str:
        special = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
        key = special.get(name, "HTTP_" + name.upper().replace("-", "_"))
        return " ".join(str(self.environ.get(key, "")).split())

    def signature(self) -> str:
        access, day, region, service, _ = self.credential.split("/")
        assert (access, region, service) == (ACCESS, REGION, "s3")
        assert self.time.startswith(day)
        query = "&".join(f"{k}={v}" for k, v in sorted((_encode(k), _encode(v)) for k, v in self.pairs))
        headers = "".join(f"{name}:{self.header(name)}\n" for name in self.names.split(";"))
        path = quote(unquote(self.path), safe="/-._~")
        request = "\n".join([self.environ["REQUEST_METHOD"], path, query, headers, self.names, self.digest])
        scope = f"{day}/{region}/{service}/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        key = f"AWS4{SECRET}".encode()
        for part in (day, region, service, "aws4_request"):
            key = _hmac(key, part)
        return _hmac(key, f"AWS4-HMAC-SHA256\n{self.time}\n{scope}\n{digest}").hex()


class CheckedServer:
    """Serves on a free port of 127.0.0.1 until close(); `refused` names what had no good signature."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.requests: list[str] = []
        self.down = False
        app = self._checked(DomainDispatcherApplication(create_backend_app))
        self._server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.port}"
        reset = urllib.request.Request(self.url + "/moto-api/reset", method="POST")
        urllib.request.urlopen(reset).close()  # its content belongs to the process
        self.client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
        }

    @property
    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=ACCESS,
            aws_secret_access_key=SECRET,
        )

    def objects(self) -> dict[str, int]:
        listed = self.client.list_objects_v2(Bucket=BUCKET)
        return {item["Key"]: item["Size"] for item in listed.get("Contents", [])}

    def uploads(self) -> list[str]:
        return [item["Key"] for item in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _checked(self, app: App) -> App:
        def serve(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
            name = f"{environ['REQUEST_METHOD']} {environ['RAW_URI']}"
            self.requests.append(name)
            if self.down:
                start("503 Slow Down", [("Content-Length", "0")])
                return [b""]
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = io.BytesIO(body)
            try:
                signed = Signed(environ)
                good = signed.signature() == signed.given
                good = good and signed.digest in {"UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()}
            except (KeyError, ValueError, AssertionError):
                good = False
            if (
                good
                or environ["RAW_URI"] == "/moto-api/reset"
                or environ.get("HTTP_USER_AGENT", "").startswith("Boto3/")
            ):
                return app(environ, start)
            self.refused.append(name)
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SignatureDoesNotMatch</Code><Message>said the test</Message></Error>"]

        return serve


class _Quiet(werkzeug.serving.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Says nothing."""

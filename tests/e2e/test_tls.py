"""HTTPS: every client checks the server's certificate, and the server's own files are followed."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from relay_support import QUIET
from support import PYTHON, ROOT, Corral, Stays, free_port, until, until_said


class Authority:
    """Signs certificates, with `openssl`, as a lab's own authority would."""

    def __init__(self, folder: Path, name: str = "Lab") -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.file = self.folder / "authority.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", "authority.key", "-out", self.file.name),
        )

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def sign(self, days: int = 1, names: str = "DNS:localhost,IP:127.0.0.1") -> tuple[Path, Path]:
        """Certificate and key, at the same names each time, each file replaced at once."""
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days)),
            *("-subj", "/CN=server", "-addext", f"subjectAltName={names}", "-CA", self.file.name),
            *("-CAkey", "authority.key", "-keyout", "new.key", "-out", "new.pem"),
        )
        certificate, key = self.folder / "server.pem", self.folder / "server.key"
        (self.folder / "new.pem").rename(certificate)
        (self.folder / "new.key").rename(key)
        return certificate, key


def served(server: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """The same server, once it answers."""
    assert server.stdout is not None
    assert any(b"Ctrl-C ends it" in line for line in server.stdout), server.communicate()[1]
    return server


class Lab:
    """A server that speaks HTTPS alone, to users."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.authority = Authority(corral.home)

    def serve(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        certificate, key = self.authority.sign()
        options = ("--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key, *arguments)
        return served(self.corral.start("serve", *options))

    def url(self) -> str:
        return self.corral.url()

    def open(self, path: str, url: str = "", **headers: str) -> Any:
        trust = ssl.create_default_context(cafile=str(self.authority.file))
        request = urllib.request.Request((url or self.url()) + path, headers=headers)
        return urllib.request.urlopen(request, timeout=60, context=trust)

    def not_after(self) -> float:
        with self.open("/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("corral_tls_not_after_seconds ")))


@pytest.fixture
def lab(corral: Corral) -> Lab:
    return Lab(corral)


def test_only_a_certificate_of_a_known_authority_is_trusted(lab: Lab) -> None:
    lab.serve()
    listing = ("ls", "runs", "--server", lab.url())
    refused = lab.corral(*listing, status=1).stderr
    assert b"the server's certificate is not trusted, or is for another name: --ca-file or CORRAL_CA_FILE" in refused
    other = Authority(lab.corral.home, "Stranger").file
    assert b"certificate is not trusted" in lab.corral(*listing, "--ca-file", other, status=1).stderr
    lab.corral(*listing, "--ca-file", lab.authority.file)
    for variable in ("CORRAL_CA_FILE", "SSL_CERT_FILE"):
        lab.corral(*listing, env={variable: str(lab.authority.file)})
    missing = lab.corral(*listing, "--ca-file", "none.pem", status=1).stderr
    assert b"none.pem holds no certificates of authorities" in missing


def test_a_certificate_for_another_name_is_refused(lab: Lab) -> None:
    certificate, key = lab.authority.sign(names="DNS:lab.example")
    served(lab.corral.start("serve", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key))
    assert lab.url().startswith("https://lab.example:")
    local = lab.url().replace("lab.example", "localhost")
    refused = lab.corral("ls", "runs", "--server", local, "--ca-file", lab.authority.file, status=1).stderr
    assert b"is for another name" in refused


def test_clients_of_all_kinds_work_by_https(lab: Lab) -> None:
    corral = lab.corral
    lab.serve("--auth", "users")
    corral("user", "add", "ada", "--role", "writer")
    token = corral("token", "add", "ada").stdout.decode().strip()
    trust = {"CORRAL_CA_FILE": str(lab.authority.file)}
    server = ("--server", lab.url())
    assert b"ada, writer" in corral("login", lab.url(), stdin=token.encode(), env=trust).stdout
    # A training with Corral's own module, and another with MLflow's client, which Corral leads to the server.
    script = corral.script("train.py", "import corral\nfor step in range(5): corral.log('loss', step, step=step)\n")
    path = {"PYTHONPATH": str(ROOT / "python")}
    corral("run", *server, "--no-listeners", "--name", "own", PYTHON, script, env=trust | path)
    mlflow = "import mlflow\nwith mlflow.start_run(run_name='lead') as run: mlflow.log_metric('loss', 0.5)\n"
    client = ROOT / ".venv-mlflow3" / "bin" / "python"
    if client.exists():
        corral("run", *server, "--no-listeners", client, corral.script("led.py", mlflow), env=trust | QUIET)
        direct = trust | QUIET | {"MLFLOW_TRACKING_URI": lab.url(), "MLFLOW_TRACKING_TOKEN": token}
        direct["MLFLOW_TRACKING_SERVER_CERT_PATH"] = str(lab.authority.file)
        subprocess.run([client, "-c", mlflow.replace("lead", "direct")], env=os.environ | direct, check=True)
        assert b"direct" in corral("ls", "runs", *server, env=trust).stdout
    points = corral("export", "own", *server, "--metric", "loss", env=trust).stdout.decode().splitlines()
    assert len(points) == 6
    read = "import corral, sys\nprint(len(corral.read('own', 'loss', as_='lists', server=sys.argv[1])[0].value))"
    done = subprocess.run(
        [PYTHON, "-c", read, lab.url()], env=corral.environment | trust | path, check=True, capture_output=True
    )
    assert done.stdout.strip() == b"5"
    environment = corral.environment | path | {"CORRAL_CA_FILE": "none.pem"}
    failed = subprocess.run([PYTHON, "-c", read, lab.url()], env=environment, check=False, capture_output=True)
    assert b"none.pem: no file with certificates of authorities" in failed.stderr


def test_what_no_client_may_send_waits(lab: Lab) -> None:
    """A training whose server is not trusted runs, keeps its data, and says why."""
    lab.serve()
    done = lab.corral("run", "--server", lab.url(), "--no-listeners", "--name", "kept", "true")
    assert b"certificate is not trusted" in done.stderr
    assert len(lab.corral.spooled()) == 1
    trust = {"CORRAL_CA_FILE": str(lab.authority.file)}
    lab.corral("run", "--server", lab.url(), "--no-listeners", "--name", "next", "true", env=trust)
    until(lambda: not lab.corral.spooled(), "both runs have reached the server")
    assert b"kept" in lab.corral("ls", "runs").stdout


def test_a_renewed_certificate_is_used_without_a_restart(lab: Lab) -> None:
    server = lab.serve()
    before = lab.not_after()
    certificate, _ = lab.authority.sign(days=2)
    os.kill(server.pid, signal.SIGHUP)
    until_said(server, b"has a new certificate, which is valid until")
    assert lab.not_after() - before > 80_000
    certificate.write_text("broken")
    os.kill(server.pid, signal.SIGHUP)
    until_said(server, b"the certificate in use stays: ")
    assert lab.not_after() - before > 80_000
    # Without a signal, too, within 10 s.
    lab.authority.sign(days=1, names="DNS:new.example,DNS:localhost,IP:127.0.0.1")
    until_said(server, b"has a new certificate")
    with lab.open("/health", Host="new.example") as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        lab.open("/health", Host="old.example")
    assert refused.value.code == 403


def corral_token(lab: Lab) -> Path:
    file = lab.corral.home / "token"
    file.write_text("corral_pat_0123456789_leaked\n")
    return file


def test_plain_http_is_led_to_https(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lab.serve("--redirect-http", f"127.0.0.1:{port}")
    plain = urllib.request.build_opener(Stays)
    for address in (f"http://127.0.0.1:{port}", lab.url().replace("https", "http")):
        with pytest.raises(urllib.error.HTTPError) as led:
            plain.open(address + "/runs?x=1", timeout=60)
        assert led.value.code == 307
        assert str(led.value.headers["Location"]).endswith(f":{lab.url().rpartition(':')[2]}/runs?x=1")
    token = corral_token(lab)
    for options, why in (
        ((), b"leads elsewhere: is it reached by https://?"),
        (("--token-file", token), b"this server is reached by HTTPS: use https://"),
    ):
        assert why in lab.corral("ls", "runs", "--server", f"http://127.0.0.1:{port}", *options, status=1).stderr
    with lab.open("/health") as answer:
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_tokens_do_not_cross_the_network_readable(corral: Corral) -> None:
    refused = corral("serve", "--listen", "0.0.0.0:0", "--auth", "users", status=2).stderr
    assert b"--tls-cert FILE --tls-key FILE for HTTPS, --behind-proxy ADDRESS" in refused
    assert corral.server_pid() is None
    for options, status, why in (
        (("--tls-cert", "a.pem"), 2, b"--tls-cert and --tls-key go together"),
        (("--redirect-http", ":8080"), 2, b"--redirect-http leads to HTTPS"),
        (("--behind-proxy", "lab"), 2, b"'lab' is no network"),
        (("--tls-cert", "none.pem", "--tls-key", "none.key"), 1, b"none.pem"),
    ):
        assert why in corral("serve", "--listen", "127.0.0.1:0", *options, status=status).stderr


def test_users_tokens_that_come_past_the_proxy_are_refused(corral: Corral) -> None:
    corral.serve("--listen", "0.0.0.0:0", "--behind-proxy", "127.0.0.1", "--auth", "users")
    corral("user", "add", "ada", "--role", "reader")
    bearer = {"Authorization": "Bearer " + corral("token", "add", "ada").stdout.decode().strip()}

    def status(headers: dict[str, str]) -> int:
        try:
            request = urllib.request.Request(corral.url() + "/api/corral/v1/me", headers=headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    assert status(bearer) == 403
    assert status(bearer | {"X-Forwarded-Proto": "http"}) == 403
    assert status(bearer | {"X-Forwarded-Proto": "https"}) == 200


def test_a_proxy_says_who_its_client_is(corral: Corral) -> None:
    log = corral.home / "access.log"
    corral.serve("--behind-proxy", "127.0.0.1", "--auth", "users", "--access-log", str(log))
    corral("user", "add", "ada", "--role", "reader")
    token = corral("token", "add", "ada").stdout.decode().strip()
    forwarded = {"X-Forwarded-For": "203.0.113.9, 192.0.2.5", "X-Forwarded-Proto": "https"}
    request = urllib.request.Request(
        corral.url() + "/api/corral/v1/sign-in",
        json.dumps({"token": token}).encode(),
        {"Content-Type": "application/json"} | forwarded,
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert "; Secure" in answer.headers["Set-Cookie"]
    until(lambda: "192.0.2.5" in log.read_text(), "the client's address is in the log")
    assert "203.0.113.9" not in log.read_text()


# ---- behind a real proxy

NGINX = """
daemon off;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
{server}}}
"""


def documented(port: int, backend: str, certificate: Path, key: Path) -> str:
    """The server of docs/security.md, at these places."""
    text = (ROOT / "docs/security.md").read_text().partition("```nginx\n")[2].partition("```")[0]
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/corral.lab.pem", str(certificate)),
        ("/etc/ssl/corral.lab.key", str(key)),
        ("server_name corral.lab", "server_name localhost"),
        ("http://127.0.0.1:5000", backend),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextmanager
def nginx_in_front(lab: Lab, port: int) -> Iterator[str]:
    """The address of nginx in front of the lab's running server, as the documentation has it."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    folder = lab.corral.home / "nginx"
    folder.mkdir()
    server = documented(port, lab.corral.url(), *lab.authority.sign())
    (folder / "nginx.conf").write_text(NGINX.format(server=server))
    told = (folder / "said").open("wb")
    running = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"], stdout=told, stderr=told)
    try:
        url = f"https://localhost:{port}"

        def answers() -> bool:
            assert running.poll() is None, (folder / "said").read_text()
            try:
                return bool(lab.open("/health", url).status == 200)
            except OSError:
                return False

        until(answers, "nginx answers")
        yield url
    finally:
        running.terminate()
        running.wait(60)
        told.close()


@pytest.fixture
def proxied(lab: Lab) -> Iterator[str]:
    lab.corral.serve("--behind-proxy", "127.0.0.1", "--auth", "users")
    with nginx_in_front(lab, free_port()) as url:
        yield url


def test_nginx_in_front_passes_everything_on(lab: Lab, proxied: str) -> None:
    corral = lab.corral
    corral("user", "add", "ada", "--role", "admin")
    token = corral("token", "add", "ada").stdout.decode().strip()
    trust = {"CORRAL_CA_FILE": str(lab.authority.file)}
    corral("login", proxied, stdin=token.encode(), env=trust)
    server = ("--server", proxied)
    events = lab.open("/api/corral/v1/stream", proxied, Authorization=f"Bearer {token}")
    corral("run", "--no-listeners", "--quiet", "--name", "far", *server, "echo", "hello", env=trust)
    assert b"far" in corral("ls", "runs", *server, env=trust).stdout
    assert any(line.startswith(b"event: runs") for line in events), "it is not held back"
    events.close()

    # A file that is greater than what nginx takes by itself, and whose sender says to be elsewhere.
    context = ssl.create_default_context(cafile=str(lab.authority.file))
    port = int(proxied.rpartition(":")[2])
    # The connection to 127.0.0.1 comes from another address than the proxy's own.
    client = http.client.HTTPSConnection(
        "localhost", port, timeout=60, context=context, source_address=("127.0.0.2", 0)
    )
    own = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "203.0.113.9", "Origin": proxied}
    run = corral.runs()[0]["id"]
    content = os.urandom(3 << 20)
    path = f"/api/corral/v1/runs/{run}/artifacts/big.bin"
    client.request("PUT", path, content, own | {"Content-Type": "application/octet-stream"})
    answer = client.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()
    client.request("GET", path, headers=own)
    assert client.getresponse().read() == content
    client.request(
        "POST", "/api/corral/v1/sign-in", json.dumps({"token": token}), own | {"Content-Type": "application/json"}
    )
    answer = client.getresponse()
    assert "; Secure" in (answer.getheader("Set-Cookie") or ""), answer.read()
    answer.read()
    client.close()
    (entry,) = (e for e in json.loads(corral("audit", "--format", "json").stdout) if "sign-in" in e["request"])
    assert entry["address"] == "127.0.0.2", "what the client says of itself does not count"

"""The cost of HTTPS: points per second beside plain TCP, and a certificate that changes under many clients."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from figures import Figure, Peer, percentile
from home import Home
from ingest import frames_of

import store

ROUNDS = 7
CONNECTIONS = 900  # 1,000 is what a server takes
CHANGES = 10


class Certificate:
    def __init__(self, folder: Path) -> None:
        self.file, self.key = folder / "server.pem", folder / "server.key"
        self.renew()

    def renew(self) -> None:
        """Another one of the same names, whose files are replaced at once."""
        request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench -addext"
        made = [path.with_suffix(path.suffix + ".new") for path in (self.file, self.key)]
        subprocess.run(
            ["openssl", *request.split(), "subjectAltName=IP:127.0.0.1", "-out", made[0], "-keyout", made[1]],
            check=True,
            capture_output=True,
        )
        for path in made:
            path.rename(path.with_suffix(""))


class Clients:
    """Connections that each ask, wait, and ask again; half of them connect anew each time."""

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url)
        self.trust = ssl.create_default_context()
        self.trust.check_hostname = False
        self.trust.verify_mode = ssl.CERT_NONE  # the certificate that changes signs itself
        self.done = threading.Event()
        self.answers = 0
        self.failures: list[str] = []

    def ask(self, number: int) -> None:
        connection: http.client.HTTPSConnection | None = None
        while not self.done.is_set():
            try:
                if connection is None or number % 2:
                    source = (f"127.0.0.{1 + number % 3}", 0)  # one address may have 500
                    host, port = self.address.hostname or "", self.address.port
                    connection = http.client.HTTPSConnection(
                        host, port, timeout=60, context=self.trust, source_address=source
                    )
                connection.request("GET", "/health")
                connection.getresponse().read()
                self.answers += 1
                if number % 2:
                    connection.close()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection = None
            self.done.wait(0.5)


def changes(url: str, certificate: Certificate, server: int) -> tuple[int, Clients]:
    connections, rounds = (30, 2) if store.quick else (CONNECTIONS, CHANGES)
    clients = Clients(url)
    with ThreadPoolExecutor(connections) as pool:
        for number in range(connections):
            pool.submit(clients.ask, number)
        for _ in range(rounds):
            certificate.renew()
            os.kill(server, signal.SIGHUP)
            before = clients.answers
            while clients.answers < before + connections and not clients.failures:
                time.sleep(0.05)
        clients.done.set()
    return rounds, clients


def figures(build: Path) -> list[Figure]:
    rates: dict[str, list[float]] = {"http": [], "https": []}
    with Home(build) as plain, Home(build) as secure:
        certificate = Certificate(secure.directory)
        options = ("--tls-cert", certificate.file, "--tls-key", certificate.key)
        plain.popen("serve", "--listen", "127.0.0.1:0", "--durability", "relaxed")
        secure.popen("serve", "--listen", "127.0.0.1:0", "--durability", "relaxed", *options)
        servers = {"http": plain.server(), "https": secure.server()}
        trust = {"SSL_CERT_FILE": str(certificate.file)}
        for _ in range(1 if store.quick else ROUNDS):
            for kind, server in servers.items():
                done = frames_of(build, f"{kind}://127.0.0.1:{urlsplit(server['url']).port}", 1, trust)
                rates[kind].append(done["points"] / done["seconds"])
        rounds, clients = changes(servers["https"]["url"], certificate, servers["https"]["pid"])
    peer = percentile(rates["http"], 0.5)
    requests = len(clients.failures) + clients.answers
    words = f"failures of {requests} requests while the certificate changed {rounds} times"
    rate = percentile(rates["https"], 0.5)
    return [
        Figure("one writer by HTTPS", rate, "points/s", least=0.85 * peer, peer=Peer("TCP", peer)),
        Figure(words, len(clients.failures), "", 0),
    ]

"""HTTPS: only servers whose certificate a known authority signed."""

from __future__ import annotations

import subprocess

from support import Corral


def test_only_a_certificate_of_a_known_authority_is_trusted(corral: Corral) -> None:
    certificate, key = corral.home / "certificate.pem", corral.home / "key.pem"
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(
        ["openssl", *request.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    serve = f"openssl s_server -accept 127.0.0.1:0 -cert {certificate} -key {key} -www"
    with subprocess.Popen(serve.split(), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if line.startswith("ACCEPT "))
            listing = ("ls", "runs", "--server", f"https://localhost:{line.rpartition(':')[2].strip()}")
            refused = corral(*listing, status=1).stderr
            assert b"the server's certificate is not trusted; SSL_CERT_FILE names a file" in refused
            # It is no server of Corral's, which is seen only behind a handshake that succeeds.
            reached = corral(*listing, status=1, env={"SSL_CERT_FILE": str(certificate)}).stderr
            assert b"answers, but not as a Corral server" in reached
        finally:
            server.kill()

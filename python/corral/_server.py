"""Finding a store's server and asking it, as the command line does; starts none."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from corral._modules import installed, module

_UNIX_PATH_BYTES = 107  # sun_path without its end
_TIMEOUT_S = 60.0
_DATABASE = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Server:
    """Where a server is. Either `socket` (a path) or `url` is set."""

    socket: str = ""
    url: str = ""
    token: str = ""
    store: str = ""

    def __str__(self) -> str:
        return self.url or f"the store {self.store}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
        # Others can put a socket of theirs at a path that a client expects.
        _, uid, _ = struct.unpack("3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid not in (os.geteuid(), 0):
            self.close()
            raise PermissionError(f"corral.read: the server at {self._path} belongs to user {uid}; nothing is sent")


# Which server


def _configuration() -> dict[str, Any]:
    """Top-level lines of the configuration file. Python 3.10 cannot read TOML: there it is left aside."""
    if not installed("tomllib"):
        return {}
    tomllib = module("tomllib")
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(os.environ.get("HOME", "/nonexistent"), ".config")
    chosen = os.environ.get("CORRAL_CONFIG")
    for file in [chosen] if chosen else ["corral.toml", os.path.join(base, "corral", "corral.toml")]:
        try:
            with open(file, "rb") as stream:
                lines: dict[str, Any] = tomllib.load(stream)
                return lines
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise ValueError(f"corral.read: {file}: {error}") from None
    return {}


def _without_passwords(url: str) -> str:
    """As the server's own: it names the directory of a database's socket."""
    spans = []
    scheme = url.find("://")
    colon, at = url.find(":", scheme + 3), url.rfind("@")
    if -1 < colon < at:
        spans.append((colon + 1, at))
    for found in re.finditer("password=", url):
        if at == -1 or found.start() > at:
            end = url.find("&", found.end())
            spans.append((found.end(), len(url) if end == -1 else end))
    for start, end in reversed(spans):
        url = url[:start] + url[end:]
    return url.replace(":@", "@", 1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _database_directory(url: str) -> str:
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    root = f"/var/tmp/corral-{os.geteuid()}"
    if state.startswith("/"):
        root = state
    elif home.startswith("/"):
        root = os.path.join(home, ".local", "state")
    return os.path.join(root, "corral", "databases", _digest(_without_passwords(url)))


def socket_path(directory: str) -> str:
    """The socket of a store's server; a store whose path is too long has it elsewhere."""
    real = os.path.realpath(directory)
    inside = os.path.join(real, "corral.sock")
    if len(os.fsencode(inside)) <= _UNIX_PATH_BYTES:
        return inside
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if not (runtime.startswith("/") and len(os.fsencode(runtime)) < 64):
        runtime = f"/tmp/corral-{os.getuid()}"
    return os.path.join(runtime, _digest(real) + ".sock")


def _default_store() -> str:
    data, home = os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME", "")
    if data.startswith("/"):
        return os.path.join(data, "corral")
    if home.startswith("/"):
        return os.path.join(home, ".local", "share", "corral")
    raise ValueError("corral.read: neither $XDG_DATA_HOME nor $HOME is set: say where the store is with store=")


def _chosen(server: str | None, store: str | os.PathLike[str] | None) -> tuple[str, str]:
    """(server, store) of the strongest source: argument, environment, configuration file."""
    configuration = _configuration() if server is None and store is None else {}
    sources = [
        ("server= and store=", server or "", os.fspath(store) if store is not None else ""),
        ("CORRAL_SERVER and CORRAL_STORE", os.environ.get("CORRAL_SERVER", ""), os.environ.get("CORRAL_STORE", "")),
        ("the file's server and store", str(configuration.get("server", "")), str(configuration.get("store", ""))),
    ]
    for name, url, place in sources:
        if url and place:
            raise ValueError(f"corral.read: {name} exclude each other: choose one")
        if url or place:
            return url, place
    return "", _default_store()


def _token(token: str | None) -> str:
    if token is not None:
        return token
    file = os.environ.get("CORRAL_TOKEN_FILE") or str(_configuration().get("token-file", ""))
    return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip() if file else ""


def find_server(server: str | None, store: str | os.PathLike[str] | None, token: str | None) -> Server:
    url, place = _chosen(server, store)
    if url:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"corral.read: server {url!r}: a URL is wanted, as http://host:5000")
        return Server(url=url.rstrip("/"), token=_token(token))
    if place.startswith(_DATABASE):
        return Server(socket=socket_path(_database_directory(place)), store=_without_passwords(place))
    return Server(socket=socket_path(place), store=place)


# Asking it


def _connection(server: Server) -> http.client.HTTPConnection:
    if server.socket:
        return _UnixConnection(server.socket, _TIMEOUT_S)
    parts = urlsplit(server.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)


def _nobody(server: Server, error: OSError) -> ConnectionError:
    if server.url:
        return ConnectionError(f"corral.read: {server.url} does not answer ({error}); is `corral serve` running there?")
    start = f"corral serve --store {server.store}"
    return ConnectionError(
        f"corral.read: no server of the store {server.store} answers; start one with `{start}`, "
        "or name another store (store=, CORRAL_STORE) or server (server=)"
    )


def _refusal(status: int, body: bytes) -> Exception:
    try:
        detail = json.loads(body)["error"]
        code, message = str(detail["code"]), str(detail["message"])
    except (ValueError, KeyError, TypeError):
        code, message = "", f"the server answered {status}"
        if status in (404, 405):
            message += "; is it older than this package?"
    return error_of(code, message)


_KINDS: dict[str, type[Exception]] = {
    "not_found": LookupError,
    "invalid_argument": ValueError,
    "permission": PermissionError,
    "unauthenticated": PermissionError,
    "unavailable": ConnectionError,
}


def error_of(code: str, message: str) -> Exception:
    if code == "unauthenticated":
        message += "; give token= or CORRAL_TOKEN_FILE"
    return _KINDS.get(code, RuntimeError)(f"corral.read: {message}")


def post(server: Server, path: str, body: object) -> http.client.HTTPResponse:
    """The answer, still to be read; closing it closes the connection. An error status is raised."""
    connection = _connection(server)
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    try:
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, socket.gaierror) as error:
        connection.close()
        raise _nobody(server, error) from None
    except PermissionError:
        connection.close()
        raise
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise ConnectionError(f"corral.read: {server} does not answer: {error}") from error
    if answer.status != 200:
        with answer:
            raise _refusal(answer.status, answer.read(65536))
    return answer

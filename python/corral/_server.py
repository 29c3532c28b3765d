"""Finding a store's server and asking it, as the command line does; starts none."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from corral._modules import installed, module

_UNIX_PATH_BYTES = 107  # sun_path without its end
_TIMEOUT_S = 60.0
_ANSWER_S = 600.0  # many runs with many phases take that long to compare
_CONFIG_BYTES = 1 << 20
_DATABASE = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Server:
    """The address of a server. Either `socket` (a path) or `url` is set."""

    socket: str = ""
    url: str = ""
    token: str = ""
    store: str = ""
    directory: str = ""  # holds the record of a store's server
    authorities: str = ""  # PEM file; empty: the system's

    def __str__(self) -> str:
        return self.url or f"the store {self.store}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        # Others can put a socket of theirs, or a link, at a path that a client expects.
        facts = os.lstat(self._path)
        if not stat.S_ISSOCK(facts.st_mode):
            raise PermissionError(f"corral: {self._path} is not a socket; nothing is sent")
        self._check(facts.st_uid)
        self.sock.connect(self._path)
        self._check(struct.unpack("iII", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])

    def _check(self, uid: int) -> None:
        if uid not in (os.geteuid(), 0):
            self.close()
            raise PermissionError(f"corral: the server at {self._path} belongs to user {uid}; nothing is sent")


# Choice of the server


@dataclass(frozen=True)
class _Choice:
    """The server, store and token that one place of configuration names."""

    name: str  # name of that place, for messages
    server: str = ""
    store: str = ""
    token_file: str = ""
    ca_file: str = ""
    from_directory: bool = False  # ./corral.toml: no token that was given elsewhere goes to its server
    advice: str = ""  # the command that makes it trusted; empty if it is


def _base(variable: str, below: str) -> str:
    base = os.environ.get(variable, "")
    return base if base.startswith("/") else os.path.join(os.environ.get("HOME", "/nonexistent"), below)


def _mine(file: int) -> bool:
    """Returns true if only this user can change the file."""
    facts = os.fstat(file)
    return facts.st_uid in (os.geteuid(), 0) and not facts.st_mode & 0o022


def _is_trusted(path: str, text: bytes) -> bool:
    """As `corral trust` writes it down: the SHA-256 of the content and the path, a file a line."""
    record = os.path.join(_base("XDG_STATE_HOME", ".local/state"), "corral", "trusted")
    folder, name = os.path.split(os.path.abspath(path))
    line = f"{hashlib.sha256(text).hexdigest()} {os.path.join(os.path.realpath(folder), name)}"
    try:
        with open(record, "rb") as stream:
            return _mine(stream.fileno()) and os.fsencode(line) in stream.read().split(b"\n")
    except OSError:
        return False


def _configured() -> list[_Choice]:
    """Top-level lines of the configuration files, the strongest first. Python 3.10 cannot read TOML and
    ignores them."""
    if not installed("tomllib"):
        return []
    tomllib = module("tomllib")
    own = os.path.join(_base("XDG_CONFIG_HOME", ".config"), "corral", "corral.toml")
    chosen = os.environ.get("CORRAL_CONFIG")
    choices = []
    for path in [chosen] if chosen else ["corral.toml", own]:
        try:
            # A file in the working directory may be a pipe, or endless.
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
                if not (chosen or stat.S_ISREG(os.fstat(stream.fileno()).st_mode)):
                    raise ValueError("not a regular file")
                text, mine = stream.read(_CONFIG_BYTES + 1), _mine(stream.fileno())
                if len(text) > _CONFIG_BYTES:
                    raise ValueError("larger than 1 MiB")
            lines: dict[str, Any] = tomllib.loads(text.decode())
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise ValueError(f"corral: {path}: {error}") from None
        keys = ("server", "store", "token-file", "ca-file")
        server, store, token, authorities = (str(lines.get(key, "")) for key in keys)
        here = path == "corral.toml" and not chosen
        advice = ""
        if here and not _is_trusted(path, text):
            advice = "`corral trust` shows and trusts it"
        elif not (here or mine or chosen):
            advice = "others can write it: chmod go-w it"
        choices.append(_Choice(path, server, store, token, authorities, here, advice))
    return choices


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
    raise ValueError("corral: neither $XDG_DATA_HOME nor $HOME is set; name the store with store=")


def _chosen(server: str | None, store: str | os.PathLike[str] | None) -> _Choice:
    """The strongest that names a place: argument, environment, ./corral.toml, the user's own file."""
    given = [
        _Choice("server= and store=", server or "", os.fspath(store) if store is not None else ""),
        _Choice(
            "CORRAL_SERVER and CORRAL_STORE", os.environ.get("CORRAL_SERVER", ""), os.environ.get("CORRAL_STORE", "")
        ),
    ]
    if not any(choice.server or choice.store for choice in given):
        given += _configured()
    for choice in given:
        if choice.server and choice.store:
            raise ValueError(f"corral: {choice.name}: server and store exclude each other: choose one")
        if choice.advice and (choice.server or choice.store):
            raise PermissionError(
                f"corral: {choice.name} names the server or store, but is not trusted: {choice.advice}; or choose "
                "one with server=, store=, CORRAL_SERVER or CORRAL_STORE"
            )
        if choice.server or choice.store:
            return choice
    return _Choice("the default", store=_default_store())


def _kept_token(server: str) -> str:
    """The file in which `corral login` keeps the token of a server; empty if there is none."""
    file = os.path.join(_base("XDG_CONFIG_HOME", ".config"), "corral", "tokens", quote(server.rstrip("/"), safe=""))
    return file if os.path.exists(file) else ""


def _token(token: str | None, place: _Choice) -> str:
    """A token goes only to the server that it was given for (docs/security.md)."""
    if token is not None and not place.from_directory:
        return token
    if token is not None:
        raise ValueError(
            f"corral: token= was not given for {place.server}, which only {place.name} names: give server="
        )
    file = place.token_file
    if not place.from_directory:
        files = (c.token_file for c in _configured() if not c.advice)
        file = os.environ.get("CORRAL_TOKEN_FILE") or next(filter(None, files), "")
    # That one was given for this server by its name.
    file = file or _kept_token(place.server)
    return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip() if file else ""


def _authorities() -> str:
    """The file with the authorities that a server's certificate may be from; empty: the system's."""
    if named := os.environ.get("CORRAL_CA_FILE"):
        return named
    return next((c.ca_file for c in _configured() if c.ca_file and not c.advice), "")


def find_server(server: str | None, store: str | os.PathLike[str] | None, token: str | None) -> Server:
    chosen = _chosen(server, store)
    url, place = chosen.server, chosen.store
    if url:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"corral: server {url!r}: expected a URL, e.g. http://host:5000")
        authorities = _authorities() if url.startswith("https://") else ""
        return Server(url=url.rstrip("/"), token=_token(token, chosen), authorities=authorities)
    database = place.startswith(_DATABASE)
    directory = _database_directory(place) if database else place
    return Server(
        socket=socket_path(directory), store=_without_passwords(place) if database else place, directory=directory
    )


def page_of(server: Server) -> str:
    """The address of the page; empty if no server has written one."""
    if server.url:
        return server.url
    try:
        with open(os.path.join(server.directory, "server.json"), encoding="utf-8") as file:
            url = json.loads(file.read(_CONFIG_BYTES))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""


# Asking it


def _connection(server: Server) -> http.client.HTTPConnection:
    if server.socket:
        return _UnixConnection(server.socket, _TIMEOUT_S)
    parts = urlsplit(server.url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return http.client.HTTPConnection(host, parts.port, timeout=_TIMEOUT_S)
    try:
        trust = ssl.create_default_context(cafile=server.authorities or None)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(f"corral: {server.authorities}: no file with certificates of authorities: {error}") from None
    return http.client.HTTPSConnection(host, parts.port, timeout=_TIMEOUT_S, context=trust)


def _nobody(server: Server, error: OSError) -> ConnectionError:
    if server.url:
        return ConnectionError(f"corral: {server.url} does not answer ({error}); is `corral serve` running there?")
    start = f"corral serve --store {server.store}"
    return ConnectionError(
        f"corral: no server of the store {server.store} answers; start one with `{start}`, "
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
    return _KINDS.get(code, RuntimeError)(f"corral: {message}")


def _ask(server: Server, method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
    connection = _connection(server)
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    try:
        connection.request(method, path, body, headers)
        if connection.sock is not None:
            connection.sock.settimeout(_ANSWER_S)
        answer = connection.getresponse()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, socket.gaierror) as error:
        connection.close()
        raise _nobody(server, error) from None
    except PermissionError:
        connection.close()
        raise
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise ConnectionError(f"corral: {server} does not answer: {error}") from error
    if answer.status != 200:
        with answer:
            raise _refusal(answer.status, answer.read(65536))
    return answer


def post(server: Server, path: str, body: object) -> http.client.HTTPResponse:
    """The answer, still to be read; closing it closes the connection. An error status is raised."""
    return _ask(server, "POST", path, json.dumps(body).encode())


def answer_of(server: Server, response: http.client.HTTPResponse) -> dict[str, Any]:
    """The JSON object of an answer, which is closed."""
    try:
        with response:
            text = response.read()
    except (http.client.HTTPException, OSError) as error:
        raise ConnectionError(f"corral: the answer was cut off: {error or type(error).__name__}") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise RuntimeError(f"corral: {server} answers, but not as a Corral server")
    return document


def get(server: Server, path: str) -> dict[str, Any]:
    """The JSON object of the answer. An error status is raised."""
    return answer_of(server, _ask(server, "GET", path))

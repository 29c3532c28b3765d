"""Sends a list of raw requests to a tracking server and keeps what it answered, in a form that two servers share.

A chapter is a list of requests that build on each other: a request may save parts of its answer under a name, and later
requests name them as `$name`. Before answers are compared or stored, everything that differs from one server or day to
the next is replaced: saved ids by `<name>`, other generated ids by their kind, times of today by `<now>`.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from string import Template
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

Json = Any
Query = Mapping[str, Any] | list[tuple[str, str]]

API = "/api/2.0/mlflow/"
PATIENCE = 120.0
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Request:
    name: str
    method: str
    path: str  # below /api/2.0/mlflow/, or from the root when it begins with a slash
    body: Json = None  # sent as JSON; text and bytes are sent as they are
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)  # name -> where in the answer: "run.info.run_id"


@dataclass
class Chapter:
    """Requests in order. The methods add one each and are named after its verb."""

    name: str
    requests: list[Request] = field(default_factory=list)

    def add(self, method: str, name: str, path: str, body: Json = None, **options: Any) -> None:
        if any(earlier.name == name for earlier in self.requests):
            raise ValueError(f"{self.name}: two requests are named {name!r}")
        self.requests.append(Request(name, method, path, body, **options))

    def get(self, name: str, path: str, query: Query | None = None, **options: Any) -> None:
        self.add("GET", name, path, query=query or {}, **options)

    def post(self, name: str, path: str, body: Json, **options: Any) -> None:
        self.add("POST", name, path, body, **options)

    def put(self, name: str, path: str, body: Json, **options: Any) -> None:
        self.add("PUT", name, path, body, **options)

    def patch(self, name: str, path: str, body: Json, **options: Any) -> None:
        self.add("PATCH", name, path, body, **options)

    def delete(self, name: str, path: str, body: Json = None, **options: Any) -> None:
        self.add("DELETE", name, path, body, **options)


@dataclass(frozen=True)
class Answer:
    """The answer to one request, normalised. `body` is JSON, text, or None where there is none."""

    status: int
    body: Json

    def as_json(self) -> Json:
        return {"status": self.status, "body": self.body}


# ---- sending


def filled(value: Json, saved: Mapping[str, str]) -> Json:
    """The value with every `$name` replaced, at any depth."""
    if isinstance(value, str):
        return Template(value).safe_substitute(saved) if "$" in value else value
    if isinstance(value, Mapping):
        return {filled(key, saved): filled(item, saved) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(item, saved) for item in value]
    return value


def pairs(query: Query, saved: Mapping[str, str]) -> list[tuple[str, str]]:
    items: Iterable[tuple[str, Any]] = query.items() if isinstance(query, Mapping) else query
    result = []
    for key, value in items:
        for one in value if isinstance(value, list) else [value]:
            result.append((key, str(filled(one, saved))))
    return result


def at(answer: Json, where: str) -> Json:
    for part in where.split("."):
        try:
            answer = answer[int(part)] if isinstance(answer, list) else answer[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return answer


class Session:
    """One connection to a server, with what chapters saved. A failed connection is an answer with status 0."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)

    def close(self) -> None:
        self._connection.close()

    def play(self, chapter: Chapter) -> dict[str, Answer]:
        """Every answer by its request's name."""
        saved: dict[str, str] = {}
        return {request.name: self._send(request, saved) for request in chapter.requests}

    def _send(self, request: Request, saved: dict[str, str]) -> Answer:
        path = filled(request.path, saved)
        path = path if path.startswith("/") else API + path
        query = pairs(request.query, saved)
        target = quote(path, safe="/%:?=&;,@+~!*'()") + ("?" + urlencode(query) if query else "")
        headers = dict(request.headers)
        body = filled(request.body, saved)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        data = body.encode() if isinstance(body, str) else body
        try:
            if request.method != "GET":
                next_millisecond()
            self._connection.request(request.method, target, data, headers)
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return Answer(0, type(error).__name__)
        if response.status >= 500:  # such a server may be about to close it
            self._connection.close()
        parsed = parse(text, response.headers.get_content_type())
        for name, where in request.save.items():
            value = at(parsed, where)
            saved[name] = str(value) if value is not None else f"unsaved-{name}"
        return Answer(response.status, Normaliser(saved)(parsed))


def next_millisecond() -> None:
    """Changes happen at different times, so that what is ordered by time has one order."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now:
        pass


def parse(text: bytes, kind: str) -> Json:
    if not text:
        return None
    if kind == "text/html" and text.lstrip()[:1] == b"<":
        return "<html>"
    try:
        return json.loads(text) if kind == "application/json" or text.startswith(b"{") else text.decode()
    except ValueError:
        return f"<{len(text)} bytes>"


# ---- normalising


HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
RUN_NAME = re.compile(r"^[a-z]+-[a-z]+-\d+$")
ISO_TIME = re.compile(r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
# An experiment's number where addresses and messages have one.
EXPERIMENT = re.compile(
    r"(?<=mlflow-artifacts:/)\d+(?=/|$)|(?<=with id=)\d+|(?<=with id )\d+|(?<=experiment )\d+|(?<=')\d+(?=/)"
    r"|(?<=value \")\d+(?=\" for parameter 'experiment_ids')"
)
# Texts of a database or in the order of a hash table say nothing that another server could say alike.
DATABASE = re.compile(r"\((sqlite3\.|raised as).*", re.DOTALL)
SET = re.compile(r"'?[{]'[^{}]*'[}]'?")
IN_ERROR_ONLY = ("sqlstate", "error_class", "stack_trace")
BY_KEY = ("metrics", "params", "tags", "request_metadata")  # lists whose order between keys means nothing
TOKENS = ("next_page_token", "page_token")
LONG = 200


class Normaliser:
    def __init__(self, saved: Mapping[str, str]) -> None:
        self._long = {v: k for k, v in saved.items() if len(v) >= 32 and HEX.search(v)}
        self._experiments = {v: k for k, v in saved.items() if v.isdigit() and k.startswith("exp")}
        self._now_ms = time.time_ns() // 1_000_000

    def __call__(self, answer: Json) -> Json:
        return self._value("", answer)

    def _value(self, key: str, value: Json) -> Json:
        if isinstance(value, dict):
            skip = IN_ERROR_ONLY if "error_code" in value else ()
            return {k: self._value(k, v) for k, v in value.items() if k not in skip}
        if isinstance(value, list):
            items = [self._value(key, item) for item in value]
            return sorted(items, key=key_of) if key in BY_KEY else items
        if isinstance(value, str):
            return shortened(self._text(key, value))
        if isinstance(value, int) and not isinstance(value, bool) and abs(value - self._now_ms) < DAY_MS:
            return "<now>"
        return "NaN" if value != value else value  # a bare NaN literal has no place in a recording

    def _text(self, key: str, value: str) -> str:
        if key in TOKENS and value:
            return "<token>"
        if key in ("run_name", "value") and RUN_NAME.match(value):
            return "<run name>"
        if key == "experiment_id" and value in self._experiments:
            return f"<{self._experiments[value]}>"
        if key == "experiment_id" and value.isdigit() and value != "0":
            return "<another>"
        if ISO_TIME.match(value):
            return "<now>"
        if value.startswith("[{"):  # JSON within JSON: the order of its keys means nothing
            value = sorted_json(value)
        for found, name in self._long.items():
            value = value.replace(found, f"<{name}>")
        value = HEX.sub("<hex>", value)
        if key == "message":
            value = SET.sub("<several>", DATABASE.sub("<database>", value))
        return EXPERIMENT.sub(self._experiment, value)

    def _experiment(self, match: re.Match[str]) -> str:
        name = self._experiments.get(match[0])
        return f"<{name}>" if name else match[0]


def sorted_json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def key_of(item: Json) -> str:
    return str(item.get("key", "")) if isinstance(item, dict) else ""


def shortened(text: str) -> str:
    """Long texts by their beginning, length and sum."""
    if len(text) <= LONG:
        return text
    return f"{text[:40]}... ({len(text)} characters, {zlib.crc32(text.encode(errors='replace')):08x})"


def play_all(url: str, chapters: Iterable[Chapter], told: Callable[[str], None] | None = None) -> Json:
    """Answers of all chapters, in order, as JSON: chapter -> request -> {status, body}."""
    session = Session(url)
    result = {}
    for chapter in chapters:
        start = time.monotonic()
        result[chapter.name] = {name: answer.as_json() for name, answer in session.play(chapter).items()}
        if told:
            told(f"{chapter.name}: {len(chapter.requests)} requests in {time.monotonic() - start:.1f} s")
    session.close()
    return result

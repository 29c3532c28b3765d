"""A lab: a served store with users and spaces. Every text in a space bears its mark, and every client looks for those
of other spaces in whatever it is answered.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlsplit

from support import Corral

MARK = re.compile(rb"zz[mh][a-z]+\d*x[0-9a-f]{8}zz")
ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
API = "/api/corral/v1"
MLFLOW = "/api/2.0/mlflow"


@dataclass
class Space:
    """A space and what lies in it, by kind of id; or what everybody sees."""

    name: str  # empty: no space
    mark: str = ""  # in all values, descriptions and files; no stranger sends it
    handle: str = ""  # in all names, by which strangers ask
    ids: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        rest = f"{self.name or 'open'}x{token_hex(4)}zz"
        self.mark, self.handle = self.mark or f"zzm{rest}", self.handle or f"zzh{rest}"

    def name_of(self, rest: str, separator: str = "/") -> str:
        return f"{self.name}{separator}{rest}-{self.handle}" if self.name else f"{rest}-{self.handle}"


@dataclass
class Seen:
    """Findings and figures of all clients of a lab."""

    leaks: list[str] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    asked: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)  # that strangers were answered


class Lab:
    """Starts a server with an admin "ada"."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.seen = Seen()
        self.spaces: list[Space] = []
        self.space_of: dict[str, Space] = {}  # by an id or a mark
        self.removed: list[str] = []  # ids of runs that their people removed
        self.stop = threading.Event()
        self.server = corral.serve("--auth", "users", "--listen", "127.0.0.1:0")
        address = urlsplit(corral.url())
        self.host, self.port = address.hostname or "", address.port or 0
        corral("user", "add", "ada", "--role", "admin")
        self.admin = Client(self, self.token("ada"), [])

    def token(self, user: str) -> str:
        return self.corral("token", "add", user).stdout.decode().strip()

    def add_space(self, name: str) -> Space:
        space = Space(name)
        if name:
            self.admin.ok("POST", f"{API}/spaces", {"name": name})
        self.spaces.append(space)
        self.space_of[space.mark] = self.space_of[space.handle] = space
        return space

    def add_user(self, name: str, role: str, *spaces: Space) -> Client:
        self.admin.ok("POST", f"{API}/users", {"name": name, "role": role})
        for space in spaces:
            if space.name:
                self.admin.ok("PUT", f"{API}/spaces/{space.name}", {"add": [name]})
        return Client(self, self.token_of(name), [*spaces, *(one for one in self.spaces if not one.name)])

    def token_of(self, user: str) -> str:
        return str(self.admin.ok("POST", f"{API}/tokens", {"user": user})["token"])

    def note_id(self, space: Space, kind: str, value: str) -> str:
        space.ids[kind].append(value)
        self.space_of[value] = space
        return value

    def memory(self) -> int:
        """Bytes that the server has in memory."""
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024


class Client:
    """One connection of a user. Not for several threads."""

    def __init__(self, lab: Lab, token: str, spaces: list[Space]) -> None:
        self.lab, self.token = lab, token
        self.sees = {id(space) for space in spaces}
        self._connection = http.client.HTTPConnection(lab.host, lab.port, timeout=120)

    def ask(self, method: str, path: str, body: Any = None, what: str = "") -> tuple[int, bytes]:
        """An answer, in which nothing is that the user may not see; `what` names it in the figures."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        began = time.monotonic()
        try:
            self._connection.request(method, path, content, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (http.client.HTTPException, OSError) as error:
            self._connection.close()
            if not self.lab.stop.is_set():
                self.lab.seen.failures[f"{what or method}: {type(error).__name__}"] += 1
            return 0, b""
        if what:
            self.lab.seen.seconds[what].append(time.monotonic() - began)
        gone = response.status == 404 and (b"has no metric" in answer or any(one in path for one in self.lab.removed))
        if response.status >= 500 or response.status == 429 or (what and response.status != 200 and not gone):
            self.lab.seen.failures[f"{what or method + ' ' + path}: {response.status} {answer[:200]!r}"] += 1
        self.look_at(f"{method} {path}", (path.encode(), content or b""), answer)
        return response.status, answer

    def ok(self, method: str, path: str, body: Any = None, what: str = "") -> Any:
        """The answer's JSON; None after a failure, which is noted."""
        status, answer = self.ask(method, path, body, what)
        if status == 200:
            return json.loads(answer) if answer[:1] in (b"{", b"[") else answer
        if 0 < status < 500 and not what:
            self.lab.seen.failures[f"{method} {path}: {status} {answer[:200]!r}"] += 1
        return None

    def look_at(self, question: str, asked: tuple[bytes, ...], answer: bytes) -> None:
        for found in {*MARK.findall(answer), *ID.findall(answer)}:
            space = self.lab.space_of.get(found.decode())
            if space is None or id(space) in self.sees or any(found in part for part in asked):
                continue
            at = answer.index(found)
            self.leak(f"{question}: {answer[max(0, at - 80) : at + 80]!r}")

    def leak(self, what: str) -> None:
        self.lab.seen.leaks.append(what)

    def follow(self) -> None:
        """Reads the stream of what changes until the lab stops. It ends for all when somebody's access changes; a
        reader opens it anew, as browsers do."""
        while not self.lab.stop.is_set():
            connection = http.client.HTTPConnection(self.lab.host, self.lab.port, timeout=60)
            try:
                connection.request("GET", f"{API}/stream", headers={"Authorization": f"Bearer {self.token}"})
                response = connection.getresponse()
                if response.status != 200:
                    self.lab.seen.failures[f"the stream of changes: {response.status}"] += 1
                    return
                while not self.lab.stop.is_set() and (line := response.readline()):
                    self.look_at("GET /stream", (), line)
            except (http.client.HTTPException, OSError) as error:
                if not self.lab.stop.is_set():
                    self.lab.seen.failures[f"the stream of changes: {type(error).__name__}"] += 1
            finally:
                connection.close()


def fill(lab: Lab, client: Client, space: Space) -> None:
    """Puts runs, models, traces, files, notes and what people save into a space, as one of its writers."""
    mark, handle, ids = space.mark, space.handle, space.ids
    made = client.ok("POST", f"{MLFLOW}/experiments/create", {"name": space.name_of("still")})
    experiment = lab.note_id(space, "experiment", made["experiment_id"])
    start: dict[str, Any] = {"experiment_id": experiment, "run_name": f"run-{handle}", "start_time": 1}
    run = lab.note_id(space, "run", client.ok("POST", f"{MLFLOW}/runs/create", start)["run"]["info"]["run_id"])
    points = [{"key": f"loss-{handle}", "value": i / 7, "timestamp": 1000 * i, "step": i} for i in range(50)]
    params, tags = [{"key": f"p-{handle}", "value": mark}], [{"key": f"t-{handle}", "value": mark}]
    client.ok("POST", f"{MLFLOW}/runs/log-batch", {"run_id": run, "metrics": points, "params": params, "tags": tags})
    dataset = {"name": f"d-{handle}", "digest": "1", "source_type": "local", "source": mark}
    client.ok("POST", f"{MLFLOW}/runs/log-inputs", {"run_id": run, "datasets": [{"dataset": dataset, "tags": []}]})
    client.ok("POST", f"{API}/runs/{run}/notes", {"text": mark})
    client.ok("PUT", f"{API}/runs/{run}/artifacts/note.txt", mark.encode())
    model = {"experiment_id": experiment, "name": f"m-{handle}", "source_run_id": run}
    made = client.ok("POST", f"{MLFLOW}/logged-models", model)
    lab.note_id(space, "model", made["model"]["info"]["model_id"].removeprefix("m-"))
    name = space.name_of("model", ".")
    ids["name"].append(name)
    client.ok("POST", f"{MLFLOW}/registered-models/create", {"name": name, "description": mark})
    version = {"name": name, "source": f"mlflow-artifacts:/{experiment}/{run}/artifacts", "description": mark}
    client.ok("POST", f"{MLFLOW}/model-versions/create", version)
    client.ok("POST", f"{MLFLOW}/registered-models/alias", {"name": name, "alias": "a", "version": "1"})
    lab.note_id(space, "trace", token_hex(16))
    where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
    info = {"trace_id": f"tr-{ids['trace'][0]}", "trace_location": where, "request_time": "2026-11-21T19:10:20Z"}
    info |= {"state": "OK", "trace_metadata": {"mlflow.sourceRun": run, "about": mark}}
    client.ok("POST", "/api/3.0/mlflow/traces", {"trace": {"trace_info": info}})
    ids["saved"].append(quote(space.name_of("saved"), safe=""))
    for kind in ("boards", "lists", "reports"):
        client.ok("PUT", f"{API}/{kind}/{ids['saved'][0]}", {"state": mark})
    lab.note_id(space, "plan", token_hex(16))
    client.ok("PUT", f"{API}/plans/{ids['plan'][0]}", plan_of(space))
    for workload in client.ok("GET", f"{API}/workloads?experiment={experiment}")["workloads"]:
        lab.note_id(space, "workload", workload["id"])
    client.ok("POST", f"{MLFLOW}/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 60000})
    series = client.ok("GET", f"{API}/runs/{run}/metrics")["metrics"]
    ids["series"] += [str(one["series"]) for one in series]


def plan_of(space: Space) -> dict[str, Any]:
    rows = [{"key": space.mark, "experiment": space.name_of("still"), "workload": "1", "state": "waiting"}]
    return {"file": f"{space.mark}.csv", "host": "node7", "state": "running", "updated_ns": "5", "runs": rows}


def content(client: Client, space: Space) -> list[bytes]:
    """All that fill() put there."""
    run, ids = space.ids["run"][0], space.ids
    paths = [f"{API}/runs/{run}{part}" for part in ("", "/notes", "/artifacts", "/artifacts/note.txt", "/export")]
    paths += [f"{API}/plans/{ids['plan'][0]}", f"{MLFLOW}/runs/get?run_id={run}"]
    paths += [f"{MLFLOW}/experiments/get?experiment_id={ids['experiment'][0]}"]
    paths += [f"{MLFLOW}/registered-models/get?name={ids['name'][0]}"]
    paths += [f"{MLFLOW}/logged-models/m-{ids['model'][0]}", f"/api/3.0/mlflow/traces/tr-{ids['trace'][0]}"]
    paths += [f"{MLFLOW}/model-versions/get?name={ids['name'][0]}&version=1"]
    answers = [client.ask("GET", path) for path in paths]
    told = [f"{path}: {status} ".encode() + answer for path, (status, answer) in zip(paths, answers, strict=True)]
    for kind in ("boards", "lists", "reports"):
        saved = client.ok("GET", f"{API}/{kind}")[kind]
        told.append(f"{kind}: {[one for one in saved if space.handle in one['name']]}".encode())
    return told

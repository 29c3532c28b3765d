"""Random requests by those who do not see a space: every route of the server and every call of MLflow's clients, with
the ids and names of what lies in each space.

Whatever names something foreign is answered as if that were not there: each answer that is no refusal is compared with
that to a twin, which differs in these ids and names alone, and whose are nowhere.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, defaultdict
from secrets import token_hex
from typing import Any
from urllib.parse import urlencode

from lab.place import API, MLFLOW, Client, Lab, Space

Question = tuple[str, str, Any]

# Not asked: they would change who may do what, end the server, or be refused for coming too often.
LEFT_OUT = re.compile(
    rf"{API}/(users|tokens|spaces|teams|audit|stop|stream|codes|sign-in|sign-out|device-)|/auth/|/metrics$"
)
CALLS = """
artifacts/list experiments/create experiments/get experiments/get-by-name experiments/search experiments/update
experiments/delete experiments/restore experiments/set-experiment-tag experiments/delete-experiment-tag
experiments/search-datasets logged-models logged-models/search logged-models/{model} logged-models/{model}/params
logged-models/{model}/tags logged-models/{model}/artifacts/directories metrics/get-history metrics/get-history-bulk
metrics/get-history-bulk-interval model-versions/create model-versions/get model-versions/search model-versions/update
model-versions/delete model-versions/set-tag registered-models/create registered-models/get registered-models/search
registered-models/rename registered-models/update registered-models/delete registered-models/get-latest-versions
registered-models/set-tag registered-models/delete-tag registered-models/alias runs/create runs/get runs/update
runs/delete runs/restore runs/search runs/log-metric runs/log-batch runs/log-parameter runs/set-tag runs/delete-tag
runs/log-inputs runs/log-model runs/outputs traces/{trace} traces/{trace}/info traces/{trace}/tags traces/search
traces/get
""".split()  # noqa: SIM905
KINDS = {
    "run": "run",
    "experiment": "experiment",
    "workload": "workload",
    "session": "run",
    "board": "saved",
    "list": "saved",
    "report": "saved",
    "plan": "plan",
}
QUERIES = ["", "?limit=5", "?metric=*", "?tail=5", "?format=json", "?dry_run=true", "?members=true", "?force=true"]
RENEWED = 2000  # questions between two looks at what there is
TRIES = 4  # an answer may change while it is compared
VOLATILE = re.compile(rb'"(duration_s|now_ns|updated_ns|received_ns|last_update\w*|rss_bytes|cpu_seconds)": ?"?[^,"}]*')


def twin_of(space: Space) -> Space:
    """As many ids and names, which are nowhere."""
    twin = Space(space.name, space.mark)
    made = {"experiment": lambda: str(10**9 + random.randrange(10**9)), "series": lambda: str(random.randrange(10**15))}
    for kind, ids in space.ids.items():
        if kind in ("name", "saved"):
            twin.ids[kind] = [one.replace(space.handle, twin.handle) for one in ids]
        else:
            twin.ids[kind] = [made.get(kind, lambda: token_hex(16))() for _ in ids]
    return twin


class Asker:
    """Makes up questions about spaces: the same ones, in the same order, for the same state of `random`."""

    def __init__(self, routes: list[tuple[str, str]]) -> None:
        self.random = random.Random()
        self.routes = routes
        self.calls = [(method, call) for call in CALLS for method in ("GET", "POST", "PATCH", "DELETE")]
        self.spaces: list[Space] = []
        self.foreign: list[int] = []  # places in `spaces`

    def question(self) -> tuple[str, Question]:
        """Its route, and the question."""
        if self.random.random() < 0.4:
            method, call = self.random.choice(self.calls)
            return f"{method} {call}", (method, *self.call_of_mlflow(method, call))
        method, pattern = self.random.choice(self.routes)
        space = self.space(destroys=method == "DELETE")
        path = self.path(pattern, space) + self.query(space)
        return f"{method} {pattern}", (method, path, None if method == "GET" else self.body(pattern, space))

    def one(self, kind: str, space: Space) -> str:
        return self.random.choice(space.ids[kind] or ["1"])

    def space(self, destroys: bool = False) -> Space:
        """Any; what is seen is not destroyed, so that there is something to see."""
        return self.spaces[self.random.choice(self.foreign if destroys else range(len(self.spaces)))]

    def path(self, pattern: str, space: Space) -> str:
        for name in re.findall(r"\{(.*?)\}", pattern):
            value = self.one(KINDS[name], space) if name in KINDS else "note.txt" if "path" in name else "1"
            if name == "run" and self.random.random() < 0.1:
                value = self.random.choice([value[:8], f"run-{space.handle}", f"@{self.random.randint(1, 50)}"])
            pattern = pattern.replace(f"{{{name}}}", value)
        return pattern

    def query(self, space: Space) -> str:
        asked = f"?experiment={self.one('experiment', space)}&workload={self.one('workload', space)}"
        return self.random.choice([*QUERIES, asked])

    def body(self, pattern: str, space: Space) -> Any:
        """For routes that read several runs. Bodies that are kept name nothing of other spaces: others may see them."""
        if "{" in pattern or pattern.endswith(("/views", "/runs/changes")):
            return self.random.choice([{}, {"text": "mine"}, {"state": "mine"}, {"name": "mine"}])
        ids = [self.one("run", self.space()) for _ in range(3)]
        series = [int(self.one("series", self.space())) for _ in range(2)]
        key, run = f"loss-{space.handle}", self.one("run", space)
        groups = [{"runs": [run], "name": "a"}, {"runs": ids[1:], "name": "b"}]
        window = {"from_ns": "0", "to_ns": "60000000000"}
        choices: dict[str, list[Any]] = {
            "search": [
                {"text": space.handle, "facets": ["status", "host", "params", "tags"]},
                {"filter": f"params.`p-{space.handle}` = 'x'"},
                {"experiments": [self.one("experiment", space)]},
                {"runs": ids, "columns": [f"metrics.{key}"]},
            ],
            "sparklines": [{"runs": ids}, {"runs": [run], "metric": key}],
            "summaries": [
                {"runs": ids, "metrics": [key], "of": ["last", "count"]},
                {"experiments": [self.one("experiment", space)], "metrics": [key], "of": ["mean"]},
            ],
            "charts": [{"series": series, "width": 64}],
            "lines": [{"lines": [{"kind": "mean", "series": series}], "width": 64}],
            "windows": [{"series": series}],
            "xy": [{"lines": [{"x": series[0], "y": series[1]}], "width": 64, "height": 64}],
            "changes": [{"series": series, **window, "against": window}],
            "points": [{"runs": ids, "metrics": ["*"]}],
            "compare": [{"groups": groups, "value": key, "of": "mean"}],
            "history": [{"groups": groups[:1], "value": key, "of": "last"}],
            "differences": [{"baseline": {"runs": [run]}, "runs": ids, "values": [{"value": key, "of": "last"}]}],
        }
        return self.random.choice(choices.get(pattern.rpartition("/")[2], [{"runs": ids}]))

    def call_of_mlflow(self, method: str, call: str) -> tuple[str, Any]:
        """Its path and body, with fields of one space, each of which may be of another."""
        destroys = method == "DELETE" or "delete" in call
        space = self.space(destroys)
        run, experiment, model, name, trace = (
            self.one(kind, space if self.random.random() < 0.7 else self.space(destroys))
            for kind in ("run", "experiment", "model", "name", "trace")
        )
        path = f"{MLFLOW}/{call}".replace("{model}", f"m-{model}").replace("{trace}", f"tr-{trace}")
        if "traces" in call and self.random.random() < 0.5:
            path = path.replace("/api/2.0/", "/api/3.0/")
        asked = {"run_id": run, "run_uuid": run, "experiment_id": experiment, "name": name, "model_id": f"m-{model}"}
        asked |= {"max_results": "10", "version": "1", "path": "note.txt", "trace_id": f"tr-{trace}", "alias": "a"}
        if method == "GET":
            more = {"metric_key": f"loss-{space.handle}", "experiment_name": space.name_of("still"), "run_ids": run}
            return path + "?" + urlencode(asked | more), None
        own = f"{space.name}{self.random.choice('/.')}mine"
        where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
        fields: dict[str, Any] = {
            **{key: one for key, one in asked.items() if key not in ("name", "max_results")},
            "name": self.random.choice([own, name]) if destroys else own,
            "new_name": own,
            "experiment_ids": [experiment],
            "locations": [where],
            "models": [{"model_id": f"m-{model}", "step": 1}],
            "key": "k",
            "value": 1.0 if call == "runs/log-metric" else "v",
            "timestamp": 5,
            "step": 1,
            "source": f"runs:/{run}/model",
            "max_results": 10,
            "metrics": [{"key": "k", "value": 1, "timestamp": 5, "step": 1}],
            "tags": [{"key": "k", "value": "v"}],
        }
        if call == "runs/search":
            fields = {"experiment_ids": [experiment, self.one("experiment", self.space())], "max_results": 10}
        return path, fields


class Stranger(threading.Thread):
    """Asks `requests` random questions about `spaces`, spread over `seconds`."""

    def __init__(self, lab: Lab, client: Client, role: str, requests: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.lab, self.client, self.role = lab, client, role
        self.left, self.pause = requests, seconds / requests
        self.asked = 0
        self.spaces: list[Space] = lab.spaces
        self.caught: Counter[str] = Counter()  # by route
        document = client.ok("GET", f"{API}/openapi.json")
        self.asker = Asker(
            [
                (method.upper(), path)
                for path, methods in document["paths"].items()
                for method in methods
                if not LEFT_OUT.search(path)
            ]
        )

    def run(self) -> None:
        threading.Thread(target=self.client.follow, daemon=True).start()
        due = time.monotonic()
        while self.left > 0 and not self.lab.stop.is_set():
            self.ask()
            self.left -= 1
            self.lab.seen.asked[self.role] += 1
            due += self.pause
            self.lab.stop.wait(max(0.0, due - time.monotonic()))

    def look_around(self) -> None:
        """Notes what there is now, and makes twins of it."""
        copies = [Space(one.name, one.mark, one.handle, copy_of(one)) for one in self.spaces]
        foreign = [at for at, one in enumerate(self.spaces) if id(one) not in self.client.sees]
        self.real, self.asker.foreign = copies, foreign
        self.twins = [twin_of(one) if at in foreign else one for at, one in enumerate(copies)]

    def ask(self) -> None:
        if self.asked % RENEWED == 0:
            self.look_around()
        self.asked += 1
        state = self.asker.random.getstate()
        self.asker.spaces = self.twins
        _, twin = self.asker.question()
        self.asker.random.setstate(state)
        self.asker.spaces = self.real
        route, question = self.asker.question()
        leaks = len(self.lab.seen.leaks)
        status, answer = self.client.ask(*question)
        self.lab.seen.statuses[status] += 1
        if 200 <= status < 300 and question != twin and not self.is_as_nowhere(question, twin, answer):
            self.client.leak(f"{self.role}: {route} {question} answered {status}: {answer[:300]!r}")
        if len(self.lab.seen.leaks) > leaks:
            self.caught[route] += 1
        method, _, call = route.partition(" ")
        if status == 405 and (method, call) in self.asker.calls:
            self.asker.calls.remove((method, call))

    def is_as_nowhere(self, question: Question, twin: Question, answer: bytes) -> bool:
        for _ in range(TRIES):
            _, other = self.client.ask(*twin)
            if self.without_ids(answer) == self.without_ids(other):
                return True
            _, answer = self.client.ask(*question)
        return False

    def without_ids(self, answer: bytes) -> bytes:
        """An answer in which ids and names are those of the twins."""
        for at in self.asker.foreign:
            real, twin = self.real[at], self.twins[at]
            answer = answer.replace(real.handle.encode(), twin.handle.encode())
            for kind in ("run", "workload", "plan", "model", "trace"):
                for one, other in zip(real.ids[kind], twin.ids[kind], strict=True):
                    answer = answer.replace(one.encode(), other.encode())
        return VOLATILE.sub(b"", answer)


def copy_of(space: Space) -> defaultdict[str, list[str]]:
    return defaultdict(list, {kind: list(space.ids[kind]) for kind in tuple(space.ids)})

"""Random requests by those who do not see a space: every route of the server and every call of MLflow's clients, with
the ids and names of what lies in each space.
"""

from __future__ import annotations

import random
import re
import threading
import time
from typing import Any
from urllib.parse import urlencode

from lab.place import API, MLFLOW, Client, Lab, Space

# Not asked: they would change who may do what, or end the server.
LEFT_OUT = re.compile(rf"{API}/(users|tokens|spaces|audit|stop|stream|codes|sign-in|sign-out|device-)|/metrics$")
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
runs/log-inputs runs/log-model runs/outputs traces traces/search
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


class Stranger(threading.Thread):
    """Asks `requests` random questions, spread over `seconds`."""

    def __init__(self, lab: Lab, client: Client, role: str, requests: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.lab, self.client, self.role = lab, client, role
        self.left, self.pause = requests, seconds / requests
        self.random = random.Random(f"{role} {requests}")
        self.calls = [(method, call) for call in CALLS for method in ("GET", "POST", "PATCH", "DELETE")]
        document = client.ok("GET", f"{API}/openapi.json")
        self.routes = [
            (method.upper(), path)
            for path, methods in document["paths"].items()
            for method in methods
            if not LEFT_OUT.search(path)
        ]

    def run(self) -> None:
        due = time.monotonic()
        while self.left > 0 and not self.lab.stop.is_set():
            self.ask()
            self.left -= 1
            self.lab.seen.asked[self.role] += 1
            due += self.pause
            self.lab.stop.wait(max(0.0, due - time.monotonic()))

    def one(self, kind: str, space: Space) -> str:
        return self.random.choice(space.ids[kind] or ["1"])

    def space(self, destroys: bool) -> Space:
        """Any; what is seen is not destroyed, so that there is something to see."""
        spaces = [one for one in self.lab.spaces if not destroys or one.mark not in self.client.sees]
        return self.random.choice(spaces)

    def ask(self) -> None:
        if self.random.random() < 0.4:
            call = self.random.choice(self.calls)
            status, _ = self.client.ask(call[0], *self.call_of_mlflow(*call))
            self.lab.seen.statuses[status] += 1
            if status == 405:
                self.calls.remove(call)
            return
        method, pattern = self.random.choice(self.routes)
        space = self.space(destroys=method == "DELETE")
        path = self.path(pattern, space)
        body = None if method == "GET" else self.body(pattern, space)
        status, answer = self.client.ask(method, path + self.query(space), body)
        self.lab.seen.statuses[status] += 1
        named = any(one in path for kind in set(KINDS.values()) - {"experiment"} for one in space.ids[kind])
        foreign = named and space.mark not in self.client.sees and b'"known":false' not in answer
        if 200 <= status < 300 and (foreign or self.names_foreign_series(body)):
            self.lab.seen.leaks.append(f"{self.role}: {method} {path} answered {status}: {answer[:200]!r}")

    def names_foreign_series(self, body: Any) -> bool:
        """Numbers, which bear no mark."""
        foreign = [space for space in self.lab.spaces if space.mark not in self.client.sees]
        series = body.get("series", []) if isinstance(body, dict) else []
        return any(str(one) in space.ids["series"] for one in series for space in foreign)

    def path(self, pattern: str, space: Space) -> str:
        for name in re.findall(r"\{(.*?)\}", pattern):
            value = self.one(KINDS[name], space) if name in KINDS else "note.txt" if "path" in name else "1"
            if name == "run" and self.random.random() < 0.1:
                value = self.random.choice([value[:8], f"run-{space.mark}", f"@{self.random.randint(1, 50)}"])
            pattern = pattern.replace(f"{{{name}}}", value)
        return pattern

    def query(self, space: Space) -> str:
        asked = f"?experiment={self.one('experiment', space)}&workload={self.one('workload', space)}"
        return self.random.choice([*QUERIES, asked])

    def body(self, pattern: str, space: Space) -> Any:
        """For routes that read several runs. Bodies that are kept name nothing of other spaces: others may see them."""
        if "{" in pattern or pattern.endswith(("/views", "/changes")):
            return self.random.choice([{}, {"text": "mine"}, {"state": "mine"}, {"name": "mine"}])
        ids = [self.one("run", self.random.choice(self.lab.spaces)) for _ in range(3)]
        series = [int(self.one("series", self.random.choice(self.lab.spaces))) for _ in range(2)]
        bodies: list[Any] = [
            {},
            {"runs": ids},
            {"series": series},
            {"series": series, "width": 64},
            {"runs": ids, "metrics": [f"loss-{space.mark}"], "of": ["last", "count"]},
            {"runs": ids, "metric": f"loss-{space.mark}"},
            {"text": space.mark, "facets": ["status", "host", "params", "tags"]},
            {"filter": f"params.`p-{space.mark}` = '{space.mark}'"},
            {"experiments": [self.one("experiment", space)], "metrics": ["loss"], "of": ["mean"]},
        ]
        return self.random.choice(bodies)

    def call_of_mlflow(self, method: str, call: str) -> tuple[str, Any]:
        """Its path and body, with fields of one space, each of which may be of another."""
        destroys = method == "DELETE" or "delete" in call
        space = self.space(destroys)
        run, experiment, model, name = (
            self.one(kind, space if self.random.random() < 0.7 else self.space(destroys))
            for kind in ("run", "experiment", "model", "name")
        )
        path = f"{MLFLOW}/{call}".replace("{model}", f"m-{model}")
        asked = {"run_id": run, "run_uuid": run, "experiment_id": experiment, "name": name, "model_id": f"m-{model}"}
        asked |= {"max_results": "10", "version": "1", "metric_key": f"loss-{space.mark}", "path": "note.txt"}
        if method == "GET":
            return path + "?" + urlencode(asked), None
        own = f"{space.name}{self.random.choice('/.')}mine"
        fields: dict[str, Any] = {
            **{key: asked[key] for key in ("run_id", "run_uuid", "experiment_id", "model_id", "version", "path")},
            "name": self.random.choice([own, name]) if destroys else own,
            "new_name": own,
            "experiment_ids": [experiment],
            "models": [{"model_id": f"m-{model}", "step": 1}],
            "key": "k",
            "value": "v",
            "timestamp": 5,
            "step": 1,
            "alias": "a",
            "source": f"runs:/{run}/model",
            "max_results": 10,
            "metrics": [{"key": "k", "value": 1, "timestamp": 5, "step": 1}],
            "tags": [{"key": "k", "value": "v"}],
        }
        return path, fields

"""People of a lab, each a thread with a connection: they read the page, train, sweep, work in notebooks, or scrape."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from pathlib import Path
from secrets import token_hex
from typing import Any

from lab.place import API, MLFLOW, Client, Lab, Space, plan_of

METRICS = 20
TRAINING = """
import sys, time
import corral

mark, end, step = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    corral.log({"loss-" + mark: 1 / (step + 1)}, step=step)
    step += 1
    time.sleep(0.05)
print(mark, step)
"""


class Person(threading.Thread):
    """Acts, and then waits for between `pause` and twice as long."""

    role = "reader"
    pause = 3.0

    def __init__(self, lab: Lab, name: str, space: Space) -> None:
        super().__init__(daemon=True)
        self.lab, self.space = lab, space
        self.client: Client = lab.add_user(name, self.role, space)
        self.random = random.Random(name)

    def run(self) -> None:
        self.lab.stop.wait(self.random.random() * self.pause)
        while not self.lab.stop.is_set():
            self.act()
            self.lab.stop.wait(self.pause * (1 + self.random.random()))

    def act(self) -> None:
        raise NotImplementedError


class Reader(Person):
    """Opens the list, and then a run of it with four charts; every fourth follows what changes."""

    def run(self) -> None:
        if self.random.random() < 0.25:
            threading.Thread(target=self.client.follow, daemon=True).start()
        super().run()

    def act(self) -> None:
        question = {"limit": 50, "columns": [f"metrics.loss-{self.space.handle}"], "facets": ["status", "host"]}
        page = self.client.ok("POST", f"{API}/runs/search", question, "list of runs")
        if not page or not page["runs"]:
            return
        run = self.random.choice(page["runs"])["id"]
        self.client.ok("GET", f"{API}/runs/{run}", what="a run")
        metrics = self.client.ok("GET", f"{API}/runs/{run}/metrics", what="its series")
        series = [one["series"] for one in (metrics or {"metrics": []})["metrics"] if one["points"]][:4]
        if series:
            self.client.ok("POST", f"{API}/charts", {"series": series, "width": 800}, "four charts")


class Writer(Person):
    """A training that logs 20 metrics each second by MLflow's interface, and begins anew after some minutes."""

    role = "writer"
    pause = 0.7

    def __init__(self, lab: Lab, name: str, space: Space) -> None:
        super().__init__(lab, name, space)
        made = self.client.ok("POST", f"{MLFLOW}/experiments/create", {"name": space.name_of(f"exp-{name}")})
        self.experiment = lab.note_id(space, "experiment", made["experiment_id"])
        self.acknowledged: dict[str, int] = {}  # points, by run
        self.current = ""
        self.until = 0.0

    def begin(self) -> str:
        made = self.client.ok("POST", f"{MLFLOW}/runs/create", {"experiment_id": self.experiment, "start_time": 1})
        if not made:
            return ""
        run = self.lab.note_id(self.space, "run", str(made["run"]["info"]["run_id"]))
        self.acknowledged[run] = 0
        lr = {"key": "lr", "value": str(self.random.choice([0.1, 0.01]))}
        self.client.ok("POST", f"{MLFLOW}/runs/log-batch", {"run_id": run, "params": [lr]})
        return run

    def log(self, run: str, metrics: int) -> None:
        step = self.acknowledged[run] // metrics
        now = time.time_ns() // 1_000_000
        names = [f"loss-{self.space.handle}", *(f"m{i}-{self.space.handle}" for i in range(1, metrics))]
        points = [{"key": name, "value": self.random.random(), "timestamp": now, "step": step} for name in names]
        status, _ = self.client.ask(
            "POST", f"{MLFLOW}/runs/log-batch", {"run_id": run, "metrics": points}, "acknowledgement"
        )
        if status == 200:
            self.acknowledged[run] += metrics

    def end(self, run: str) -> None:
        self.client.ok("POST", f"{MLFLOW}/runs/update", {"run_id": run, "status": "FINISHED", "end_time": 2})

    def act(self) -> None:
        if time.monotonic() > self.until:
            if self.current:
                self.end(self.current)
            self.current, self.until = self.begin(), time.monotonic() + self.random.uniform(60, 240)
        if self.current:
            self.log(self.current, METRICS)

    def lost(self) -> int:
        """Acknowledged points that the store does not have."""
        missing = 0
        for run, points in self.acknowledged.items():
            answer = self.client.ok("GET", f"{API}/runs/{run}/metrics")
            stored = [one["points"] for one in (answer or {"metrics": []})["metrics"] if one["owner"] == "run"]
            missing += max(0, points - sum(stored))
        return missing


class Sweeper(Writer):
    """Short trials, one after the other."""

    pause = 3.0

    def act(self) -> None:
        run = self.begin()
        for _ in range(5 if run else 0):
            self.log(run, 1)
        if run:
            self.end(run)


class Analyst(Person):
    """A notebook: a search by MLflow's interface, the points of a run, and why it took so long."""

    pause = 6.0

    def act(self) -> None:
        experiments = self.random.sample(self.space.ids["experiment"], min(5, len(self.space.ids["experiment"])))
        search = {"experiment_ids": experiments, "max_results": 20}
        found: Any = self.client.ok("POST", f"{MLFLOW}/runs/search", search, "MLflow's search")
        runs = [one["info"]["run_id"] for one in (found or {}).get("runs", [])]
        if not runs:
            return
        run = self.random.choice(runs)
        history = f"{MLFLOW}/metrics/get-history?run_id={run}&metric_key=loss-{self.space.handle}"
        self.client.ok("GET", history, what="points of a metric")
        self.client.ask("GET", f"{API}/runs/{run}/export", what="export of a run")
        self.client.ok("GET", f"{API}/runs/{run}/explain", what="explanation of a run")


class Scraper(Person):
    """A monitoring system."""

    pause = 10.0

    def act(self) -> None:
        self.client.ask("GET", "/health", what="health")
        self.client.ask("GET", "/metrics", what="figures of the server")


class Tidier(Person):
    """Makes a run and a plan, and removes both."""

    role = "owner"
    pause = 5.0

    def act(self) -> None:
        start = {"experiment_id": self.space.ids["experiment"][0], "start_time": 1}
        made = self.client.ok("POST", f"{MLFLOW}/runs/create", start)
        if not made:
            return
        run = str(made["run"]["info"]["run_id"])
        plan = token_hex(16)
        self.lab.space_of[run] = self.lab.space_of[plan] = self.space
        self.client.ok("PUT", f"{API}/plans/{plan}", plan_of(self.space))
        self.lab.stop.wait(1)
        self.client.ok("DELETE", f"{API}/plans/{plan}")
        self.lab.removed.append(run)
        self.client.ok("DELETE", f"{API}/runs/{run}?force=true")


class Trainer(Person):
    """Real trainings under `corral run`, one after the other."""

    role = "writer"
    pause = 1.0

    def __init__(self, lab: Lab, name: str, space: Space, seconds: float) -> None:
        super().__init__(lab, name, space)
        self.seconds = seconds
        self.file = lab.corral.home / f"{name}.token"
        self.file.write_text(self.client.token)
        self.file.chmod(0o600)
        self.script: Path = lab.corral.script("training.py", TRAINING)
        self.logged: list[int] = []

    def act(self) -> None:
        experiment = self.space.name_of(f"trained-{self.name}")
        words = ["run", "--server", f"http://{self.lab.host}:{self.lab.port}", "--token-file", str(self.file)]
        words += ["--quiet", "--experiment", experiment, "--", "python3", str(self.script)]
        process = self.lab.corral.start(*words, self.space.handle, str(self.seconds), stderr=subprocess.STDOUT)
        said, _ = process.communicate()
        if process.returncode == 0:
            self.logged.append(int(said.split()[-1]))
        elif not self.lab.stop.is_set():
            self.lab.seen.failures[f"corral run: {said[-300:]!r}"] += 1

    def lost(self) -> int:
        """Points that were logged and are not stored; the spool is empty."""
        listed = self.client.ok("POST", f"{API}/runs/search", {"text": f"trained-{self.name}", "limit": 200})
        stored = 0
        for run in listed["runs"]:
            metrics = self.client.ok("GET", f"{API}/runs/{run['id']}/metrics")["metrics"]
            stored += sum(one["points"] for one in metrics if one["name"].startswith("loss-"))
        return max(0, sum(self.logged) - stored)

"""Compares Corral's answers with those of a real MLflow server, recorded or live.

    differential.py --record [URL]     records MLflow's answers again; without a URL its server is started for it
    differential.py --server URL       prints how the answers of the server at URL differ from the recorded ones

What differs on purpose is written in intended_differences.toml with its reason; everything else is a fault. The rules
there are read top down and the first that names a request counts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from cases import chapters  # noqa: E402
from peer import Peer  # noqa: E402
from replay import Chapter, Json, play_all  # noqa: E402

RECORDED = HERE / "recorded"
RULES = HERE / "intended_differences.toml"
MISSING = "nothing"


@dataclass
class Rule:
    """Requests that MLflow answers otherwise than Corral, and how Corral answers them."""

    requests: re.Pattern[str]
    reason: str
    statuses: list[int]  # the rule is for answers of MLflow with one of these; empty: any
    html: bool  # the rule is for MLflow's HTML pages
    corral: dict[str, Any]  # Corral's answer: status (or several), error_code
    ignore: list[str]  # parts of both answers that are not compared
    used: bool = field(default=False)

    def names(self, request: str, recorded: Json) -> bool:
        if self.statuses and recorded["status"] not in self.statuses:
            return False
        if self.html and recorded["body"] != "<html>":
            return False
        return self.requests.fullmatch(request) is not None

    def complaints(self, recorded: Json, answer: Json) -> list[str]:
        if self.ignore:
            return list(differences(without(recorded, self.ignore), without(answer, self.ignore)))
        return list(self._not_as_said(recorded, answer))

    def _not_as_said(self, recorded: Json, answer: Json) -> Iterator[str]:
        status = self.corral.get("status", recorded["status"])
        if answer["status"] not in (status if isinstance(status, list) else [status]):
            yield f"status: {answer['status']}, which the rule says to be {status}"
        code = self.corral.get("error_code")
        body = answer["body"] if isinstance(answer["body"], dict) else {}
        if code is not None and (body.get("error_code") not in (code if isinstance(code, list) else [code])):
            yield f"error_code: {body.get('error_code')}, which the rule says to be {code}"
        if answer["status"] >= 400 and not (body.get("message") or body.get("error", {}).get("message")):
            yield "an error without a message"
        if answer["status"] >= 500 and "status" not in self.corral:
            yield "an error of the server"


@dataclass
class Intended:
    """The file of intended differences."""

    rules: list[Rule]
    fields: list[str]  # are nowhere compared
    empty: list[str]  # fields that say the same whether they are empty or not there
    same: list[tuple[Json, Json]]  # MLflow's value, Corral's
    texts: re.Pattern[str]  # requests whose message is compared

    def complaints(self, request: str, recorded: Json, answer: Json) -> list[str]:
        """The unexplained differences; a rule that explained all of them is marked as used."""
        recorded, answer = self._comparable(request, recorded), self._comparable(request, answer)
        found = list(differences(recorded, answer))
        rule = next((rule for rule in self.rules if rule.names(request, recorded)), None)
        if found and rule is not None:
            found = rule.complaints(recorded, answer)
            rule.used = rule.used or not found
        return found

    def _comparable(self, request: str, answer: Json) -> Json:
        answer = self._alike(without(answer, self.fields))
        body = answer["body"]
        if isinstance(body, dict) and body.get("message") and not self.texts.fullmatch(request):
            answer = answer | {"body": body | {"message": "<any>"}}
        return answer

    def _alike(self, value: Json) -> Json:
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if item or key not in self.empty}
            return {key: self._alike(item) for key, item in kept.items()}
        if isinstance(value, list):
            return [self._alike(item) for item in value]
        return next((ours for theirs, ours in self.same if value == theirs), value)


def pattern(texts: list[str]) -> re.Pattern[str]:
    """Matches any of the texts, where * stands for anything."""
    return re.compile("|".join(".*".join(map(re.escape, text.split("*"))) for text in texts), re.DOTALL)


def intended_differences(storage: str) -> Intended:
    file = tomllib.loads(RULES.read_text())
    made = []
    for entry in file["difference"]:
        if entry.get("storage", storage) != storage:
            continue
        when = entry.get("mlflow", {})
        statuses, html = when.get("status", []), when.get("html", False)
        requests, corral, ignore = pattern(entry["requests"]), entry.get("corral", {}), entry.get("ignore", [])
        made.append(Rule(requests, entry["reason"], statuses, html, corral, ignore))
    everywhere = file["everywhere"]
    fields = [entry["field"] for entry in everywhere if "field" in entry]
    empty = [entry["empty"] for entry in everywhere if "empty" in entry]
    same = [(entry["mlflow"], entry["corral"]) for entry in everywhere if "mlflow" in entry]
    return Intended(made, fields, empty, same, pattern(file["texts"]["requests"]))


def without(value: Json, names: list[str]) -> Json:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def differences(recorded: Json, answer: Json, where: str = "") -> Iterator[str]:
    """Every place where the two are not the same."""
    if isinstance(recorded, dict) and isinstance(answer, dict):
        for key in recorded.keys() | answer.keys():
            inner = f"{where}.{key}" if where else key
            yield from differences(recorded.get(key, MISSING), answer.get(key, MISSING), inner)
    elif isinstance(recorded, list) and isinstance(answer, list) and len(recorded) == len(answer):
        for number, (one, other) in enumerate(zip(recorded, answer, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif where == "body.message" and "<database>" in str(recorded):
        if not answer or answer == MISSING:
            yield "an error without a message"
    elif isinstance(recorded, bool) is not isinstance(answer, bool) or recorded != answer:
        yield f"{where}: MLflow {brief(recorded)}, Corral {brief(answer)}"


def brief(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:160] + "..."


def compare(chapter: str, recorded: Json, answers: Json, intended: Intended) -> list[str]:
    """The unexplained differences of a chapter."""
    found = []
    for name, expected in recorded.items():
        answer = answers.get(name, {"status": 0, "body": "was not sent: record again"})
        complaints = intended.complaints(f"{chapter}/{name}", expected, answer)
        if complaints:
            found.append(f"{chapter}/{name}\n    " + "\n    ".join(complaints[:6]))
    return found


def recorded(chapter: str) -> Json:
    return json.loads((RECORDED / f"{chapter}.json").read_text())


def save(answers: Json) -> None:
    RECORDED.mkdir(exist_ok=True)
    for old in RECORDED.glob("*.json"):
        old.unlink()
    for chapter, requests in answers.items():
        lines = [f"{json.dumps(name, ensure_ascii=False)}: {one_line(answer)}" for name, answer in requests.items()]
        (RECORDED / f"{chapter}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def one_line(answer: Json) -> str:
    return json.dumps(answer, ensure_ascii=False, sort_keys=True)


def record(url: str, all_: list[Chapter]) -> None:
    if url:
        save(play_all(url, all_, print))
        return
    with tempfile.TemporaryDirectory() as directory:
        peer = Peer(Path(directory))
        try:
            save(play_all(peer.url, all_, print))
        finally:
            peer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs="?", const="", metavar="URL")
    parser.add_argument("--server", metavar="URL")
    parser.add_argument("--storage", choices=["files", "cloud"], default="files", help="what the server stores in")
    parser.add_argument("chapters", nargs="*", help="only these")
    arguments = parser.parse_args()
    all_ = [c for c in chapters() if not arguments.chapters or c.name in arguments.chapters]
    if arguments.record is not None:
        record(arguments.record, all_)
        return 0
    if not arguments.server:
        parser.error("one of --record and --server is needed")
    answers, intended = play_all(arguments.server, all_), intended_differences(arguments.storage)
    found = [text for c in all_ for text in compare(c.name, recorded(c.name), answers[c.name], intended)]
    print("\n".join(found))
    print(f"{sum(len(c.requests) for c in all_)} requests, {len(found)} unexplained differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

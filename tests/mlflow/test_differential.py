"""Corral answers a list of requests as MLflow 3.17.2 did, but for what intended_differences.toml says."""

from __future__ import annotations

import pytest
from cases import chapters
from conftest import Server
from differential import Intended, compare, intended_differences, recorded
from replay import Json, play_all

CHAPTERS = chapters()


@pytest.fixture(scope="session")
def answers(shared_server: Server) -> Json:
    return play_all(shared_server.url, CHAPTERS)


@pytest.fixture(scope="session")
def intended(shared_server: Server) -> Intended:
    return intended_differences(shared_server.storage)


@pytest.mark.parametrize("chapter", [chapter.name for chapter in CHAPTERS])
def test_answers_are_those_of_mlflow(chapter: str, answers: Json, intended: Intended) -> None:
    found = compare(chapter, recorded(chapter), answers[chapter], intended)
    assert not found, f"{len(found)} unexplained differences\n" + "\n".join(found[:40])


def test_recordings_are_of_these_requests() -> None:
    for chapter in CHAPTERS:
        assert list(recorded(chapter.name)) == [request.name for request in chapter.requests], "record them again"


def test_every_intended_difference_is_one(answers: Json, shared_server: Server) -> None:
    intended = intended_differences(shared_server.storage)
    for chapter in CHAPTERS:
        compare(chapter.name, recorded(chapter.name), answers[chapter.name], intended)
    unused = [f"{rule.requests.pattern}: {rule.reason}" for rule in intended.rules if not rule.used]
    assert not unused, "rules that explain nothing:\n" + "\n".join(unused)

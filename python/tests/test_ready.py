"""corral.ready(): runs of a workload wait for each other."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from package import PACKAGE

sys.path.insert(0, str(PACKAGE))
from corral import _ready


def test_all_go_on_with_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_READY", f"{tmp_path}:3")
    waited: list[float | None] = []
    threads = [threading.Thread(target=lambda name=name: waited.append(_ready.wait(name, 60))) for name in "ab"]
    for thread in threads:
        thread.start()
    assert all(thread.is_alive() for thread in threads)
    (tmp_path / "c").touch()  # as for a run that has ended
    for thread in threads:
        thread.join(60)
    assert [seconds is not None for seconds in waited] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_who_does_not_come_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_READY", f"{tmp_path}:2")
    with pytest.warns(RuntimeWarning, match="not all runs of the workload were ready after 0.01 s"):
        assert _ready.wait("a", 0.01) is None


def test_a_place_that_cannot_be_seen_is_no_reason_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_READY", f"{tmp_path}/none:2")
    with pytest.warns(RuntimeWarning, match="cannot be waited for"):
        assert _ready.wait("a", 60) is None


@pytest.mark.parametrize("place", ["", "2", "/somewhere", ":2", "/somewhere:many"])
def test_elsewhere_nobody_waits(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("CORRAL_READY", place)
    assert _ready.wait("a", 60) is None

"""Loops that say what they are: corral.epochs and corral.steps, beside the capture and without it."""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest
from training import Training, loop, types

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@needs_torch
def test_the_helpers_write_the_phases_of_the_capture(training: Training) -> None:
    out = training.torch("""
        import corral
        for epoch in corral.epochs(2):
            for batch in corral.steps(loader):
                train(batch)
            with torch.no_grad():
                for batch in held_out: loss_of(batch)
        for batch in corral.steps(loader, samples=lambda batch: 1000):
            train(batch)
            break
        print(epoch)
    """)
    assert out == "1\n"
    session = training.one()
    assert types(session) == loop(3, 15) + Counter({"epoch/evaluation": 2, "epoch/evaluation/data wait": 4})
    assert [p.attributes for p in session.phases.values() if p.name == "epoch"] == [{"index": n} for n in range(3)]
    rates = session.values("samples_per_second")
    steps = [phase for phase in session.phases.values() if phase.name == "step"]
    for n, (step, rate) in enumerate(zip(steps, rates, strict=True)):
        assert step.end is not None
        samples = 1000 if n == 14 else 4 if n % 7 == 6 else 16
        assert rate * (step.end - step.begin) / 1e9 == pytest.approx(samples)


def test_batches_that_answer_strangely_are_no_error(training: Training) -> None:
    out = training("""
        import corral
        class Mock:
            def __getattr__(self, name): return Mock()
        class Angry:
            @property
            def shape(self): raise RuntimeError("mine")
        print(len([None for batch in corral.steps([Mock(), Angry(), {"x": Mock()}, [3, 4]])]))
    """)
    assert out == "4\n"
    session = training.one()
    assert types(session)["epoch/step"] == 4
    assert len(session.values("data_wait_share")) == 4


@pytest.mark.parametrize("after", ["sys.exit(0)", "continue"])
def test_a_child_forked_within_the_helpers_has_no_part_in_them(training: Training, after: str) -> None:
    out = training(f"""
        import corral, os, sys
        pid, seen = -1, []
        for epoch in corral.epochs(1):
            for batch in corral.steps(range(4), samples=1):
                seen.append(batch)
                if batch == 1:
                    pid = os.fork()
                    if pid == 0:
                        corral.log("child", 1)
                        {after}
                    assert os.waitpid(pid, 0)[1] == 0
        print(seen, flush=True)
    """)
    assert out == "[0, 1, 2, 3]\n" * (2 if after == "continue" else 1)
    parent, child = sorted(training.sessions(), key=lambda session: len(session.points), reverse=True)
    assert types(parent) == {"epoch": 1, "epoch/step": 4, "epoch/step/data wait": 4}
    assert child.values("child") == [1]
    assert not child.phases


@pytest.mark.parametrize("inside", ["1", ""])
def test_no_batch_is_taken_beyond_the_limit(training: Training, inside: str) -> None:
    more = {} if inside else {"CORRAL_SEGMENT_DIR": ""}
    out = training(
        "import corral\nrest = iter('abcd')\nprint([*corral.steps(rest)], next(rest))", CORRAL_MAX_STEPS="2", **more
    )
    assert out == "['a', 'b'] c\n"


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("limits", "expected", "said"),
    [
        ({}, [(e, b) for e in range(3) for b in "abcd"], ""),
        ({"CORRAL_MAX_EPOCHS": "3"}, [(e, b) for e in range(3) for b in "abcd"], ""),
        ({"CORRAL_MAX_EPOCHS": "2"}, [(e, b) for e in range(2) for b in "abcd"], "--max-epochs 2\n"),
        ({"CORRAL_MAX_STEPS": "6"}, [(0, b) for b in "abcd"] + [(1, b) for b in "ab"], "--max-steps 6\n"),
        ({"CORRAL_MAX_STEPS": "5", "CORRAL_MAX_EPOCHS": "1"}, [(0, b) for b in "abcd"], "--max-epochs 1\n"),
    ],
)
def test_the_helpers_end_at_the_limits(
    training: Training, limits: dict[str, str], expected: list[tuple[int, str]], said: str, inside: bool
) -> None:
    more = limits if inside else limits | {"CORRAL_SEGMENT_DIR": ""}
    out = training(
        """
        import corral
        print([(epoch, batch) for epoch in corral.epochs(3) for batch in corral.steps("abcd", samples=8)])
        """,
        **more,
    )
    assert out == f"{expected}\n"
    if inside:
        session = training.one()
        counts = types(session)
        assert counts["epoch"] == len({epoch for epoch, _ in expected})
        assert counts["epoch/step"] == counts["epoch/step/data wait"] == len(expected)
        assert len(session.values("samples_per_second")) == len(expected)
    told = training.folder / "limit"  # file that the supervisor reads
    assert (told.read_text() if told.exists() else "") == (said if inside else "")

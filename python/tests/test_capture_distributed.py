"""Calls between two real ranks: PyTorch's gloo over loopback."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections import Counter

import pytest
from training import SCRIPT, Training, types

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

COMMUNICATION = 3
JOIN = """
    import os
    import torch.distributed as dist
    place = f"file://{__file__}.met"
    dist.init_process_group("gloo", init_method=place, rank=int(os.environ["RANK"]), world_size=2)
"""


# Else threads of gloo that still run at the exit may abort the process.
LEAVE = """
    dist.destroy_process_group()
"""


def two_ranks(training: Training, code: str) -> None:
    script = training.folder / "ranks.py"
    script.write_text("".join(map(textwrap.dedent, (SCRIPT, JOIN, code, LEAVE))))
    ranks = [
        subprocess.Popen([sys.executable, script], env=training.environment(WORLD_SIZE="2", RANK=str(rank)))
        for rank in range(2)
    ]
    assert [rank.wait(100) for rank in ranks] == [0, 0]


def test_calls_between_ranks_are_phases_where_they_are_made(training: Training) -> None:
    two_ranks(
        training,
        """
        dist.barrier()
        for n, batch in enumerate(loader):
            train(batch)
            dist.all_reduce(model.weight.data)
            work = dist.broadcast(model.bias.data, src=0, async_op=True)
            work.wait()
        gathered = [None, None]
        dist.all_gather_object(gathered, n)
        assert gathered == [6, 6]
        """,
    )
    sessions = training.sessions()
    assert len(sessions) == 2
    for session in sessions:
        found = {path: count for path, count in types(session).items() if path.split("/")[-1] not in STEPS}
        assert Counter(found) == Counter(
            {"barrier": 1, "all_gather_object": 1}
            | {f"epoch/step/{name}": 7 for name in ("all_reduce", "broadcast", "wait for ranks")}
        )
        assert {phase.kind for phase in session.phases.values() if phase.name not in STEPS} == {COMMUNICATION}


STEPS = {"epoch", "step", "data wait", "backward", "optimizer"}


def test_what_ddp_does_in_a_backward_pass_is_part_of_it(training: Training) -> None:
    two_ranks(
        training,
        """
        from torch.nn.parallel import DistributedDataParallel
        model = DistributedDataParallel(model)
        dist.barrier()
        for batch in loader:
            train(batch)
        """,
    )
    for session in training.sessions():
        assert [name for name in types(session) if "epoch" in name and name.split("/")[-1] not in STEPS] == []


def test_calls_within_a_call_are_part_of_it_before_the_first_step_too(training: Training) -> None:
    two_ranks(
        training,
        """
        for batch in loader:
            dist.all_gather_object([None, None], 1)
            train(batch)
        """,
    )
    for session in training.sessions():
        found = {path: count for path, count in types(session).items() if path.split("/")[-1] not in STEPS}
        assert found == {"epoch/step/all_gather_object": 7}


def test_an_evaluation_in_which_ranks_communicate_is_one(training: Training) -> None:
    two_ranks(
        training,
        """
        model.eval()
        dist.all_reduce(model.weight.data)
        model.train()
        """,
    )
    for session in training.sessions():
        assert types(session)["evaluation"] == 1


def test_the_wait_for_a_slow_rank_is_as_long_as_it_was(training: Training) -> None:
    """Each rank notes when it calls and when that returns."""
    two_ranks(
        training,
        """
        import pathlib, time
        dist.barrier()
        if dist.get_rank() == 1:
            time.sleep(0.5)
        moments = [time.clock_gettime_ns(time.CLOCK_BOOTTIME)]
        dist.all_reduce(model.weight.data)
        moments.append(time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        pathlib.Path(__file__).with_name(f"{os.getpid()}.moments").write_text(" ".join(map(str, moments)))
        """,
    )
    noted = sorted([int(moment) for moment in path.read_text().split()] for path in training.folder.glob("*.moments"))
    waits = sorted(
        (phase.begin, phase.end or 0)
        for session in training.sessions()
        for phase in session.phases.values()
        if phase.name == "all_reduce"
    )
    assert len(waits) == 2
    for (called, returned), (begin, end) in zip(noted, waits, strict=True):
        assert called <= begin <= end <= returned
    assert waits[0][1] > noted[1][0], "the first waits for the second"
    assert waits[0][1] - waits[0][0] > (noted[1][0] - noted[0][0]) / 2, "from its call on"


def test_an_error_of_a_call_passes_unchanged(training: Training) -> None:
    said = training("""
        import torch, torch.distributed as dist
        try:
            dist.all_reduce(torch.ones(1))
        except Exception as error:
            print(type(error).__name__)
        print(dist.all_reduce.__name__, dist.all_reduce.__module__)
    """)
    kind, name, module = said.split()
    assert kind in ("RuntimeError", "ValueError")
    assert (name, module) == ("all_reduce", "torch.distributed.distributed_c10d")

"""Runs training scripts in processes of their own, as `corral run` does, and reads the phases that they left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import segment_reader
from package import PACKAGE, RUN
from segment_reader import Session

STARTUP = PACKAGE / "corral" / "_startup"

# The beginning of every script.
SCRIPT = """
    import sys, torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(100, 4), torch.randn(100, 1))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    held_out = DataLoader(data, batch_size=50)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    def loss_of(batch): return ((model(batch[0]) - batch[1]) ** 2).mean()
    def train(batch):
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        return loss.item()
"""
STEP = {"data wait": 1, "backward": 1, "optimizer": 1}


class Training:
    """Runs scripts as `corral run` does, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.segments = folder / "seg"
        self.segments.mkdir()
        (self.segments / "drops").write_bytes(bytes(4096))

    def environment(self, path: str = "", **more: str) -> dict[str, str]:
        known = {key: value for key, value in os.environ.items() if "RANK" not in key and "SLURM_ST" not in key}
        entries = [str(STARTUP), str(PACKAGE), *([path] if path else [])]
        environment = known | {"CORRAL_SEGMENT_DIR": str(self.segments), "CORRAL_RUN_ID": RUN}
        return environment | {"PYTHONPATH": ":".join(entries), "PYTHONWARNINGS": "ignore"} | more

    def process(self, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, timeout=120)

    def __call__(self, code: str, **more: str) -> str:
        script = self.folder / "train.py"
        script.write_text(textwrap.dedent(code))
        done = self.process(script, **more)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def torch(self, code: str, **more: str) -> str:
        return self(textwrap.dedent(SCRIPT) + textwrap.dedent(code), **more)

    def sessions(self) -> list[Session]:
        return segment_reader.read(self.segments)

    def one(self) -> Session:
        (session,) = self.sessions()
        return session


def health(session: Session) -> dict[tuple[str, str], str]:
    """Part and state -> reason, each of which is said once."""
    said = [attributes for _, name, attributes in session.events if name == "corral.health"]
    found = {(attributes["part"], attributes["state"]): attributes.get("reason", "") for attributes in said}
    assert len(found) == len(said)
    return found


def latest(session: Session) -> dict[str, str]:
    """Part -> the state that it told last, which is the one that counts."""
    said = [attributes for _, name, attributes in session.events if name == "corral.health"]
    return {attributes["part"]: attributes["state"] for attributes in said}


def samples(session: Session) -> list[int]:
    """Returns the samples of each step that has a rate."""
    steps = [phase for phase in session.phases.values() if phase.name == "step"]
    found = []
    for name, rate, number, _ in session.points:
        if name == "samples_per_second":
            assert number is not None
            end = steps[number].end
            assert end is not None
            found.append(round(rate * (end - steps[number].begin) / 1e9))
    return found


def types(session: Session) -> Counter[str]:
    """Counts the phases of each type, all of which must have ended within their parents."""
    for phase in session.phases.values():
        assert phase.end is not None
        assert phase.begin <= phase.end
        path = phase.name
        if phase.parent:
            outer = session.phases[phase.parent]
            assert outer.end is not None
            assert outer.begin <= phase.begin
            assert phase.end <= outer.end
            path = f"{outer.type}/{phase.name}"
        assert phase.type == path
    return Counter(phase.type for phase in session.phases.values())


def loop(epochs: int, steps: int, **inside: int) -> Counter[str]:
    """Types of `epochs` epochs with `steps` steps altogether, and so many of each phase inside them."""
    names = inside or STEP
    counts = {f"epoch/step/{name.replace('_', ' ')}": steps * n for name, n in names.items()}
    return Counter({"epoch": epochs, "epoch/step": steps, **counts})

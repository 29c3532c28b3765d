"""Proves that the capture's counts are those of the training, for each framework, or that its health says otherwise.

    ./dev proof frameworks            installs the real packages, and runs all
    ./dev proof frameworks --smoke    runs what is installed: PyTorch and scikit-learn, and Keras beside MLflow's client
    ./dev proof frameworks CASE ...   runs these

Each script counts its own steps, epochs, evaluations, checkpoints, samples and waits; what Corral wrote of the same
process is read from its segments and compared. A count that differs is wrong unless it is 0 and the health says why.

Scripts with a callback of Corral's (docs/callbacks.md) also say which values, params and tags they gave to their
framework. Each value must be recorded exactly, with its step, and no other one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from _build import BUILD, ROOT, SKIPPED, python_or_why_not

SCRIPTS = Path(__file__).resolve().parent / "scripts"
RUN = "000102030405060708090a0b0c0d0e0f"

sys.path.insert(0, str(ROOT / "python" / "tests"))
import segment_reader  # noqa: E402

# The subject of a recording -> the names of the phases that are counted.
PHASES = {
    "steps": "step",
    "epochs": "epoch",
    "evaluations": "evaluation",
    "checkpoints": "checkpoint",
    "backwards": "backward",
}
MEASURES = (*PHASES, "samples", "waited")
COLUMNS = (*MEASURES, "logged")
CAPTURED = ("samples_per_second", "data_wait_share")


@dataclass
class Truth:
    """A script's own counts, and the points, params and tags that it expects. A param that is None must be absent."""

    counts: dict[str, int]
    points: dict[str, list[list[float]]]
    params: dict[str, str | None]
    tags: dict[str, str]


@dataclass
class Case:
    """`unseen`: measure -> part of the capture whose health says that it is not recorded, or only in part.

    `tolerance`: relative difference of logged values, where the framework computes them twice.
    """

    script: str
    needs: tuple[str, ...] = ("torch",)
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return "-".join([self.script, *self.environment.values(), *self.arguments]).replace("_", "-")


CASES = [
    Case("torch_plain"),
    Case("torch_workers"),
    Case("torch_accumulation"),
    Case("torch_own_optimizer", unseen={"steps": "torch.optimizer"}),
    Case("torch_sequences"),
    Case("torch_prefetch"),
    Case("torch_get_batch", unseen={"waited": "torch.dataloader"}),
    Case("sklearn_fits", ("sklearn",)),
    Case("fastai_learner", ("fastai",)),
    Case("lightning_trainer", ("lightning",)),
    Case("huggingface_trainer", ("transformers",)),
    Case("accelerate_loop", ("accelerate",)),
    *(
        Case("keras_fit", ("keras", backend), (data,), {"KERAS_BACKEND": backend})
        for backend in ("torch", "jax")
        for data in ("arrays", "dataset", "generator")
    ),
    Case("jax_marked", ("jax",)),
    Case("optax_eager", ("optax",)),
    Case("optax_jit", ("optax",), unseen={"steps": "optax.update"}),
    Case("xgboost_train", ("xgboost",)),
    Case("lightgbm_train", ("lightgbm",)),
    *(Case("lightning_logger", ("lightning",), arguments) for arguments in ((), ("ddp",), ("pytorch_lightning",))),
    Case("huggingface_callback", ("transformers",)),
    *(Case("keras_callback", ("keras", backend), (), {"KERAS_BACKEND": backend}) for backend in ("torch", "jax")),
    *(Case("xgboost_callback", ("xgboost",), (way,)) for way in ("early", "continued", "cv")),
    *(Case("lightgbm_callback", ("lightgbm",), (way,)) for way in ("early", "sklearn", "cv")),
    *(
        Case("optax_record", ("optax",), (optimizer, every), tolerance=1e-6)
        for optimizer, every in (("adamw", "1"), ("adamw", "5"), ("sgd", "5"), ("inject", "1"))
    ),
    *(Case("ray_train", ("ray",), (way,)) for way in ("local", "cluster")),
]
SMOKE = ("torch-plain", "torch-own-optimizer", "torch-sequences", "torch-get-batch", "sklearn-fits")
# Case -> an environment of the tests that has its packages.
SMOKE_ELSEWHERE = {"keras-callback-jax": ROOT / ".venv-mlflow3" / "bin" / "python"}


def package() -> Path:
    path = Path(os.environ.get("CORRAL_PYTHON_PACKAGE", BUILD / "python"))
    if not (path / "corral" / "__init__.py").exists():
        subprocess.run([ROOT / "dev", "build", "release", "corral_python"], check=True)
    return path


def run(case: Case, python: Path) -> tuple[Truth, list[segment_reader.Session], str]:
    """Returns what the script counted and logged, what was recorded, and why it failed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "seg").mkdir()
        (folder / "seg" / "drops").write_bytes(bytes(4096))
        for script in SCRIPTS.glob("*.py"):
            (folder / script.name).write_bytes(script.read_bytes())
        path = package()
        environment = {key: value for key, value in os.environ.items() if "RANK" not in key} | {
            "PYTHONPATH": f"{path / 'corral' / '_startup'}:{path}",
            "CORRAL_SEGMENT_DIR": str(folder / "seg"),
            "CORRAL_RUN_ID": RUN,
            "PROOF_TRUTH": str(folder / "truth.json"),
            "JAX_PLATFORMS": "cpu",
            "CUDA_VISIBLE_DEVICES": "",
            "HF_HUB_OFFLINE": "1",
        }
        command: list[str | Path] = [python, folder / f"{case.script}.py", *case.arguments]
        done = subprocess.run(command, env=environment | case.environment, capture_output=True, text=True, cwd=folder)
        if done.returncode != 0:
            return Truth({}, {}, {}, {}), [], f"exit status {done.returncode}: {done.stderr.strip()[-1000:]}"
        truth = Truth(**json.loads((folder / "truth.json").read_text(encoding="utf-8")))
        return truth, segment_reader.read(folder / "seg"), ""


def recorded(sessions: list[segment_reader.Session]) -> Counter[str]:
    found: Counter[str] = Counter()
    for session in sessions:
        phases = session.phases.values()
        for phase in phases:
            for measure, name in PHASES.items():
                found[measure] += phase.name == name
            if phase.name == "data wait" and phase.end is not None and "evaluation" not in phase.type:
                found["waited"] += phase.end - phase.begin
        # Batches at the end of an epoch that no optimizer step follows make a last step, which has no number.
        updated = {phase.parent for phase in phases if phase.name == "optimizer"}
        steps = [phase for phase in phases if phase.name == "step" and (not updated or phase.id in updated)]
        for name, rate, number, _ in session.points:
            if name == "samples_per_second" and number is not None:
                step = steps[number]
                found["samples"] += round(rate * ((step.end or 0) - step.begin) / 1e9)
    return found


def health(sessions: list[segment_reader.Session]) -> dict[tuple[str, str], str]:
    said = [told for session in sessions for _, name, told in session.events if name == "corral.health"]
    return {(told["part"].removeprefix("capture."), told["state"]): told.get("reason", "") for told in said}


def same(have: list[tuple[int | None, float]], want: list[list[float]], tolerance: float) -> bool:
    return len(have) == len(want) and all(
        step == wanted[0] and (value == wanted[1] or math.isclose(value, wanted[1], rel_tol=tolerance))
        for (step, value), wanted in zip(have, want, strict=True)
    )


def wrongly_logged(truth: Truth, sessions: list[segment_reader.Session], tolerance: float) -> str:
    """The first metric, param or tag that differs; empty if there is none."""
    found: dict[str, list[tuple[int | None, float]]] = {}
    for session in sessions:
        rank = session.header["rank"]
        for name, value, step, _ in session.points:
            if name not in CAPTURED:
                found.setdefault(f"rank{rank}:{name}" if rank >= 0 else name, []).append((step, value))
    for name in {**truth.points, **found}:
        have, want = found.get(name, []), truth.points.get(name, [])
        if not same(have, want, tolerance):
            return f"{name} is {have} instead of {want}"
    params = {name: value for session in sessions for name, value in session.params.items()}
    tags = {name: value for session in sessions for name, value in session.tags.items()}
    for wanted, recorded_texts in ((truth.params, params), (truth.tags, tags)):
        for name, text in wanted.items():
            if recorded_texts.get(name) != text:
                return f"{name} is {recorded_texts.get(name)!r} instead of {text!r}"
    return ""


def judge(case: Case, counts: dict[str, int], found: Counter[str], told: dict[tuple[str, str], str]) -> dict[str, str]:
    """Measure -> what is wrong with it; empty when all is right."""
    wrong = {}
    for measure in MEASURES:
        if measure not in counts:
            continue
        want = counts[measure] + (counts.get("steps_left", 0) if measure == "steps" else 0)
        have = found[measure]
        if measure in case.unseen:
            part = case.unseen[measure]
            if have != 0:
                wrong[measure] = f"{have}, though it cannot be seen"
            elif not any((part, state) in told for state in ("partial", "not captured")):
                wrong[measure] = f"missing, and the health of {part} is silent"
        elif measure == "waited":
            if abs(have - want) > 0.05 * want + 50e6:
                wrong[measure] = f"{have / 1e9:.2f} s instead of {want / 1e9:.2f} s"
        elif have != want:
            wrong[measure] = f"{have} instead of {want}"
    given_up = [f"{part}: {reason}" for (part, state), reason in told.items() if state == "given up"]
    given_up += [f"{part}: {reason}" for (part, _), reason in told.items() if part.endswith(".callback")]
    if given_up:
        wrong["given up"] = "; ".join(given_up)
    return wrong


def row(case: Case, truth: Truth, found: Counter[str], wrong: dict[str, str]) -> str:
    cells = []
    for measure in COLUMNS:
        if measure in wrong:
            cells.append(f"WRONG: {wrong[measure]}")
        elif measure == "logged":
            cells.append(str(sum(map(len, truth.points.values())) or ""))
        elif measure not in truth.counts:
            cells.append("")
        elif measure in case.unseen:
            cells.append("said not to be seen")
        elif measure == "waited":
            cells.append(f"{found[measure] / 1e9:.2f} of {truth.counts[measure] / 1e9:.2f} s")
        else:
            cells.append(str(found[measure]))
    return f"| {case.name} | " + " | ".join(cells) + " |"


def prove(cases: list[tuple[Case, Path]]) -> int:
    print(f"| script | {' | '.join(COLUMNS)} |\n|---{'|---' * len(COLUMNS)}|", flush=True)
    failed = []
    for case, python in cases:
        truth, sessions, error = run(case, python)
        if error:
            failed.append(case.name)
            print(f"| {case.name} | {error} |", flush=True)
            continue
        found, told = recorded(sessions), health(sessions)
        wrong = judge(case, truth.counts, found, told)
        if differs := wrongly_logged(truth, sessions, case.tolerance):
            wrong["logged"] = differs
        print(row(case, truth, found, wrong), flush=True)
        if wrong:
            failed.append(case.name)
            print(f"  {wrong}\n  {told}", flush=True)
    if failed:
        print(f"{len(failed)} of {len(cases)} scripts were not recorded as they ran: {', '.join(failed)}")
        return 1
    print(f"{len(cases)} scripts recorded as they ran, or said not to be seen")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of: {', '.join(case.name for case in CASES)}")
    parser.add_argument("--smoke", action="store_true", help="only what is installed beside this Python, in a minute")
    parser.add_argument("--python", type=Path, help="of an environment that has the packages already")
    options = parser.parse_args()
    known = {case.name: case for case in CASES}
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}")
    chosen = [known[name] for name in options.cases or (SMOKE if options.smoke else known)]
    if not options.smoke:
        python = options.python or python_or_why_not("frameworks")
        return SKIPPED if python is None else prove([(case, python) for case in chosen])
    here = [
        (case, Path(sys.executable)) for case in chosen if all(importlib.util.find_spec(name) for name in case.needs)
    ]
    here += [(known[name], python) for name, python in SMOKE_ELSEWHERE.items() if python.exists()]
    if not here:
        print("skipped: neither PyTorch nor scikit-learn is installed")
        return SKIPPED
    return prove(here)


if __name__ == "__main__":
    sys.exit(main())

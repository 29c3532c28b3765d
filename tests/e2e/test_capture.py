"""A training that knows nothing of Corral, through `corral run` to what the server shows."""

from __future__ import annotations

import subprocess
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from support import BUILD, PYTHON, ROOT, Corral
from test_digits import find_python

TRAIN = ROOT / "examples" / "digits" / "plain.py"
STEPS = 45  # per epoch: 1437 samples in batches of 32
KERAS = ROOT / ".venv-mlflow3" / "bin" / "python"


def types(corral: Corral, run: str) -> Counter[str]:
    phases = corral.json("ls", "phases", run)
    assert all(phase["end_ns"] for phase in phases)
    # The supervisor's own lie outside of the run.
    return Counter(phase["type"] for phase in phases if not phase["lane"].endswith("/supervisor"))


def test_an_unmodified_training(corral: Corral, tmp_path: Path) -> None:
    python = find_python()
    if python is None:
        pytest.skip("no interpreter with PyTorch and scikit-learn; ./dev setup makes one")
    script = (TRAIN, "--epochs", "2", "--checkpoint", tmp_path / "model.pt")
    environment = {"CORRAL_PYTHON": python}
    seen = corral("run", "--quiet", "--name", "seen", *script, env=environment, seconds=180)
    alone = corral("run", "--quiet", "--name", "alone", "--no-capture", *script, env=environment, seconds=180)
    assert seen.stdout == alone.stdout
    assert seen.stdout.count(b"loss") == 2

    assert types(corral, "seen") == {
        "epoch": 2,
        **{f"epoch/step{name}": 2 * STEPS for name in ("", "/data wait", "/backward", "/optimizer")},
        "evaluation": 2,
        "evaluation/data wait": 6,
        "checkpoint": 2,
    }
    sums = {(p["name"], p["within"]): p["count"] for p in corral.json("ls", "phases", "seen", "--summary")}
    assert sums["data wait", "step"] == 2 * STEPS
    assert sums["data wait", "evaluation"] == 6
    for name in ("samples_per_second", "data_wait_share"):
        assert [point.step for point in corral.points("seen", name)] == list(range(2 * STEPS))
    metrics = {metric["name"] for metric in corral.show("seen")["metrics"]}
    assert {"run.cpu.used", "run.memory.rss", "host.cpu.busy"} <= metrics
    assert not types(corral, "alone")
    assert "samples_per_second" not in {metric["name"] for metric in corral.show("alone")["metrics"]}


def test_keras_and_jax(corral: Corral) -> None:
    if not KERAS.exists():
        pytest.skip("no environment with Keras and JAX; ./dev test makes one")
    script = corral.script(
        "train.py",
        """
        import numpy as np, keras
        keras.utils.set_random_seed(0)
        x, y = np.random.randn(100, 4).astype("f"), np.random.randn(100, 1).astype("f")
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=16, epochs=2, verbose=0, validation_data=(x, y))
        model.save("model.keras")
        print(*(weight.tobytes().hex() for weight in model.get_weights()))
        import jax, jax.numpy as jnp
        for n in range(4):
            with jax.profiler.StepTraceAnnotation("train", step_num=n):
                jnp.ones(3).block_until_ready()
        """,
    )
    environment = {"CORRAL_PYTHON": str(KERAS), "KERAS_BACKEND": "jax"}
    seen = corral("run", "--quiet", "--name", "seen", script, env=environment, seconds=200)
    alone = corral("run", "--quiet", "--name", "alone", "--no-capture", script, env=environment, seconds=200)
    assert seen.stdout == alone.stdout
    assert types(corral, "seen") == {
        "epoch": 2,
        "epoch/step": 14,
        "epoch/step/data wait": 14,
        "epoch/evaluation": 2,
        "epoch/evaluation/data wait": 14,
        "checkpoint": 1,
        "step": 4,
    }
    rates = corral.points("seen", "samples_per_second")
    assert [point.step for point in rates] == list(range(14))


@pytest.mark.parametrize("option", ["--max-epochs", "--max-steps"])
def test_the_helpers_end_where_the_options_say(corral: Corral, option: str) -> None:
    script = corral.script(
        "train.py",
        """
        import corral
        print([(epoch, batch) for epoch in corral.epochs(3) for batch in corral.steps("ab")])
        """,
    )
    done = corral("run", "--quiet", option, "1", script)
    assert done.stdout == {"--max-epochs": b"[(0, 'a'), (0, 'b')]\n", "--max-steps": b"[(0, 'a')]\n"}[option]
    tags = corral.wait_ended()["tags"]
    assert (tags["corral.outcome"], tags["corral.outcome.reason"]) == ("limit", f"{option} 1 was reached")
    for wrong in ("0", "-1", "1.5", "two"):
        refused = corral("run", f"{option}={wrong}", script, status=2)
        assert b"expected a whole number greater than 0" in refused.stderr


JOINS = """
    import sys, time, warnings
    import corral
    assert corral.run_id() is None
    corral.log("lost", 1)
    run = corral.init("mine", experiment="joined", params={"lr": 0.1}, tags={"who": "me"})
    assert run == corral.run_id() == corral.init(tags={"again": 1})
    for epoch in corral.epochs(2):
        for n in corral.steps(range(50), samples=4):
            corral.log("loss", 1 / (n + 1), step=n)
    end = time.process_time() + 3  # CPU time is read once a second here
    while time.process_time() < end: pass
    print(run, flush=True)
"""


@pytest.mark.parametrize(
    ("ending", "status", "exit_code"),
    [("", "finished", 0), ("raise KeyError", "failed", 1), ("import os; os.kill(os.getpid(), 9)", "failed", 255)],
)
def test_a_process_that_begins_its_run_itself(corral: Corral, ending: str, status: str, exit_code: int) -> None:
    script = corral.script("train.py", textwrap.dedent(JOINS) + ending)
    environment = corral.environment | {"PYTHONPATH": str(BUILD / "python")}
    out = subprocess.run([PYTHON, script], env=environment, capture_output=True, cwd=corral.home, timeout=120)
    assert (out.returncode == 0) == (status == "finished"), out.stderr
    corral.wait_ended("mine")
    run = corral.show("mine")
    assert run["id"] == out.stdout.decode().strip()
    assert (run["experiment"], run["status"], run["exit_code"]) == ("joined", status, exit_code)
    assert run["params"] == {"lr": "0.1"}
    reason = run["tags"].pop("corral.outcome.reason", None)
    assert reason == (None if status == "finished" else f"exit status {exit_code}")
    assert run["tags"] == {"who": "me", "again": "1", "corral.outcome": status}
    assert [point.step for point in corral.points("mine", "loss")] == 2 * list(range(50))
    assert "lost" not in {metric["name"] for metric in run["metrics"]}
    assert types(corral, "mine") == {"epoch": 2, "epoch/step": 100, "epoch/step/data wait": 100}
    used = corral.points("mine", "run.cpu.used")
    assert used[-1].value - used[0].value > 0.5, "this process was sampled, not the one that waits for it"


def test_a_run_that_cannot_be_had_is_a_warning(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import warnings, corral
        with warnings.catch_warnings(record=True) as said:
            assert corral.init() is None
        assert [w.category for w in said] == [RuntimeWarning], said
        corral.log("x", "no number")
        print("trained")
        """,
    )
    environment = corral.environment | {"PYTHONPATH": str(BUILD / "python"), "CORRAL_LISTENERS": "nonsense"}
    out = subprocess.run([PYTHON, script], env=environment, capture_output=True, cwd=corral.home, timeout=120)
    assert (out.stdout, out.returncode) == (b"trained\n", 0), out.stderr

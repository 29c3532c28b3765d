"""The parts of the framework callbacks that need no framework. tests/proofs/frameworks has the real packages."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Runner
from package import PACKAGE
from training import Training, health

FRAMEWORKS = ("keras", "lightgbm", "lightning", "optax", "ray", "transformers", "xgboost")


def test_numbers_at_any_depth_are_logged_and_others_skipped(run: Runner) -> None:
    run("""
        from corral import _callback
        class Tensor:
            def __init__(self, *shape): self.shape, self.ndim = shape, len(shape)
            def item(self): return 0.5
            def __float__(self): return 2.0
        _callback.log({"a": 1, "b": {"c": True, 5: 2.5}, "text": "1", "none": None, "list": [1], "huge": 10**400,
                       "scalar": Tensor(), "one": Tensor(1, 1), "many": Tensor(2), "x" * 251: 1, "nan": float("nan")},
                      3, "p/")
        _callback.log({"text": "x"}, 4)
    """)
    points = [point[:3] for point in run.one().points]
    assert [str(point) for point in points] == [
        *("('p/a', 1.0, 3)", "('p/b/c', 1.0, 3)", "('p/b/5', 2.5, 3)"),
        *("('p/scalar', 2.0, 3)", "('p/one', 0.5, 3)", "('p/nan', nan, 3)"),
    ]


def test_params_are_flattened_cut_and_named_without_addresses(run: Runner) -> None:
    run("""
        from argparse import Namespace
        from dataclasses import dataclass
        from corral import _callback
        @dataclass
        class Config:
            width: int
            kind: type
        def warmup(): pass
        _callback.params(Namespace(lr=0.1, model=Config(4, Config), f=warmup, long="\\u00fc" * 3001, empty=None), "o/")
    """)
    params = run.one().params
    assert params.pop("o/long") == "ü" * 3000
    assert params == {"o/lr": "0.1", "o/model/width": "4", "o/model/kind": "Config", "o/f": "warmup", "o/empty": "None"}


def test_secrets_are_no_params_and_tokens_of_a_tokenizer_are(run: Runner) -> None:
    secrets = (
        "token hub_token HF_TOKEN api_key db/password openai.api-key aws_secret_access_key PGPASSWORD client_secret"
    )
    others = "tokenizer pad_token max_tokens eos_token key keys monkey secretary sort_key"
    run(f"""
        from corral import _callback
        _callback.params({{name: 1 for name in "{secrets} {others}".split()}})
    """)
    assert list(run.one().params) == others.split()


def test_an_error_of_ours_is_one_warning_and_the_training_goes_on(training: Training) -> None:
    out = training("""
        import warnings
        from corral import _callback
        class Callback:
            @_callback.harmless
            def on_log(self): raise ValueError("ours")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(Callback().on_log(), Callback().on_log())
        print(*(warning.message for warning in caught))
    """)
    assert out == "None None\ncorral.__main__.callback could not record some values: ValueError: ours\n"
    assert health(training.one()) == {("capture.__main__.callback", "partial"): "ValueError: ours"}


def test_where_warnings_are_errors_the_training_goes_on_too(training: Training) -> None:
    out = training(
        """
        from corral import _callback
        @_callback.harmless
        def on_log(): raise ValueError("ours")
        print(on_log())
        """,
        PYTHONWARNINGS="error",
    )
    assert out == "None\n"


def test_a_stop_by_the_user_is_passed_on(training: Training) -> None:
    out = training("""
        from corral import _callback
        @_callback.harmless
        def on_log(): raise KeyboardInterrupt
        try:
            on_log()
        except KeyboardInterrupt:
            print("stopped")
    """)
    assert out == "stopped\n"


def test_outside_a_run_nothing_is_called(run: Runner) -> None:
    out = run(
        """
        from corral import _callback
        @_callback.harmless
        def on_log(values): print("called")
        print(on_log(object()))
        """,
        CORRAL_SEGMENT_DIR="",
    )
    assert out == "None\n"
    assert run.sessions() == []


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_module_imports_the_real_package(training: Training, name: str) -> None:
    """A module of the same name as the package is not taken for it, and its absence has the ordinary error."""
    if importlib.util.find_spec(name) is None:
        done = training.process("-c", f"import corral.{name}")
        last = done.stderr.splitlines()[-1]
        assert last.startswith(
            ("ModuleNotFoundError: No module named 'jax'", f"ModuleNotFoundError: No module named '{name}")
        )
    theirs = training.folder / "theirs"
    theirs.mkdir()
    (theirs / "jax.py").write_text("")
    (theirs / f"{name}.py").write_text("raise SystemExit('theirs')\n")
    done = training.process("-c", f"import corral.{name}", path=str(theirs))
    assert (done.stderr, done.returncode) == ("theirs\n", 1)


def test_the_package_imports_no_framework() -> None:
    code = "import corral, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True
    )
    assert not {*FRAMEWORKS, "corral._callback"} & set(done.stdout.split())


def test_a_worker_of_ray_tells_its_health_when_it_trains(training: Training) -> None:
    """Its rank is in the environment only then, and a process keeps the rank of its first record."""
    script = training.folder / "worker.py"
    script.write_text(
        "import os, sys\n"
        "from corral._capture import Part, tell_held\n"
        "Part('torch.save').tell('active')\n"
        "os.environ |= {'RANK': '1', 'WORLD_SIZE': '2'}\n"
        "tell_held()\n"
    )
    import_of_ray = f"RAY_RAYLET_PID=$$ {sys.executable} {script}; true"
    done = subprocess.run(["bash", "-c", import_of_ray], env=training.environment(), capture_output=True, text=True)
    assert done.stderr == ""
    session = training.one()
    assert session.header["rank"] == 1
    assert health(session) == {("capture.torch.save", "active"): ""}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_document_imports_what_a_module_has(name: str) -> None:
    root = Path(__file__).parents[2]
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "callbacks.md").read_text(), re.DOTALL)
    statements = [node for block in blocks for node in ast.parse(block).body]
    wanted = [node for node in statements if isinstance(node, ast.ImportFrom) and node.module == f"corral.{name}"]
    body = ast.parse((root / "python" / "corral" / f"{name}.py").read_text()).body
    public = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"}
    assert {alias.name for node in wanted for alias in node.names} == public


def test_every_module_is_in_the_package() -> None:
    sources = Path(__file__).parents[1] / "corral"
    assert {path.name for path in sources.glob("*.py")} == {path.name for path in (PACKAGE / "corral").glob("*.py")}

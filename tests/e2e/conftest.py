from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from person import Person
from relay_support import CLIENTS
from support import BINARY, BUILD, Corral

SEED = "CORRAL_E2E_SEED"
collect_ignore = [] if BUILD.name == "no-compat" else ["test_no_compat.py"]


def pytest_configure(config: pytest.Config) -> None:
    # In the environment, so that the workers of a parallel run have the same one.
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(1_000_000)))
    # In the background of a script they are ignored, and all that is started from here would take them so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_report_header(config: pytest.Config) -> str:
    return f"corral: {BINARY}; {SEED}={os.environ[SEED]}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers that depend on the printed seed and on the test alone."""
    print(f"{SEED}={os.environ[SEED]}")
    return random.Random(f"{os.environ[SEED]} {request.node.name}")


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[Corral]:
    runtime = Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(tmp_path, runtime)
    try:
        yield corral
    finally:
        corral.close()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def person(corral: Corral) -> Iterator[Person]:
    person = Person(corral)
    yield person
    person.close()


@pytest.fixture(params=sorted(CLIENTS), ids=lambda version: f"mlflow{version}")
def python(request: pytest.FixtureRequest) -> Path:
    """The Python of each MLflow client in turn."""
    path = CLIENTS[request.param]
    if not path.exists():
        pytest.skip(f"{path.parent.parent.name} is not installed")
    return path

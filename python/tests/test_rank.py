"""The rank by the environments of launchers; src/spool/segment_identity_test.cpp reads the same file."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from package import PACKAGE

CASES = json.loads((Path(__file__).parents[2] / "tests/fixtures/ranks.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["launcher"])
def test_the_nearest_launcher_counts(case: dict[str, Any]) -> None:
    spec = importlib.util.spec_from_file_location("rank", PACKAGE / "corral/_rank.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.rank_of(case["environment"]) == case["rank"]

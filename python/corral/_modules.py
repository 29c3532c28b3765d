"""Packages that need not be there."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def module(name: str) -> Any:
    """The package, untyped; it need not be installed where this is checked."""
    return importlib.import_module(name)


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None

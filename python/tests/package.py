"""The location of the package under test, and the run that its tests belong to."""

import os
from pathlib import Path

RUN = "000102030405060708090a0b0c0d0e0f"
PACKAGE = Path(os.environ.get("CORRAL_PYTHON_PACKAGE", Path(__file__).parents[2] / "build/release/python"))

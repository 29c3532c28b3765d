"""Where the package under test lies, and the run that its tests stand in."""

import os
from pathlib import Path

RUN = "000102030405060708090a0b0c0d0e0f"
PACKAGE = Path(os.environ.get("CORRAL_PYTHON_PACKAGE", Path(__file__).parents[2] / "build/release/python"))

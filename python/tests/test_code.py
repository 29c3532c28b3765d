"""The modules that a process lists when it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from training import Training


def noted(training: Training) -> set[str]:
    path = Path(training.folder) / "modules"
    return {os.fsdecode(name) for name in path.read_bytes().split(b"\0") if name} if path.exists() else set()


def test_local_modules_and_nothing_else(training: Training) -> None:
    folder = training.folder / "theirs"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "plugin.py").write_text("import json, email.message\n")
    script = folder / "train.py"
    script.write_text("import pkg\n__import__('plu' + 'gin')\n")
    done = training.process(script)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert noted(training) == {str(folder / name) for name in ("train.py", "plugin.py", "pkg/__init__.py")}
    other = folder / "other.py"
    other.write_text("import corral\n1 / 0\n")
    assert training.process(other).returncode == 1
    assert str(other) in noted(training)
    assert not [path for path in noted(training) if "corral/__init__" in path]


@pytest.mark.parametrize(
    "code",
    [
        "import os, sys\nos.chdir('/tmp')\nsys.modules['odd'] = 7\n",
        "import sys\nsys.modules.clear()\n",
        "import os, tempfile\nplace = tempfile.mkdtemp()\nos.chdir(place)\nos.rmdir(place)\n",
        "import sys\nclass Odd(type(sys)):\n"
        "    def __getattribute__(self, name):\n        raise RuntimeError(name)\nsys.modules['odd'] = Odd('odd')\n",
    ],
)
def test_nothing_is_said_whatever_the_script_did(training: Training, code: str) -> None:
    script = training.folder / "train.py"
    script.write_text(code)
    done = training.process(script)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_names_are_seen_from_where_the_process_began_and_one_that_is_none_loses_no_other(training: Training) -> None:
    folder = training.folder / "theirs"
    folder.mkdir()
    (folder / "helper.py").write_text("")
    (folder / "train.py").write_text(
        "import os, sys, tempfile, helper\n"
        "odd = type(sys)('odd')\nodd.__file__ = chr(0xd83d)\nsys.modules['a'] = odd\n"
        "os.chdir(tempfile.mkdtemp())\n"
    )
    started = f"import os, sys; os.chdir({str(folder)!r}); os.execv(sys.executable, [sys.executable, 'train.py'])"
    assert training.process("-S", "-c", started).stderr == ""
    assert noted(training) == {str(folder / "train.py"), str(folder / "helper.py")}


def test_a_folder_that_is_gone_or_full_is_no_error(training: Training) -> None:
    script = training.folder / "train.py"
    script.write_text("")
    modules = Path(training.folder) / "modules"
    modules.write_bytes(bytes(1 << 20))
    for _ in range(2):
        assert training.process(script).stderr == ""
        # Said once: some are missing.
        assert modules.read_bytes() == bytes(1 << 20) + b"/\0"
    modules.unlink()
    modules.mkdir()
    done = training.process(script)
    assert (done.stderr, done.returncode) == ("", 0)

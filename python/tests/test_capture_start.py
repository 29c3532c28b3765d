"""The capture's effect on the start of Python: none if it is off, and never any on the user's own files."""

from __future__ import annotations

import importlib.util
import json
import textwrap

import pytest
from package import PACKAGE
from training import STARTUP, Training


def test_a_start_without_framework_imports_nothing_of_ours(training: Training) -> None:
    done = training.process("-c", "import json, sys; print(json.dumps([list(sys.modules), sys.path]))")
    assert (done.returncode, done.stderr) == (0, "")
    modules, path = json.loads(done.stdout)
    assert not [name for name in modules if "corral" in name]
    assert str(STARTUP) not in path
    assert str(PACKAGE) in path


@pytest.mark.parametrize("flag", ["-S", "-I", "-E"])
def test_where_python_ignores_us_nothing_fails(training: Training, flag: str) -> None:
    done = training.process(flag, "-c", "import sys; print(*(type(finder).__name__ for finder in sys.meta_path))")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "_Finder" not in done.stdout.split()


def test_switched_off_nothing_is_installed(training: Training) -> None:
    for more in ({"CORRAL_CAPTURE": "0"}, {"CORRAL_SEGMENT_DIR": ""}):
        done = training.process("-S", "-c", "import sitecustomize, sys; print(type(sys.meta_path[0]))", **more)
        assert (done.stdout, done.stderr) == ("<class 'type'>\n", "")
    done = training.process("-S", "-c", "import sitecustomize, sys; print(type(sys.meta_path[0]))")
    assert "_Finder" in done.stdout


def test_a_sitecustomize_of_the_user_runs_afterwards(training: Training) -> None:
    theirs = training.folder / "theirs"
    theirs.mkdir()
    own = theirs / "sitecustomize.py"
    own.write_text("import sys\nprint('theirs', __name__, type(sys.meta_path[0]).__name__)\n")
    done = training.process("-c", "import sitecustomize; print(sitecustomize.__file__)", path=str(theirs))
    assert (done.stdout, done.stderr) == (f"theirs sitecustomize _Finder\n{own}\n", "")


@pytest.mark.parametrize("code", ["1 / 0\n", "import not_there_at_all\n", "raise SystemExit(7)\n", "print(\n"])
def test_errors_of_a_sitecustomize_of_the_user_are_its_own(training: Training, code: str) -> None:
    theirs = training.folder / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text(code)
    ours = training.process("-c", "print(1)", path=str(theirs))
    alone = training.process("-c", "print(1)", PYTHONPATH=str(theirs))
    assert (ours.returncode, ours.stdout) == (alone.returncode, alone.stdout)
    last = [done.stderr.strip().splitlines()[-1:] for done in (ours, alone)]
    assert last[0] == last[1]


def test_a_module_of_the_user_called_corral_is_not_imported(training: Training) -> None:
    theirs = training.folder / "theirs"
    (theirs / "torch").mkdir(parents=True)
    (theirs / "torch" / "__init__.py").write_text("print('torch')\n")
    (theirs / "corral.py").write_text("print('wrong')\n")
    script = theirs / "train.py"
    script.write_text("import torch\n")
    done = training.process(script)
    assert (done.stdout, done.stderr) == ("torch\n", "")


@pytest.mark.parametrize("name", ["keras", "jax", "safetensors"])
def test_a_framework_that_is_absent_is_absent(training: Training, name: str) -> None:
    if importlib.util.find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    out = training(f"""
        try:
            import {name}
        except ModuleNotFoundError as error:
            print(error, error.name)
    """)
    assert out == f"No module named '{name}' {name}\n"


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("asks", ["importlib.util.find_spec(name)", "ask_each(self, name, path, target)"])
def test_finders_of_the_user_may_ask_all_finders(training: Training, asks: str, place: int) -> None:
    theirs = training.folder / "theirs"
    (theirs / "torch").mkdir(parents=True)
    (theirs / "torch" / "__init__.py").write_text("import torch.autograd\n")
    (theirs / "torch" / "autograd.py").write_text("def backward(loss): pass\n")
    code = f"""
        import importlib.util, sys
        def ask_each(finder, name, path, target):
            specs = (other.find_spec(name, path, target) for other in sys.meta_path if other is not finder)
            return next((spec for spec in specs if spec is not None), None)
        class Theirs:
            asking = ()
            def find_spec(self, name, path=None, target=None):
                if name in self.asking or name.split(".")[0] != "torch": return None
                if "util" in {asks!r}: self.asking += (name,)
                return {asks}
        sys.meta_path.insert({place}, Theirs())
    """
    (theirs / "sitecustomize.py").write_text(textwrap.dedent(code))
    script = training.folder / "train.py"
    script.write_text("import torch\nprint(hasattr(torch.autograd.backward, '__wrapped__'))\n")
    done = training.process(script, path=str(theirs))
    assert (done.stdout, done.stderr) == ("True\n", "")

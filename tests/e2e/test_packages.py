"""Wheel and archive, installed and used. The real ones are linked statically (./dev proof packages); these hold the
program of the build that all other tests use."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import BUILD, PYTHON, ROOT, Corral

SCRIPT = """
    import sys
    import corral
    corral.param("from", corral.__file__)
    corral.param("others", any(path.endswith("-packages") and "installed" in path for path in sys.path))
    for step in range(20):
        corral.log("loss", 1 / (1 + step), step=step)
"""


def package(target: Path) -> dict[str, Path]:
    subprocess.run(
        [sys.executable, ROOT / "tools/package", "--local", "--out", target, "wheel", "archive", "deb"],
        check=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
    )
    return built(target)


def built(target: Path) -> dict[str, Path]:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=target)
    return {path.suffix: path for path in target.glob("corral*")}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if BUILD != ROOT / "build/release":
        pytest.skip(f"the packages hold build/release, the tests run {BUILD}")
    base = tmp_path_factory.getbasetemp()
    # The first of several workers makes them for all.
    target = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "dist"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return built(target) if (target / "SHA256SUMS").exists() else package(target)


def record(corral: Corral, program: Path) -> dict[str, str]:
    """Params of a run that this program recorded."""
    script = corral.script("train.py", SCRIPT)
    subprocess.run(
        [program, "run", "--no-listeners", script], check=True, env=corral.environment, cwd=corral.home, timeout=100
    )
    shown = subprocess.run(
        [program, "show", "@1", "--format", "json"], check=True, env=corral.environment, capture_output=True
    )
    facts = json.loads(shown.stdout)
    assert facts["status"] == "finished"
    return {name: str(value) for name, value in facts["params"].items()}


def test_the_archive_runs_wherever_it_is_unpacked(corral: Corral, packages: dict[str, Path]) -> None:
    place = corral.home / "a place with spaces"
    place.mkdir()
    subprocess.run(["tar", "-xzf", packages[".gz"], "-C", place], check=True)
    with tarfile.open(packages[".gz"]) as archive:
        members = archive.getmembers()
    assert {(m.uid, m.gid, m.mtime) for m in members} == {(0, 0, 1700000000)}
    (top,) = place.iterdir()
    moved = top.rename(corral.home / "moved")
    assert (moved / "share/doc/corral/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    link = corral.home / "corral-link"
    link.symlink_to(moved / "bin/corral")
    params = record(corral, link)
    assert params["from"] == str(moved / "lib/corral/python/corral/__init__.py")


def test_an_installed_program_without_memory_runs_the_command(corral: Corral, packages: dict[str, Path]) -> None:
    subprocess.run(["tar", "-xzf", packages[".gz"], "-C", corral.home], check=True)
    (program,) = corral.home.glob("corral-*/bin/corral")
    said = []
    words = ["run", "--quiet", "--no-listeners", "--", "/bin/sh", "-c", "echo out; exit 7"]
    for limit in range(4, 68, 4):
        done = subprocess.run(
            ["prlimit", f"--as={limit << 20}", program, *words],
            env=corral.environment,
            cwd=corral.home,
            capture_output=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stdout) == (7, b"out\n"), (limit, done)
        said.append(b"not recorded" in done.stderr)
    assert any(said)


def test_the_wheel_is_installed_used_and_uninstalled(corral: Corral, packages: dict[str, Path]) -> None:
    venv = corral.home / "installed"
    subprocess.run([PYTHON, "-m", "venv", venv], check=True)
    before = files_in(venv)
    pip: list[str | Path] = [venv / "bin/pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-index", packages[".whl"]], check=True)
    program = venv / "bin/corral"
    assert subprocess.run([program, "--version"], check=True, capture_output=True).stdout.startswith(b"corral 0.")
    # The training's own Python is another one: it gets the module, and nothing of this environment.
    params = record(corral, program)
    assert params["from"] == str(venv / "lib/corral/python/corral/__init__.py")
    assert params["others"] == "False"
    code = "import corral; print(corral.__file__, len(corral.read('@1', 'loss', as_='lists')[0].value))"
    seen = subprocess.run(
        [venv / "bin/python", "-c", code], check=True, env=corral.environment, cwd=corral.home, capture_output=True
    )
    file, count = seen.stdout.decode().split()
    assert "site-packages/corral/__init__.py" in file
    assert count == "20"
    subprocess.run([*pip, "uninstall", "--yes", "corral"], check=True)
    assert files_in(venv) == before


def test_uv_installs_the_wheel_as_a_tool(corral: Corral, packages: dict[str, Path]) -> None:
    uv = Path(sys.executable).with_name("uv")
    environment = corral.environment | {
        "UV_TOOL_DIR": str(corral.home / "tools"),
        "UV_TOOL_BIN_DIR": str(corral.home / "bin"),
        "UV_CACHE_DIR": str(corral.home / "cache"),
        "UV_OFFLINE": "1",
        "UV_PYTHON": PYTHON,
    }
    subprocess.run([uv, "--quiet", "tool", "install", packages[".whl"]], check=True, env=environment)
    params = record(corral, corral.home / "bin" / "corral")
    assert params["from"] == str(corral.home / "tools/corral/lib/corral/python/corral/__init__.py")
    once: list[str | Path] = [uv, "--quiet", "tool", "run", "--from", packages[".whl"], "corral", "--version"]
    assert subprocess.run(once, check=True, env=environment, capture_output=True).stdout.startswith(b"corral 0.")


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}


def test_the_deb_installs_units_texts_and_the_module(tmp_path: Path, packages: dict[str, Path]) -> None:
    subprocess.run(["dpkg-deb", "--extract", packages[".deb"], tmp_path], check=True)
    for name in ("corral", "corral-run", "corral-store-check"):
        page = tmp_path / f"usr/share/man/man1/{name}.1.gz"
        assert gzip.decompress(page.read_bytes()).startswith(b".TH ")
    assert (tmp_path / "usr/lib/python3/dist-packages/corral/__init__.py").exists()
    assert (tmp_path / "lib/systemd/system/corral.service").exists()
    fields = subprocess.run(["dpkg-deb", "--field", packages[".deb"], "Depends"], check=True, capture_output=True)
    assert fields.stdout == b"libc6 (>= 2.28)\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sto",), {"store"}),
        (("store", "ch"), {"check"}),
        (("store", "check", "--fo"), {"--format"}),
        (("ls", "--format", ""), {"table", "json", "csv"}),
        (("run", "--no-lis"), {"--no-listeners"}),
        (("run", "--name", ""), set()),
    ],
)
def test_bash_completes(packages: dict[str, Path], tmp_path: Path, words: tuple[str, ...], expected: set[str]) -> None:
    subprocess.run(["dpkg-deb", "--extract", packages[".deb"], tmp_path], check=True)
    script = (
        'source "$1"; shift; COMP_WORDS=(corral "$@"); COMP_CWORD=$#; compopt() { :; }; _corral; '
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    completion = tmp_path / "usr/share/bash-completion/completions/corral"
    done = subprocess.run(
        ["bash", "-c", script, "bash", completion, *words], check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()) == expected, done.stderr


def test_the_wheels_record_holds(packages: dict[str, Path]) -> None:
    wheel = packages[".whl"]
    assert wheel.name.startswith("corral-0.1.0-cp310-abi3-linux_")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        rows = [row.split(",") for row in archive.read("corral-0.1.0.dist-info/RECORD").decode().splitlines()]
        assert {row[0] for row in rows} == names
        launcher = archive.getinfo("corral-0.1.0.data/scripts/corral")
        assert launcher.external_attr >> 16 & 0o111 == 0o111
    assert "corral-0.1.0.data/data/lib/corral/corral-program" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("/")]


def test_another_day_gives_the_same_bytes(packages: dict[str, Path], tmp_path: Path) -> None:
    again = package(tmp_path)
    for suffix, path in packages.items():
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(again[suffix].read_bytes()).digest()


def test_an_unknown_format_is_refused() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/package", "rpm"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown format 'rpm'; there are: wheel, archive, deb, image" in done.stderr

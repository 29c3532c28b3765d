"""The files that a package installs below a prefix: bin/corral, lib/corral and share."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from debian_packages import PackageError, run
from libraries import COMPILER_LICENCES, HEADER_LICENCES, RECIPES
from toolchain import MODULE_GLIBC, Toolchain

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class File:
    content: bytes = b""
    mode: int = 0o644
    link: str = ""  # target of a symbolic link
    folder: bool = False
    owner: int = 0


Tree = dict[str, File]  # path below the prefix -> file


def version() -> str:
    found = re.search(r"(?m)^project\(corral VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    return found[1]


def epoch() -> int:
    """The time that all files get, in seconds: SOURCE_DATE_EPOCH or that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 315532800  # 1980, where ZIP begins


def compile_program(toolchain: Toolchain) -> Path:
    """Builds launcher, program and Python package; returns the folder."""
    out = toolchain.folder / "corral"
    log = toolchain.folder / "logs" / "corral.log"
    log.unlink(missing_ok=True)
    launcher = f"-target;{toolchain.arch}-linux-musl;-static"
    module = f"-target;{toolchain.arch}-linux-gnu.{MODULE_GLIBC}"
    run(
        *("cmake", "-G", "Ninja", "-S", ROOT, "-B", out, "-DCMAKE_BUILD_TYPE=None", "-DCORRAL_UNITY=ON"),
        *(f"-DCMAKE_TOOLCHAIN_FILE={toolchain.cmake_file}", "-DCORRAL_TESTS=OFF", "-DCORRAL_LLD="),
        "-DCORRAL_PROGRAM_LIBRARIES=pgcommon_shlib;pgport_shlib;ssl;crypto;z;dl;m",
        *(f"-DCORRAL_LAUNCHER_TARGET={launcher}", f"-DCORRAL_MODULE_TARGET={module}"),
        f"-DCORRAL_PYTHON_CONFIG={toolchain.bin / 'python-config'}",
        cwd=ROOT,
        log=log,
        env=toolchain.environment,
    )
    run("cmake", "--build", out, "--target", "corral", "corral_python", cwd=ROOT, log=log, env=toolchain.environment)
    return out


def collect(built: Path, libraries: Path | None) -> Tree:
    """`libraries`: the root of what is linked in; None if that is not part of the package."""
    tree: Tree = {
        "bin/corral": File((built / "corral").read_bytes(), 0o755),
        "lib/corral/corral-program": File(stripped(built / "corral-program"), 0o755),
        "share/doc/corral/LICENSE": File((ROOT / "LICENSE").read_bytes()),
        "share/doc/corral/README.md": File((ROOT / "README.md").read_bytes()),
        "share/doc/corral/CHANGELOG.md": File((ROOT / "CHANGELOG.md").read_bytes()),
    }
    for path, file in python_package(built).items():
        tree[f"lib/corral/python/{path}"] = file
    for name, content in licences(libraries).items():
        tree[f"share/doc/corral/licences/{name}"] = File(content)
    return tree


def stripped(program: Path) -> bytes:
    """The program without debug information; the linker of the packages has left that out already."""
    content = program.read_bytes()
    if b".debug_info\0" not in content:
        return content
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "-o", out.name, program], check=True)
        return Path(out.name).read_bytes()


def python_package(built: Path) -> Tree:
    """The Python package, as corral/..."""
    package = built / "python"
    found = {
        path.relative_to(package).as_posix(): File(path.read_bytes())
        for path in sorted((package / "corral").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    if "corral/_native.abi3.so" not in found:
        raise PackageError(f"{package} has no native module")
    return found


def licences(libraries: Path | None) -> dict[str, bytes]:
    """Library -> its licence: of all that is compiled in and of the page's packages."""
    found = {}
    if libraries is not None:
        names = (*RECIPES, *HEADER_LICENCES, *COMPILER_LICENCES)
        found = {name: (libraries / "usr/share/doc" / name / "copyright").read_bytes() for name in names}
    lock = json.loads((ROOT / "web/package-lock.json").read_text())
    for path, package in lock["packages"].items():
        if not path or package.get("dev") or package.get("optional"):
            continue
        folder = ROOT / "web" / path
        text = next((file for file in sorted(folder.glob("*")) if file.name.lower().startswith("licen")), None)
        name = "npm-" + path.rpartition("node_modules/")[2].replace("/", "-").replace("@", "")
        found[name] = text.read_bytes() if text else str(package.get("license", "unknown")).encode()
    return found

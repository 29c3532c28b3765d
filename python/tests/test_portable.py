"""The native module loads on systems older than the one it was built on, and with musl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from package import PACKAGE

MODULE = PACKAGE / "corral" / "_native.abi3.so"
NEWEST = (2, 17)  # CentOS 7, manylinux2014
# A program that offers what an interpreter would, and loads the module.
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
%s
int main(int count, char** words) {
  if (dlopen(words[count - 1], RTLD_NOW)) return puts("loaded") < 0;
  puts(dlerror());
  return 1;
}
"""


def output_of(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(autouse=True)
def portable_machine() -> None:
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("on this machine the module is built for its own C library alone")


def test_it_needs_no_newer_glibc_than_2_17() -> None:
    symbols = output_of("objdump", "-T", MODULE)
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    assert versions
    assert max(versions) <= NEWEST, [line for line in symbols.splitlines() if "GLIBC" in line]


def test_it_needs_libc_alone() -> None:
    needed = re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", MODULE))
    assert needed == ["libc.so.6"]


def test_it_loads_with_musl(tmp_path: Path) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed")
    undefined = output_of("nm", "-D", "--undefined-only", MODULE).split()
    python = sorted({name for name in undefined if re.match(r"_?Py", name)})
    assert python
    (tmp_path / "loader.c").write_text(LOADER % "\n".join(f"long {name}[64];" for name in python))
    output_of("musl-gcc", "-rdynamic", "-o", tmp_path / "loader", tmp_path / "loader.c")
    assert output_of(tmp_path / "loader", MODULE) == "loaded\n"

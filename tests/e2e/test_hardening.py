"""The hardening of the binaries of a release, and their bill of materials."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import BINARY, ROOT

BUILD = BINARY.parent
PROGRAM = BUILD / "corral-program"
NATIVE = BUILD / "python" / "corral" / "_native.abi3.so"


def readelf(option: str, file: Path) -> str:
    done = subprocess.run(["readelf", "--wide", option, file], check=True, capture_output=True, text=True)
    return done.stdout


def first_bytes(file: Path) -> set[bytes]:
    """The first four bytes of the program's own functions that other files can call."""
    text = re.search(r"\.text\s+PROGBITS\s+(\w+)\s+(\w+)\s+(\w+)", readelf("-S", file))
    assert text is not None
    address, offset, size = (int(number, 16) for number in text.groups())
    with file.open("rb") as binary:
        binary.seek(offset)
        code = binary.read(size)
    own = r"([0-9a-f]{16})\s+\d+\s+FUNC\s+GLOBAL\s+\w+\s+\d+ (?:main|PyInit__native|_ZNK?6corral\w+)\n"
    starts = [int(start, 16) - address for start in re.findall(own, readelf("-s", file))]
    return {code[start : start + 4] for start in starts if 0 <= start < size}


@pytest.mark.parametrize("file", [BINARY, PROGRAM, NATIVE], ids=["launcher", "program", "python"])
def test_binaries_are_hardened(file: Path) -> None:
    assert re.search(r"Type:\s+DYN", readelf("-h", file)), "not position independent"
    segments = readelf("-l", file)
    assert "GNU_RELRO" in segments, "relocations stay writable"
    assert re.search(r"GNU_STACK(\s+0x[0-9a-f]+){5}\s+RW\s", segments), "the stack can be executed"
    dynamic = readelf("-d", file)
    assert re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic), "symbols are bound late, so that their table stays writable"
    symbols = readelf("-s", file)
    assert "__stack_chk_fail" in symbols, "no stack protector"
    if platform.machine() == "x86_64":
        assert first_bytes(file) == {b"\xf3\x0f\x1e\xfa"}, "functions without a landing pad"


def test_calls_of_libc_are_checked() -> None:
    checked = set(re.findall(r" (__\w+_chk)@", readelf("-s", PROGRAM)))
    assert {"__memcpy_chk", "__read_chk"} & checked, checked


def test_the_bill_of_materials_names_what_is_linked() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "sbom.py", PROGRAM], check=True, capture_output=True, text=True
    )
    bom = json.loads(done.stdout)
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.5")
    components = {c["name"]: c for c in bom["components"]}
    for name in ("libsqlite3-0", "libpq5", "libssl3", "react", "libboost1.81-dev"):
        assert components[name]["scope"] == "required", name
    assert components["pytest"]["scope"] == "excluded"
    assert all(c["version"] for c in bom["components"])
    assert len({c["bom-ref"] for c in bom["components"]}) == len(bom["components"])
    assert components["react"]["hashes"][0]["alg"] == "SHA-512"


def test_every_pinned_package_has_a_hash() -> None:
    locks = sorted((ROOT / "tools").glob("pip-*.lock"))
    assert {lock.stem for lock in locks} >= {p.stem for p in (ROOT / "tools").glob("pip-*packages.txt")}
    for lock in locks:
        text = re.sub("^#.*\n", "", lock.read_text(), flags=re.MULTILINE)
        assert "://" not in text, f"{lock.name} holds an address"
        for pin in re.split(r"\n(?=\S)", text.strip()):
            assert "--hash=sha256:" in pin, f"{lock.name}: {pin.splitlines()[0]}"
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in packages.items() if name and "integrity" not in package]

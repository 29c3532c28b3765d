"""Writes a software bill of materials of a build, in CycloneDX 1.5: ./dev sbom > sbom.json

Components that ship: the Debian packages of the libraries that corral-program is linked with or was compiled from (with
--lock those that ./dev package links into it), and the npm packages in the page. Components that only build or test it
(PyPI packages of the lock files, the other npm and Debian packages) have the scope "excluded".
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
Component = dict[str, Any]
HEADERS = ("libboost", "libcli11", "libexpected")  # compiled in: nothing is linked


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def component(kind: str, name: str, version: str, *, ships: bool) -> Component:
    purl = f"pkg:{kind}/{quote(name)}@{quote(version)}"
    return {
        "type": "library",
        "bom-ref": purl,
        "purl": purl,
        "name": name,
        "version": version,
        "scope": "required" if ships else "excluded",
    }


def linked_packages(program: Path) -> set[str]:
    """Names of the Debian packages that own the libraries which the loader finds for the program."""
    paths = re.findall(r"=> (/\S+)", output("ldd", program))
    found = set()
    for path in paths:
        # dpkg knows a library by the path of before /lib became a link to /usr/lib, or by the one of after it.
        real = str(Path(path).resolve())
        for name in (real, real.removeprefix("/usr"), path):
            owner = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False).stdout
            if owner:
                found.add(owner.partition(":")[0])
                break
    return found


def locked(lock: Path) -> list[Component]:
    """The source packages of a lock file of tools/package."""
    found = re.findall(r"^source (\S+) (\S+)$", lock.read_text(), re.MULTILINE)
    return [component("deb/debian", name, version, ships=True) for name, version in found]


def debian(linked: set[str]) -> list[Component]:
    lists = ((ROOT / f"tools/apt-{name}-packages.txt").read_text() for name in ("build", "test"))
    listed = re.sub("#.*", "", "\n".join(lists)).split()
    ships = linked | {name for name in listed if name.startswith(HEADERS)}
    versions = dict(
        line.split("\t") for line in output("dpkg-query", "-W", "-f", "${Package}\t${Version}\n").splitlines()
    )
    names = sorted(ships | {name for name in listed if name in versions})
    return [component("deb/debian", name, versions[name], ships=name in ships) for name in names if name in versions]


def npm() -> list[Component]:
    found = []
    for path, package in json.loads((ROOT / "web/package-lock.json").read_text())["packages"].items():
        if not path:
            continue
        name = path.rpartition("node_modules/")[2]
        item = component("npm", name, package["version"], ships=not package.get("dev") and not package.get("optional"))
        algorithm, _, digest = package.get("integrity", "").partition("-")
        if digest:
            item["hashes"] = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": b64decode(digest).hex()}]
        found.append(item)
    return found


def pypi() -> list[Component]:
    pins = set()
    for lock in sorted((ROOT / "tools").glob("pip-*.lock")):
        pins |= set(re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", lock.read_text(), re.MULTILINE))
    return [component("pypi", name.lower(), version, ships=False) for name, version in sorted(pins)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=ROOT / "build/release/corral-program")
    parser.add_argument("--lock", type=Path, help="of the packages that are linked into the program")
    options = parser.parse_args()
    if options.lock is None and not options.program.exists():
        sys.exit(f"sbom: {options.program} is not there; build it first: ./dev build")
    if options.lock is None:
        debians = debian(linked_packages(options.program))
    else:
        debians = [*locked(options.lock), *debian(set())]
    version = re.search(r"VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text().partition("project(")[2])
    unique = {item["bom-ref"]: item for item in [*debians, *pypi(), *npm()]}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "corral", "version": version[1] if version else "unknown"}
        },
        "components": list(unique.values()),
    }
    json.dump(bom, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

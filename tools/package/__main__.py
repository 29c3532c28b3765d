"""Makes the packages of this checkout in dist/: ./dev package

The program is linked statically by a pinned compiler, so that it runs on every Linux with glibc 2.28 or newer. The same
commit gives the same files, wherever and whenever it is built.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
import sys
import time
from pathlib import Path

import debian_packages
import formats
import image
import libraries
import texts
import tree as trees
from toolchain import GLIBC, Toolchain

ROOT = trees.ROOT
FORMATS = ("wheel", "archive", "deb", "image")


def say(text: str) -> None:
    print(f"package: {text}", file=sys.stderr, flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dev package", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: all)")
    parser.add_argument("--arch", choices=("x86_64", "aarch64"), default=platform.machine(), help="default: this one")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="default: dist")
    parser.add_argument("--zig", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--check-options", action="store_true", help=argparse.SUPPRESS)  # and do nothing else
    local = "of build/release, which needs this machine's libraries: for tests"
    parser.add_argument("--local", action="store_true", help=local)
    parser.add_argument("--lock", action="store_true", help="take the libraries' newest versions into packages.lock")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.formats if name not in FORMATS]
    if unknown:
        parser.error(f"unknown format '{unknown[0]}'; there are: {', '.join(FORMATS)}")
    chosen.formats = chosen.formats or list(FORMATS)
    return chosen


def make_tree(chosen: argparse.Namespace) -> trees.Tree:
    if chosen.local:
        return trees.collect(ROOT / "build/release", None)
    folder = ROOT / "build/package"
    toolchain = Toolchain(chosen.arch, chosen.zig, folder / chosen.arch)
    toolchain.make()
    libraries.build_all(toolchain, folder / "sources", say)
    say("building corral; this takes minutes")
    return trees.collect(trees.compile_program(toolchain), toolchain.root)


def own_program(chosen: argparse.Namespace) -> Path:
    """A program that this machine can run: its help is that of all."""
    local = chosen.local or chosen.arch != platform.machine()
    return ROOT / "build" / ("release" if local else f"package/{chosen.arch}/corral") / "corral"


def make(chosen: argparse.Namespace) -> list[Path]:
    tree = make_tree(chosen)
    tree |= {path: trees.File(text) for path, text in texts.all_texts(own_program(chosen), trees.version()).items()}
    version, when = trees.version(), trees.epoch()
    platform_tag = "linux" if chosen.local else f"manylinux_{GLIBC.replace('.', '_')}"
    chosen.out.mkdir(parents=True, exist_ok=True)
    made = []
    if "wheel" in chosen.formats:
        made.append(formats.wheel(tree, version, f"cp310-abi3-{platform_tag}_{chosen.arch}", when, chosen.out))
    if "archive" in chosen.formats:
        made.append(formats.archive(tree, f"corral-{version}-linux-{chosen.arch}", when, chosen.out))
    if "deb" in chosen.formats:
        made.append(formats.deb(tree, version, chosen.arch, when, chosen.out))
    if "image" in chosen.formats:
        debian = debian_packages.fetch(ROOT / "build/package/sources", formats.DEBIAN_NAMES[chosen.arch], say)
        made.append(image.write(image.Image(tree, debian, version, chosen.arch, when), chosen.out))
    return made


def bill_of_materials(target: Path) -> Path:
    path = target / f"corral-{trees.version()}.cdx.json"
    command: list[str | Path] = [sys.executable, ROOT / "tools/sbom.py", "--lock", debian_packages.LOCK]
    path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    return path


def main() -> int:
    chosen = options()
    if chosen.check_options:
        return 0
    began = time.monotonic()
    try:
        if chosen.lock:
            debian_packages.lock(ROOT / "build/package/sources", say)
            return 0
        made = make(chosen)
    except debian_packages.PackageError as error:
        print(f"package: {error}", file=sys.stderr)
        return 1
    if not chosen.local:
        made.append(bill_of_materials(chosen.out))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(chosen.out.glob("corral*"))}
    (chosen.out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    for path in made:
        print(f"{sums[path.name]}  {path.name}  {path.stat().st_size / 2**20:.1f} MiB")
    say(f"done in {time.monotonic() - began:.0f} s, in {chosen.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

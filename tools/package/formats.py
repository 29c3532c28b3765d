"""Writes a tree as a package: wheel, tar.gz, .deb, OCI image. The same tree gives the same bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from time import gmtime

from tree import File, Tree


def tar_bytes(tree: Tree, when: int, prefix: str = "") -> bytes:
    """An uncompressed tar of the files and of the folders that they lie in."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        made: set[str] = set()
        for path in sorted(tree):
            for parent in reversed(Path(prefix + path).parents):
                folder = parent.as_posix()
                if folder != "." and folder not in made:
                    made.add(folder)
                    _add(tar, folder, File(mode=0o755, folder=True), when)
            made.add(prefix + path)
            _add(tar, prefix + path, tree[path], when)
    return out.getvalue()


def _add(tar: tarfile.TarFile, path: str, file: File, when: int) -> None:
    info = tarfile.TarInfo(path)
    info.type = tarfile.DIRTYPE if file.folder else tarfile.SYMTYPE if file.link else tarfile.REGTYPE
    info.size, info.mode, info.mtime = len(file.content), file.mode, when
    info.linkname, info.uid, info.gid = file.link, file.owner, file.owner
    tar.addfile(info, io.BytesIO(file.content))


def compress(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def archive(tree: Tree, name: str, when: int, target: Path) -> Path:
    """NAME.tar.gz with one folder NAME, which runs wherever it is unpacked."""
    path = target / f"{name}.tar.gz"
    path.write_bytes(compress(tar_bytes(tree, when, f"{name}/")))
    return path


def wheel(tree: Tree, version: str, tag: str, when: int, target: Path) -> Path:
    """The Python package for `import corral`, and the tree below the environment's prefix, as pip installs data.

    The package is there twice: trainings of other environments get the copy in lib/corral alone on their path.
    """
    info, data = f"corral-{version}.dist-info", f"corral-{version}.data"
    package = "lib/corral/python/"
    files: Tree = {}
    for path, file in tree.items():
        if path.startswith(package):
            files[path.removeprefix(package)] = file
        if path.startswith("bin/"):
            files[f"{data}/scripts/{path.removeprefix('bin/')}"] = file
        else:
            files[f"{data}/data/{path}"] = file
    files[f"{info}/METADATA"] = File(_metadata(version, tree["share/doc/corral/README.md"].content))
    files[f"{info}/WHEEL"] = File(
        f"Wheel-Version: 1.0\nGenerator: corral\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    files[f"{info}/licenses/LICENSE"] = tree["share/doc/corral/LICENSE"]
    record = f"{info}/RECORD"
    rows = [f"{path},sha256={_digest(file.content)},{len(file.content)}" for path, file in sorted(files.items())]
    files[record] = File("\n".join([*rows, f"{record},,", ""]).encode())
    made = target / f"corral-{version}-{tag}.whl"
    with zipfile.ZipFile(made, "w") as out:
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(name, gmtime(max(when, 315532800))[:6])
            entry.external_attr = (0o100000 | files[name].mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, files[name].content, compresslevel=9)
    return made


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _metadata(version: str, readme: bytes) -> bytes:
    head = f"""\
Metadata-Version: 2.3
Name: corral
Version: {version}
Summary: Records deep-learning trainings with hardware metrics, shows them live and explains them
License: MIT
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Topic :: System :: Benchmark
Provides-Extra: parquet
Requires-Dist: pyarrow; extra == 'parquet'
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
Description-Content-Type: text/markdown

"""
    return head.encode() + readme


DEBIAN = Path(__file__).resolve().parent / "debian"
UNITS = ("corral.service", "corral-backup.service", "corral-backup.timer")
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def deb(tree: Tree, version: str, arch: str, when: int, target: Path) -> Path:
    """A package for Debian 12 and everything newer; its service is there, but not enabled."""
    files: Tree = {"etc/default/corral": File((DEBIAN / "corral.default").read_bytes())}
    for path, file in tree.items():
        if path.startswith("share/man/"):
            files[f"usr/{path}.gz"] = File(compress(file.content))
        elif path != "share/doc/corral/LICENSE":
            files[f"usr/{path}"] = file
    shared = (DEBIAN / "user-and-limits").read_bytes()
    for unit in UNITS:
        text = (DEBIAN / unit).read_bytes().replace(b"@USER_AND_LIMITS@\n", shared)
        files[f"lib/systemd/system/{unit}"] = File(text)
    files["usr/lib/python3/dist-packages/corral"] = File(link="../../corral/python/corral")
    licence = tree["share/doc/corral/LICENSE"].content
    files["usr/share/doc/corral/copyright"] = File(
        licence + b"\nLibraries in the program: /usr/share/doc/corral/licences\n"
    )
    control = f"""\
Package: corral
Version: {version}
Architecture: {DEBIAN_NAMES[arch]}
Maintainer: The Corral developers
Installed-Size: {sum(len(file.content) for file in files.values()) // 1024}
Depends: libc6 (>= 2.28)
Recommends: ca-certificates, python3 (>= 3.10)
Section: science
Priority: optional
Description: records deep-learning trainings with hardware metrics
 Corral runs a training, samples what the script logs and what the machine does
 on one time axis, stores both, shows them live in a browser and explains where
 the time went.
"""
    files["DEBIAN/control"] = File(control.encode())
    files["DEBIAN/conffiles"] = File(b"/etc/default/corral\n")
    for script in ("postinst", "prerm", "postrm"):
        files[f"DEBIAN/{script}"] = File((DEBIAN / script).read_bytes(), 0o755)
    sums = "".join(
        f"{hashlib.md5(file.content).hexdigest()}  {path}\n"  # the format's
        for path, file in sorted(files.items())
        if not path.startswith(("DEBIAN/", "etc/")) and not file.link
    )
    files["DEBIAN/md5sums"] = File(sums.encode())
    out = target / f"corral_{version}_{DEBIAN_NAMES[arch]}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        _lay_out(files, root)
        subprocess.run(["find", root, "-exec", "touch", "-h", "-d", f"@{when}", "{}", "+"], check=True)
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, out],
            check=True,
            env=os.environ | {"SOURCE_DATE_EPOCH": str(when)},
            stdout=subprocess.DEVNULL,
        )
    return out


def _lay_out(files: Tree, root: Path) -> None:
    for path, file in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            place.symlink_to(file.link)
        else:
            place.write_bytes(file.content)
            place.chmod(file.mode)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())):
        folder.chmod(0o755)

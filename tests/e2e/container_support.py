"""Images made from nothing, and podman set up to run them on a machine without its usual comforts."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "burner.c"
LIBRARIES = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"]
MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
# Mounts that a Python of this host needs in an image without one.
HOST_PYTHON = ";mount=/usr:/usr:ro;mount=/lib:/lib:ro;mount=/lib64:/lib64:ro"


@dataclass
class Podman:
    root: Path
    environment: dict[str, str]  # for corral and podman: where storage, runtime and limits are said
    groups: set[Path]  # control groups on this process's own path that were there before

    def __call__(self, *arguments: str, stdin: bytes = b"", status: int | None = 0) -> str:
        done = subprocess.run(
            ["podman", *arguments],
            env=os.environ | self.environment,
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert status is None or done.returncode == status, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    def containers(self) -> list[str]:
        return self("ps", "--all", "--format", "{{.Names}}").split()

    def load(self, name: str, files: dict[str, Path], links: dict[str, str]) -> None:
        """An image that holds these files and nothing else."""
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            for directory in ("bin", "etc", "lib", "lib64", "proc", "sys", "dev", "tmp", "usr"):
                entry = tarfile.TarInfo(directory)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755
                archive.addfile(entry)
            for target, source in files.items():
                archive.add(source.resolve(), target)
            for link, target in links.items():
                entry = tarfile.TarInfo(link)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                archive.addfile(entry)
        self("import", "-", name, stdin=tar.getvalue())


def make_podman(root: Path) -> Podman:
    """podman with a store of its own below `root`; skips where it cannot work."""
    for program in ("podman", "runc", "busybox", "musl-gcc", "gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        pytest.skip("podman is tried as root alone: its rootless mode needs more of a host")
    (root / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\n'
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n'
    )
    (root / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{root}/store"\nrunroot = "{root}/run"\n'
    )
    podman = Podman(
        root,
        {
            "CONTAINERS_CONF": str(root / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(root / "storage.conf"),
        },
        set(own_path()),
    )
    busybox = {"bin/busybox": Path("/bin/busybox")}
    applets = {f"bin/{name}": "busybox" for name in ("sh", "sleep", "cat", "id", "true")}
    for libc, compiler, libraries in (
        ("glibc", "gcc", LIBRARIES),
        ("musl", "musl-gcc", [MUSL_LOADER]),
    ):
        burner = root / f"burner-{libc}"
        subprocess.run([compiler, "-O1", "-o", burner, PROGRAM], check=True, timeout=60)
        files = busybox | {"bin/burner": burner} | {lib.lstrip("/"): Path(lib) for lib in libraries}
        podman.load(f"corral-{libc}", files, applets)
    tried = subprocess.run(
        ["podman", "run", "--rm", "--network=host", "corral-musl", "true"],
        env=os.environ | podman.environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    if tried.returncode != 0:
        pytest.skip("podman cannot run containers here: " + tried.stderr.decode(errors="replace")[-300:])
    return podman


def groups_called(name: str) -> list[Path]:
    """In every hierarchy. The groups below are ignored: they come and go."""
    root = Path("/sys/fs/cgroup")
    return [path for path in (root / name, *(hierarchy / name for hierarchy in root.iterdir())) if path.is_dir()]


def own_path() -> list[Path]:
    """Returns the directories named like this process's own groups, in every hierarchy, each before its parent."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    names = {line.split(":", 2)[2].strip("/") for line in lines} - {""}
    above = {str(Path(name).parent) for name in names} - {"."}
    return [path for name in (*names, *above) for path in groups_called(name)]


def remove_podman(podman: Podman) -> None:
    """Takes the storage away and the groups that podman leaves, unless others use them."""
    podman("rm", "--all", "--force", "--time=0", status=None)
    shutil.rmtree(podman.root, ignore_errors=True)
    for parent in groups_called("libpod_parent"):
        for group in (parent / "conmon", parent):
            with contextlib.suppress(OSError):
                group.rmdir()
    # A parent of containers is made in every hierarchy, with what is above it.
    for group in own_path():
        if group not in podman.groups:
            with contextlib.suppress(OSError):
                group.rmdir()

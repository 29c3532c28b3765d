"""Copies files into the run's spool, from where `corral run` brings them to the server (docs/spool.md)."""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import stat
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATH_BYTES = 4096
_FICLONE = 0x40049409  # ioctl: both files share their blocks, where the filesystem can


def _files(source: str, name: str) -> Iterator[tuple[str, str]]:
    """Files at or below `source`, each with its name in the run."""
    if not os.path.isdir(source):
        yield source, name
        return
    for folder, _, entries in os.walk(source):
        inside = os.path.relpath(folder, source).replace(os.sep, "/")
        for entry in sorted(entries):
            yield os.path.join(folder, entry), posixpath.normpath(f"{name}/{inside}/{entry}")


def _check(name: str) -> str:
    if len(name.encode()) > _PATH_BYTES:
        raise ValueError(f"an artifact's name is longer than {_PATH_BYTES} bytes")
    if not name or name != posixpath.normpath(name) or name.startswith(("/", "..")) or "\0" in name or "\n" in name:
        raise ValueError(f"invalid artifact name {name!r}: expected a relative path, e.g. 'model/weights.bin'")
    return name


def _copy(source: str, target: str) -> None:
    import fcntl

    # Neither a pipe without a writer nor a device holds the training up.
    with open(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as read, open(target, "xb") as write:
        if not stat.S_ISREG(os.fstat(read.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", source)
        try:
            fcntl.ioctl(write.fileno(), _FICLONE, read.fileno())
        except OSError:
            shutil.copyfileobj(read, write, 1 << 20)


def _keep(spool: str, run: str, name: str, fill: Callable[[str], None]) -> None:
    """Puts a file into the spool; `fill` makes it, at the path that it is given."""
    folder = os.path.join(spool, "artifacts")
    os.makedirs(folder, 0o700, exist_ok=True)
    # The newer of two files of one name counts, also where the filesystem's times are coarse.
    id_ = f"{time.time_ns():016x}{os.urandom(8).hex()}"
    place = os.path.join(folder, "new-" + id_)
    os.mkdir(place, 0o700)
    try:
        fill(os.path.join(place, "data"))
        with open(os.path.join(place, "name"), "x", encoding="utf-8", newline="") as file:
            file.write(f"{run}\n{name}")
        os.rename(place, os.path.join(folder, id_))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _spool_and_run() -> tuple[str, str] | None:
    """Nothing: finish() was called in another thread."""
    segments, run = os.environ.get("CORRAL_SEGMENT_DIR"), os.environ.get("CORRAL_RUN_ID")
    return (os.path.dirname(os.path.abspath(segments)), run) if segments and run else None


def keep(path: str | os.PathLike[str], name: str | None) -> None:
    source = os.fspath(path)
    name = _check(os.path.basename(os.path.abspath(source)) if name is None else name)
    place = _spool_and_run()
    if place:
        for file, inside in _files(source, name):
            _keep(*place, _check(inside), partial(_copy, file))


def keep_bytes(data: bytes, name: str) -> None:
    def write(target: str) -> None:
        with open(target, "xb") as file:
            file.write(data)

    place = _spool_and_run()
    if place:
        _keep(*place, _check(name), write)

"""Lists the user's own files that a process has imported: noted at its end, for the copy of the code that the
supervisor keeps.

Loaded by its path, too, in processes that never import corral: it needs nothing of the package.
"""

from __future__ import annotations

import os
import sys

_MOST = 1 << 20  # bytes that all processes of a run note together
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def files(start: str) -> list[str]:
    """Absolute paths; without those of Python itself, of installed packages and of corral.

    `start` is the directory that the process began in: the script's name is seen from there.
    """
    installed = tuple(
        os.path.join(prefix, lib) + os.sep
        for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
        for lib in ("lib", "lib64")
    )
    not_theirs = (*installed, os.path.dirname(os.path.abspath(os.__file__)) + os.sep, _PACKAGE)
    module_type = type(sys)
    # By now __main__ has lost its own.
    names: list[object] = [name for name in sys.argv[:1] if os.path.isfile(os.path.join(start, name))]
    for module in list(sys.modules.values()):
        if isinstance(module, module_type):
            names.append(object.__getattribute__(module, "__dict__").get("__file__"))
    found: dict[str, None] = {}
    for name in names:
        if not isinstance(name, str):
            continue
        path = os.path.normpath(os.path.join(start, name))
        if not path.startswith(not_theirs) and "site-packages" not in path and "dist-packages" not in path:
            found[path] = None
    return list(found)


def encoded(paths: list[str]) -> list[bytes]:
    names = []
    for path in paths:
        try:
            names.append(os.fsencode(path))
        except UnicodeError:  # no file has such a name
            continue
    return names


def note(folder: str, start: str) -> None:
    """Adds the missing ones to the run's `modules`; each ends with NUL. A lone `/` says that some lack."""
    place = os.open(os.path.join(folder, "modules"), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        known = set(os.read(place, 2 * _MOST).split(b"\0"))
        text = b"".join(path + b"\0" for path in encoded(files(start)) if path not in known)
        if os.fstat(place).st_size + len(text) > _MOST:
            text = b"" if b"/" in known else b"/\0"
        if text:
            os.write(place, text)
    finally:
        os.close(place)

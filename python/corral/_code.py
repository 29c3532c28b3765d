"""Which files of the user's own a process has imported: noted at its end, for what the supervisor keeps of the code.

Loaded by its path, too, in processes that never import corral: it needs nothing of the package.
"""

from __future__ import annotations

import os
import sys

_MOST = 1 << 20  # bytes that all processes of a run note together
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def files() -> list[str]:
    """Absolute paths; without those of Python itself, of installed packages and of corral."""
    installed = tuple(
        os.path.join(prefix, "lib") for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    )
    not_theirs = (*installed, os.path.dirname(os.path.abspath(os.__file__)) + os.sep, _PACKAGE)
    module_type = type(sys)
    # By now __main__ has lost its own.
    names: list[object] = [name for name in sys.argv[:1] if os.path.isfile(name)]
    for module in list(sys.modules.values()):
        if isinstance(module, module_type):
            names.append(object.__getattribute__(module, "__dict__").get("__file__"))
    found: dict[str, None] = {}
    for name in names:
        if not isinstance(name, str):
            continue
        path = os.path.abspath(name)
        if path.startswith(not_theirs) or "site-packages" in path or "dist-packages" in path:
            continue
        found[path] = None
    return list(found)


def note(folder: str) -> None:
    """Adds them to the run's `modules`; each ends with NUL."""
    text = b"".join(os.fsencode(path) + b"\0" for path in files())
    if not text:
        return
    place = os.open(os.path.join(folder, "modules"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(place).st_size + len(text) <= _MOST:
            os.write(place, text)
    finally:
        os.close(place)

"""unity.py FOLDER SOURCE...: prints the sources to compile in place of these, joined by semicolons as CMake writes a
list.

Sources of a group are compiled as one file, written to FOLDER, which includes them as seen from src/. Where one defines
a name for itself alone that another uses too, they are kept apart. A source without a group stays as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tidy


def unit_of(group: tidy.Group, folder: Path) -> Path:
    names = [file.resolve().relative_to(tidy.SOURCES) for file in group.files]
    # Named after its first source, so that another group's change leaves this one as it is.
    unit = folder / "_".join(names[0].parts)
    text = "".join(f'#include "{name}"\n' for name in names)
    folder.mkdir(parents=True, exist_ok=True)
    if not unit.exists() or unit.read_text() != text:
        unit.write_text(text)
    return unit


def main() -> None:
    folder = Path(sys.argv[1])
    groups = tidy.groups([Path(name) for name in sys.argv[2:]])
    print(";".join(str(unit_of(one, folder) if len(one.files) > 1 else one.files[0]) for one in groups), end="")


if __name__ == "__main__":
    main()

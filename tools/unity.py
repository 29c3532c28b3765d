"""unity.py SOURCE...: the number of each source's group, joined by semicolons as CMake writes a list.

Sources of a group are compiled as one. Where one defines a name for itself alone that another uses too, they are kept
apart.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tidy


def main() -> None:
    sources = [Path(name) for name in sys.argv[1:]]
    group_of = {file: number for number, group in enumerate(tidy.groups(sources)) for file in group.files}
    print(";".join(str(group_of[source]) for source in sources), end="")


if __name__ == "__main__":
    main()

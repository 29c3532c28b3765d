"""Groups the sources that clang-tidy reads together, and that a unity build compiles together (unity.py).

Nearly all of its time goes into the headers that a source includes. Sources with the same flags are therefore read as
one file that includes them, unless one of them defines a name for itself alone that another uses too. What does not
pass clang-tidy together is to be read again one by one, and only that counts: a batch never decides that something is
wrong.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypedDict

LARGEST = 12  # sources of one batch: more would need more memory for little time
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"(?:template ?<.*> ?)?(?:struct|class|enum(?: class)?|union) (\w+)|using (\w+) =")
OTHER = re.compile(r"(?!using|namespace|template)[^\s/}#].*?(\w+)(?:\[\w*\])? ?[={(]")
WORD = re.compile(r"(?<![\w.:>\"'/])[A-Za-z_]\w*")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//.*")
SOURCES = Path(__file__).resolve().parent.parent / "src"
PER_FILE = {"-o", "-c", "-MF", "-MT", "-MQ"}  # options whose value differs from source to source


class Command(TypedDict):
    """An entry of compile_commands.json."""

    directory: str
    command: str
    file: str


@dataclass
class Group:
    """Sources that one file may include together: no local name of one is a word of another."""

    files: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def takes(self, names: set[str], words: set[str]) -> bool:
        return len(self.files) < LARGEST and not self.names & words and not self.words & names

    def add(self, file: Path, names: set[str], words: set[str]) -> None:
        self.files.append(file)
        self.names |= names
        self.words |= words


@dataclass
class Batch(Group):
    flags: tuple[str, ...] = ()

    def content_hash(self, checks: str) -> str:
        """Hash of all that a reader of these sources looks at, except the system's headers; every checkout has the
        same."""
        read: set[Path] = set()
        waiting = list(self.files)
        while waiting:
            file = waiting.pop()
            if file in read:
                continue
            read.add(file)
            waiting += [path for name in includes_of(file) if (path := SOURCES / name).exists()]
        root = SOURCES.parent
        whole = hashlib.sha256("\0".join((checks, *self.flags)).replace(str(root), ".").encode())
        for file in sorted(read):
            whole.update(f"\0{file.relative_to(root)}\0".encode() + file.read_bytes())
        return whole.hexdigest()

    def text(self) -> str:
        return "".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in self.files)


def local_names(source: str) -> set[str]:
    """Returns the names that its unnamed namespaces define, found by the project's format: definitions begin at the
    margin.
    """
    lines = [line for body in UNNAMED.findall(source) for line in body.splitlines()]
    found = [TYPE.match(line) or OTHER.match(line) for line in lines]
    return {match[match.lastindex or 0] for match in found if match}


@cache
def words_in(file: Path) -> frozenset[str]:
    """Identifiers without those behind a dot, an arrow or a scope."""
    return frozenset(WORD.findall(COMMENT.sub("", file.read_text())))


@cache
def includes_of(file: Path) -> tuple[str, ...]:
    return tuple(INCLUDE.findall(file.read_text()))


def words_of(file: Path) -> set[str]:
    """With those of the project's headers that it names; headers of headers would forbid too much."""
    headers = (SOURCES / name for name in includes_of(file))
    return set(words_in(file)).union(*(words_in(header) for header in headers if header.exists()))


def flags_of(command: Command) -> tuple[str, ...]:
    words = shlex.split(command["command"])
    while words and not words[0].startswith("-"):  # a compiler, perhaps behind a launcher
        words.pop(0)
    per_file = {index + offset for index, word in enumerate(words) if word in PER_FILE for offset in (0, 1)}
    return tuple(word for index, word in enumerate(words) if index not in per_file)


def groups(files: list[Path]) -> list[Group]:
    found: list[Group] = []
    for file in files:
        names, words = local_names(file.read_text()), words_of(file)
        group = next((group for group in found if group.takes(names, words)), None)
        if group is None:
            group = Group()
            found.append(group)
        group.add(file, names, words)
    return found


def batches(commands: list[Command]) -> list[Batch]:
    """The groups of the sources that have the same flags."""
    by_flags: dict[tuple[str, ...], list[Path]] = {}
    for command in sorted(commands, key=lambda one: one["file"]):
        by_flags.setdefault(flags_of(command), []).append(Path(command["file"]))
    return [
        Batch(group.files, group.names, group.words, flags)
        for flags, files in by_flags.items()
        for group in groups(files)
    ]

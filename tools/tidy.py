"""Which sources clang-tidy reads together.

Nearly all of its time goes into the headers that a source includes. Sources with the same flags are therefore read as
one file that includes them, unless two of them define the same name for themselves alone. What does not pass together
is to be read again one by one, and only that counts: a batch never decides that something is wrong.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

LARGEST = 12  # sources of one batch: more would need more memory for little time
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"(?:template ?<.*> ?)?(?:struct|class|enum(?: class)?|union) (\w+)|using (\w+) =")
OTHER = re.compile(r"(?!using|namespace|template)[^\s/}#].*?(\w+)(?:\[\w*\])? ?[={(]")
PER_FILE = {"-o", "-c", "-MF", "-MT", "-MQ"}  # options whose value differs from source to source


class Command(TypedDict):
    """An entry of compile_commands.json."""

    directory: str
    command: str
    file: str


@dataclass
class Batch:
    flags: tuple[str, ...]
    files: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def text(self) -> str:
        return "".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in self.files)


def local_names(source: str) -> set[str]:
    """What its unnamed namespaces define, told by how this project is formatted: definitions begin at the margin."""
    lines = [line for body in UNNAMED.findall(source) for line in body.splitlines()]
    found = [TYPE.match(line) or OTHER.match(line) for line in lines]
    return {match[match.lastindex or 0] for match in found if match}


def flags_of(command: Command) -> tuple[str, ...]:
    words = shlex.split(command["command"])
    while words and not words[0].startswith("-"):  # a compiler, perhaps behind a launcher
        words.pop(0)
    per_file = {index + offset for index, word in enumerate(words) if word in PER_FILE for offset in (0, 1)}
    return tuple(word for index, word in enumerate(words) if index not in per_file)


def batches(commands: list[Command]) -> list[Batch]:
    found: list[Batch] = []
    for command in sorted(commands, key=lambda one: one["file"]):
        file = Path(command["file"])
        flags = flags_of(command)
        names = local_names(file.read_text())
        for batch in found:
            if batch.flags == flags and len(batch.files) < LARGEST and not batch.names & names:
                break
        else:
            batch = Batch(flags)
            found.append(batch)
        batch.files.append(file)
        batch.names |= names
    return found

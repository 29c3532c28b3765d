"""The program's commands and options, as `--help` of each lists them, and command lines compared with them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from support import BINARY

# "  -o,--output FILE (Env:CORRAL_OUTPUT)   ...": the names, then the placeholder of a value if there is one.
# A description names the short form of some: "also as -o".
OPTION = re.compile(r"^ +((?:-\w, ?)?--[a-z][a-z-]*|-\w)((?: [^ \n]+)*)(.*(?:\n {12,}.*)*)", re.MULTILINE)
CHILD = re.compile(r"^  ([a-z]+) +\S", re.MULTILINE)
# Options end at the first word that is none: the rest is the recorded command's.
TAKES_A_COMMAND = (("run",), ("bench", "listeners"))


@dataclass
class Command:
    path: tuple[str, ...]
    options: dict[str, bool] = field(default_factory=dict)  # name -> takes a value
    children: dict[str, Command] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join(("corral", *self.path))

    def walk(self) -> Iterator[Command]:
        yield self
        for child in self.children.values():
            yield from child.walk()


def help_of(*path: str) -> str:
    done = subprocess.run([BINARY, *path, "--help"], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def read(*path: str) -> Command:
    text = help_of(*path)
    command = Command(path)
    body = re.split(r"^Examples:", text, flags=re.MULTILINE)[0]
    for names, value, description in OPTION.findall(body):
        placeholder = re.sub(r"\(Env:[^)]*\)|\(.*|\bREQUIRED\b|\.\.\.", "", value).strip()
        for name in names.replace(" ", "").split(","):
            command.options[name] = bool(placeholder)
            command.options |= {short: bool(placeholder) for short in re.findall(r"also (-\w)", description)}
    usage = text[text.find("Usage:") :].partition("\n")[0]
    if not path:
        command.options["--version"] = False
    for name in CHILD.findall(body):
        if len(path) < 2 and (re.search(r"\b(COMMAND|VERB)\b", usage) or f" {name} " in usage):
            command.children.setdefault(name, read(*path, name))
    return command


@cache
def program() -> Command:
    return read()


def problem(words: list[str], mention: bool = False) -> str:
    """The first thing about the words after `corral` that the program would refuse; empty if there is none. A mention
    in a sentence may leave out values (`corral run --adopt`) and have placeholders (`corral store VERB`)."""
    command, rest = program(), list(words)
    while command.children:
        if not rest or rest[0] in ("--help", "-h", "--version", "help") or (mention and rest[0].isupper()):
            return ""
        if rest[0] not in command.children:
            return f"{command.name} has no command {rest[0]!r}"
        command = command.children[rest.pop(0)]
    while rest:
        word = rest.pop(0)
        if word == "--" or (not word.startswith("-") and command.path in TAKES_A_COMMAND):
            return ""
        if not word.startswith("-") or word == "-":
            continue
        name, equals, _ = word.partition("=")
        if name not in command.options:
            return f"{command.name} has no option {name}"
        if command.options[name] and not equals:
            if not rest and not mention:
                return f"{command.name} {name} misses its value"
            rest = rest[1:]
    return ""


def unknown_options(words: list[str]) -> list[str]:
    """Long options among the words after `corral` in a template that its command does not have."""
    command = program()
    for word in words:
        if word not in command.children:
            break
        command = command.children[word]
    known = {option for one in command.walk() for option in one.options}
    named = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
    return [f"{command.name} has no option {one}" for one in named if one not in known]

"""Reads the documents as test_docs.py needs them: blocks, commands, links, anchors, and what documents.toml says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import tomllib
from support import ROOT

RULES = Path(__file__).parent / "documents.toml"
BLOCK = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^ *```[ \t]*$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "bash", "shell", "console")
# "Save this as `train.py`:" before a block makes the block that file.
SAVED = re.compile(r"\b[Ss]aved?\b.*?`([\w-]+)\.(\w+)`", re.DOTALL)
ENDINGS = {"python": "py", "csv": "csv", "toml": "toml", "yaml": "yaml"}
# A shell's operators, after which another command begins.
OPERATORS = frozenset({"|", "||", "&&", ";", "&", "(", ")", "|&"})
BEFORE_A_COMMAND = frozenset({"sudo", "nohup", "time", "exec", "then", "do", "else", "!", "{"})


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def executed() -> list[str]:
    """The documents whose sh blocks are executed."""
    wanted = [path for path in documents() if path.parent == Path("docs") or path == Path("README.md")]
    return [str(path) for path in wanted if any(block.is_shell for block in blocks(path))]


@dataclass(frozen=True)
class Block:
    document: str
    line: int  # the fence's
    language: str
    text: str
    saved_as: str = ""  # the file that the sentence before it says to save it as

    @property
    def is_shell(self) -> bool:
        return self.language in SHELL

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"

    def commands(self) -> list[str]:
        """Its lines, continuation lines joined; in a console block only the typed ones."""
        text = self.text.replace("\\\n", " ")
        if self.language != "console":
            return text.splitlines()
        return [line.lstrip()[2:] for line in text.splitlines() if line.lstrip().startswith("$ ")]


def blocks(path: Path | str) -> list[Block]:
    text = (ROOT / path).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n\n")[2]
        saved = SAVED.search(before)
        name = f"{saved[1]}.{saved[2]}" if saved and saved[2] == ENDINGS.get(match[2]) else ""
        lines = [line.removeprefix(match[1]) for line in match[3].splitlines()]
        line = text[: match.start()].count("\n") + 1
        found.append(Block(str(path), line, match[2], "\n".join(lines) + "\n", name))
    return found


# ---- What documents.toml says


@dataclass(frozen=True)
class Rules:
    """The rules by which one document's blocks are executed."""

    before: str = ""  # shell commands that come first
    after: str = ""  # shell commands that check what the blocks left
    path: list[str] = field(default_factory=list)  # directories of the checkout in front of PATH
    needs: list[str] = field(default_factory=list)  # files of the checkout without which the document is skipped
    cannot_run: dict[str, str] = field(default_factory=dict)  # regular expression of a command -> reason
    fails: dict[str, int] = field(default_factory=dict)  # regular expression of a command -> exit status

    def reason(self, command: str) -> str:
        """Why the command is not executed; empty: it is."""
        return next((reason for pattern, reason in self.cannot_run.items() if re.search(pattern, command)), "")

    def status(self, command: str) -> int:
        return next((status for pattern, status in self.fails.items() if re.search(pattern, command)), 0)


@cache
def all_rules() -> dict[str, Any]:
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def rules(document: str) -> Rules:
    own = dict(all_rules().get(document, {}))
    own["cannot_run"] = all_rules()["cannot_run"] | own.get("cannot_run", {})
    return Rules(**own)


# ---- Commands


def simple_commands(line: str) -> Iterator[list[str]]:
    """The commands of a line of shell, each as its words, without the variables in front of it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return  # a quote that a later line closes
    command: list[str] = []
    for word in [*words, ";"]:
        if word in OPERATORS:
            if command:
                yield command
            command = []
        elif command or not (word in BEFORE_A_COMMAND or re.match(r"\w+=", word)):
            command.append(word)


def corral_commands(text: str) -> Iterator[list[str]]:
    """The words after `corral` of every command in these lines."""
    for line in text.splitlines():
        for words in simple_commands(line):
            if Path(words[0]).name == "corral":
                yield words[1:]


# ---- Links


LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))):
        text = LINK.sub("]", heading).replace("[", "").replace("]", "")
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        repeated = sum(1 for one in found if one == name or re.fullmatch(rf"{re.escape(name)}-\d+", one))
        found.add(f"{name}-{repeated}" if repeated else name)
    return found


def links(path: Path) -> list[str]:
    """Files that a document links to, as written, without anchors."""
    targets = LINK.findall(without_code((ROOT / path).read_text(encoding="utf-8")))
    return [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:", target)]


def broken_links(path: Path) -> list[str]:
    """Links of a document to files that are not there and to headings that their page does not have."""
    found = []
    for target in LINK.findall(without_code((ROOT / path).read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (ROOT / path).parent / name if name else ROOT / path
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            found.append(f"{path}: {target}")
    return found

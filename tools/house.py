"""Measures the code base: how much there is, how it is cut, how it is worded. `python3 tools/house.py [SECTION...]`.

Sections: lines, functions, files, leaks, circles, names, comments, help, words; without one, all of them. Lines are
counted without blanks and comments; tests, their support and fakes count apart. Functions are found by the layout that
the formatters give: a body ends at the indentation where it began.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = {".cpp": "C++", ".h": "C++", ".ts": "TypeScript", ".tsx": "TypeScript", ".py": "Python"}
COUNTED = ("src", "web/src", "python/corral", "tools")
TEST = re.compile(
    r"(_test\.cpp|\.test\.tsx?|(^|/)(test|fake)_[^/]*|(^|/)(tests?|fakes?|faults)/.*|(^|/)conformance[^/]*)$"
)
LONG, TOO_LONG = 40, 70  # lines of a function
SHOWN = 12  # entries of a list

# clang-format's and Biome's layout: what opens a function at the end of a line, at any indentation.
NO_FUNCTION = r"(?!(?:namespace|struct|class|enum|union|extern|if|for|while|switch|else|do|try|using|return)\b)"
CPP_FUNCTION = re.compile(
    rf"^(?P<indent> {{0,3}}){NO_FUNCTION}[\w~].*\)[^;={{}}]*(?:: .*)?\{{$"
    r"|^ {4,12}(?!if|for|while|switch)[^\s=]+[^=]*\)(?: const| noexcept| override| final)* \{$"
)
TS_FUNCTION = re.compile(
    r"^(?P<indent> *)(?:export )?(?:default )?(?:async )?(?:function\b.*|(?:const|let) \w+.*=>"
    r"|(?:public |private |static |async )*(?!if|for|while|switch|catch)\w+\(.*\).*) \{$"
)
TYPE = re.compile(r"^ *(?:struct|class) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^;]*)?\s*\{", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
IMPORT = re.compile(r'\b(?:from|import)\s*\(?\s*"(\.[^"]+)"')
QUOTED = r"\"(?:[^\"\\]|\\.)*\""
SLASHES = re.compile(rf"(?P<code>(?:[^\"/]|{QUOTED}|/(?!/))*)//+<?(?: (?P<said>.*))?$")
HASH = re.compile(rf"(?P<code>(?:[^\"'#]|{QUOTED}|'(?:[^'\\]|\\.)*')*)#(?: (?P<said>.*))?$")
DOCSTRING = re.compile(r'(?P<code> *)[rf]?"""(?P<said>(?:(?!""").)*)')
SENTENCE = re.compile(r"(?<=[.?!])[)\"`']*\s+(?=[A-Z`\"(])")
RELATIVE = re.compile(r"(what|of|whether|whom?|whose|how|where|which)(?:ever)?\b", re.IGNORECASE)
SQL = re.compile(r"\bsql::")


@dataclass(frozen=True)
class Source:
    path: Path
    language: str
    is_test: bool
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def folder(self) -> str:
        parts = self.path.relative_to(ROOT).parts
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


@dataclass(frozen=True)
class Function:
    source: Source
    line: int
    length: int
    head: str


def tracked(*folders: str) -> list[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *folders]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@cache
def sources() -> tuple[Source, ...]:
    return tuple(
        Source(path, LANGUAGES[path.suffix], bool(TEST.search(str(path.relative_to(ROOT)))), path.read_text())
        for path in tracked(*COUNTED)
        if path.suffix in LANGUAGES
    )


def production(language: str) -> list[Source]:
    return [one for one in sources() if one.language == language and not one.is_test]


def code_lines(source: Source) -> int:
    """Lines that are neither blank nor nothing but comment or docstring."""
    if source.language == "Python":
        text = re.sub(r'(?ms)^( *)(?:"""|\'\'\').*?(?:"""|\'\'\')$', "", source.text)
        return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    text = re.sub(r"(?ms)^\s*/\*.*?\*/\s*$", "", source.text)
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//"))


def functions(source: Source) -> Iterator[Function]:
    pattern = TS_FUNCTION if source.language == "TypeScript" else CPP_FUNCTION
    lines = source.text.splitlines()
    for number, line in enumerate(lines):
        found = pattern.match(line)
        if not found:
            continue
        indent = head_indent(lines, number, found)
        closing = re.compile(rf"^ {{{indent}}}\}}")
        end = next((i for i in range(number + 1, len(lines)) if closing.match(lines[i])), None)
        if end is not None:
            yield Function(source, number + 1, end - number + 1, line.strip())


def head_indent(lines: list[str], number: int, found: re.Match[str]) -> int:
    """Indentation of the line where the function's head begins, of which `number` may be a continuation."""
    indent = found.groupdict().get("indent")
    if indent is not None:
        return len(indent)
    at = number
    while at > 0 and len(lines[at]) - len(lines[at].lstrip()) >= 4 and not lines[at - 1].endswith((";", "{", "}")):
        at -= 1
    return len(lines[at]) - len(lines[at].lstrip())


def show_lines() -> None:
    counted: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for source in sources():
        row = counted[source.language, source.folder]
        row[2 if source.is_test else 1] += code_lines(source)
        row[0] += 1
    print(f"{'language':<12}{'folder':<24}{'files':>7}{'code':>9}{'tests':>9}")
    for language in dict.fromkeys(LANGUAGES.values()):
        rows = {folder: row for (of, folder), row in sorted(counted.items()) if of == language}
        for folder, row in rows.items():
            print(f"{language:<12}{folder:<24}{row[0]:>7}{row[1]:>9,}{row[2]:>9,}")
        files, code, tests = (sum(row[i] for row in rows.values()) for i in range(3))
        print(f"{language:<12}{'all':<24}{files:>7}{code:>9,}{tests:>9,}")


def show_functions() -> None:
    for language in ("C++", "TypeScript"):
        found = [one for source in production(language) for one in functions(source)]
        lengths = sorted(one.length for one in found)
        long = sum(1 for length in lengths if length > LONG)
        most = sorted((one for one in found if one.length > TOO_LONG), key=lambda one: -one.length)
        print(
            f"{language}: {len(found):,} functions, median {statistics.median(lengths):.0f} lines, "
            f"{100 * long / len(found):.1f} % over {LONG}, {len(most)} over {TOO_LONG}"
        )
        for one in most[:SHOWN]:
            print(f"  {one.length:>4}  {one.source.name}:{one.line}  {one.head[:70]}")


def show_files() -> None:
    for language in dict.fromkeys(LANGUAGES.values()):
        sizes = sorted(((len(one.text.splitlines()), one.name) for one in production(language)), reverse=True)
        small = sum(1 for size, _ in sizes if size < 100)
        print(f"{language}: {len(sizes)} files, {small} below 100 lines; the longest:")
        for size, name in sizes[:5]:
            print(f"  {size:>5}  {name}")


def show_leaks() -> None:
    leaks = {
        one.name: len(SQL.findall(one.text))
        for one in production("C++")
        if not one.name.startswith(("src/store/", "src/compat/")) and SQL.search(one.text)
    }
    print(f"sql:: outside of store and compat: {sum(leaks.values())} in {len(leaks)} files")
    for name, number in sorted(leaks.items(), key=lambda item: -item[1])[:SHOWN]:
        print(f"  {number:>4}  {name}")


def room_of(name: str) -> str:
    return str(Path(name).parent)


def pages_imports() -> dict[str, set[str]]:
    """The files that each file of the page imports, for types alone and late as well."""
    pages = {one.name: one for one in production("TypeScript")}
    uses: dict[str, set[str]] = {}
    for name, one in pages.items():
        paths = [os.path.normpath(f"{room_of(name)}/{path}") for path in IMPORT.findall(one.text)]
        uses[name] = {path + end for path in paths for end in ("", ".ts", ".tsx") if path + end in pages}
    return uses


def by_room(uses: dict[str, set[str]]) -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, used in uses.items():
        rooms[room_of(name)] |= {room_of(one) for one in used} - {room_of(name)}
    return rooms


def reached(uses: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = list(uses.get(start, ()))
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += uses.get(one, ())
    return found


def circles(uses: dict[str, set[str]]) -> list[list[str]]:
    """Those that use themselves through each other, each circle once."""
    to = {one: reached(uses, one) for one in uses}
    return [
        list(circle)
        for circle in sorted({tuple(sorted(b for b in to if a in to[b] and b in to[a])) for a in to})
        if circle
    ]


def show_circles() -> None:
    uses: dict[str, set[str]] = defaultdict(set)
    for one in production("C++"):
        room = room_of(one.name.removeprefix("src/"))
        uses[room] |= {room_of(included) for included in INCLUDE.findall(one.text)} - {room}
    pairs = sorted({tuple(sorted((a, b))) for a, rooms in uses.items() for b in rooms if a in uses.get(b, ())})
    print(f"folders that include each other: {len(pairs)}")
    for pair in pairs:
        print(f"  {' <-> '.join(pair)}")
    imports = pages_imports()
    for what, found in (("folders", circles(by_room(imports))), ("files", circles(imports))):
        print(f"circles of the page's {what}: {len(found)}")
        for circle in found:
            print(f"  {', '.join(one.removeprefix('web/src/') for one in circle)}")


def show_names() -> None:
    declared: dict[str, set[str]] = defaultdict(set)
    for one in production("C++"):
        for name in TYPE.findall(one.text):
            declared[name].add(one.name)
    several = sorted(((len(files), name) for name, files in declared.items() if len(files) > 2), reverse=True)
    print(f"types whose name is declared in three files or more: {len(several)}")
    print("  " + ", ".join(f"{name} {number}" for number, name in several[: 2 * SHOWN]))
    calls: dict[str, int] = defaultdict(int)
    for one in production("C++"):
        for function in functions(one):
            if named := re.search(r"(\w+)\(", function.head):
                calls["*_of" if named[1].endswith("_of") else named[1]] += 1
    most = sorted(((number, name) for name, number in calls.items() if number > 5), reverse=True)
    print("functions defined most often under one name:")
    print("  " + ", ".join(f"{name} {number}" for number, name in most[: 2 * SHOWN]))


def comment_of(line: str, language: str) -> re.Match[str] | None:
    """The comment of a line: groups `code` before it and `said` in it."""
    if language == "Python":
        return DOCSTRING.match(line) or HASH.match(line)
    return SLASHES.match(line)


def comments(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Every comment with the number of its first line. Lines of comment below each other are one comment."""
    block: list[str] = []
    first, inside = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = None if inside else comment_of(line, language)
        said = (found["said"] or "").strip() if found else ""
        if language == "Python" and line.count('"""') == 1:
            inside = not inside
        if block and (not said or (found and found["code"].strip())):
            yield first, " ".join(block)
            block = []
        if said:
            first = first if block else number
            block.append(said)


def headless(comment: str) -> Iterator[tuple[str, str]]:
    """The sentences of a comment that begin with a relative word and ask nothing, each with that word."""
    for number, sentence in enumerate(SENTENCE.split(comment)):
        word = RELATIVE.match(sentence)
        if word and "?" not in sentence and (number == 0 or sentence[0].isupper()):
            yield word[1].capitalize(), sentence


def show_comments() -> None:
    begun: dict[str, int] = defaultdict(int)
    where: dict[str, int] = defaultdict(int)
    for one in sources():
        for _, comment in comments(one.text, one.language):
            for word, _ in headless(comment):
                begun[word] += 1
                where[one.name] += 1
    print(f"sentences of comments that begin with a relative word: {sum(begun.values())}")
    print("  " + ", ".join(f"{word} {number}" for word, number in sorted(begun.items(), key=lambda item: -item[1])))
    for name, number in sorted(where.items(), key=lambda item: -item[1])[:5]:
        print(f"  {number:>4}  {name}")


def help_of(program: Path, *words: str) -> str:
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=30, check=False).stdout


def help_lines() -> list[tuple[str, int, str]]:
    """Every line of every command's help with its command and number; empty while the program is not built."""
    program = ROOT / "build/release/corral-program"
    commands = re.findall(r"^\| \[`(\w+)`\]", (ROOT / "docs/cli.md").read_text(), re.MULTILINE)
    return [
        (command, number, line)
        for command in (commands if program.exists() else ())
        for number, line in enumerate(help_of(program, command).splitlines(), 1)
    ]


def show_help() -> None:
    lines = [(len(line), command, line) for command, _, line in help_lines()]
    if not lines:
        print("help: not measured, build/release/corral-program is not built")
        return
    wide = sorted((one for one in lines if one[0] > 100), reverse=True)
    longest = max(lines, default=(0, "", ""))
    print(f"help: {len(lines)} lines, {len(wide)} over 100 columns, the longest {longest[0]} (corral {longest[1]})")


def show_words() -> None:
    documents = [*tracked("docs"), *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))]
    counted = sorted(
        ((len(one.read_text().split()), one.name) for one in documents if one.suffix == ".md"), reverse=True
    )
    print(f"words: {sum(number for number, _ in counted):,} in {len(counted)} documents")
    for number, name in counted:
        print(f"  {number:>6,}  {name}")


SECTIONS: dict[str, Callable[[], None]] = {
    "lines": show_lines,
    "functions": show_functions,
    "files": show_files,
    "leaks": show_leaks,
    "circles": show_circles,
    "names": show_names,
    "comments": show_comments,
    "help": show_help,
    "words": show_words,
}


def main(wanted: list[str]) -> int:
    if unknown := [name for name in wanted if name not in SECTIONS]:
        print(f"house: unknown section '{unknown[0]}'; known: {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    for name in wanted or SECTIONS:
        print(f"# {name}")
        SECTIONS[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

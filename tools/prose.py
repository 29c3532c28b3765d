"""Checks the wording of comments, messages, help and documents: `python3 tools/prose.py [PATH...]`.

Prints `file:line: rule: text` for each finding and exits with 1 if there is one. The rules:
  phrase     a phrase of PHRASES; the text names the usual one
  comment    a sentence of a comment begins with a relative word, and asks nothing
  error      an error begins with a capital letter, or ends in a full stop although it is one sentence
  help       a line of help over 100 columns, or a second line for one option (needs build/release)
  line       a line of a document over 120 characters, outside of tables, code and links
  paragraph  a paragraph of a document with more than four sentences
  sentence   a sentence of a document with more than 30 words
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import house

COLUMNS = 120  # of a document's line
SENTENCES = 4  # of a paragraph
WORDS = 30  # of a sentence
HELP_COLUMNS = 100
LANGUAGES = {**house.LANGUAGES, ".mjs": "TypeScript"}
GENERATED = ("docs/metrics.md", "tools/pip-", "web/package-lock.json")
THIS = ("tools/prose.py", "tools/test_prose.py")

# Phrases of the project's old dialect, as regular expressions of lower case, and the usual words.
PHRASES = {
    r"hangs? in the air": "is orphaned",
    r"brought away": "uploaded",
    r"(a )?second (one|ctrl-c) hurries": "a second Ctrl-C escalates",
    r"who (was|were|is|are) beside": "which runs overlapped",
    r"the page's ways through": "paging through",
    r"(is|are) there no more": "unknown, or removed",
    r"\bleft aside": "ignored",
    r"\b(put|puts|putting) aside": "rejected, or kept for later",
    r"nobody (took|takes) (it|them) up": "no supervisor answered",
    r"\b(took|takes|take) (it|them) up\b": "adopts, or answers",
    r"there is nothing at\b": "no route",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"measures, keeps and shows": "records and charts",
    r"what is to be run": "missing script or command",
    r"\b(is|are) wanted\b": "expected, or must be",
    r"words? too many\b": "unexpected argument",
    r"is no database of\b": "not a SQLite database",
    r"nobody (is )?(here )?to ask": "not a terminal",
    r"say what may go": "give --older-than or --keep-bytes",
    r"ticks? (came |were )?late\b": "late samples",
    r"passed on as written": "no GPU found",
    r"nothing is called so": "no matches",
    r"too little was measured": "not enough data",
    r"shows everything again": "double-click to reset",
    r"folded away": "hidden",
    r"\bwas told of\b": "with this ID",
    r"collecting cost": "collector overhead",
    r"least / greatest": "min / max",
    r"this chart alone": "independent zoom",
    r"(is|are) in the clipboard": "copied",
    r"has to stand, not": "expected X, found Y",
    r"what (is|was) said of": "name the thing",
    r"\bwho adopts\b": "the adopting supervisor",
    r"what was put aside": "rejected frames",
    r"whoever(?! reaches)": "the process, or the user, that",
    r"\bgoes without a word\b": "silently",
}
PHRASE = re.compile(r"\b(?:" + "|".join(PHRASES) + ")")

CPP_ERROR = re.compile(r'\bfail\(\s*Code::k\w+,\s*(?:fmt::format\(\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)')
PYTHON_ERROR = re.compile(r'\braise \w*(?:Error|Exception|Exit)\(\s*f?((?:f?"(?:[^"\\]|\\.)*"\s*)+)\)')
CAPITAL = re.compile(r"(?:A|[A-Z][a-z]+)\b")
NAMES = {"Arrow", "Content", "Ctrl", "Docker", "Level", "Linux", "Nvidia", "Parquet", "Prometheus", "Python"}
# Their errors are MLflow's, word for word.
MLFLOW = ("src/mlflow/", "src/store/tracking/", "src/compat/", "src/server/mlflow/")

LINK = re.compile(r"\]\([^)]*\)|<?https?://\S+>?")
CODE = re.compile(r"`+[^`]*`+")
ITEM = re.compile(r"\s*(?:[-*] |\d+\. |#+ )")


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


def phrases(file: str, text: str, _language: str | None) -> Iterator[Finding]:
    for found in PHRASE.finditer(text.lower()):
        usual = next(usual for phrase, usual in PHRASES.items() if re.fullmatch(phrase, found[0]))
        yield Finding(file, text.count("\n", 0, found.start()) + 1, "phrase", f"'{found[0]}'; usual: {usual}")


def comments(file: str, text: str, language: str | None) -> Iterator[Finding]:
    for number, comment in house.comments(text, language) if language else ():
        for _, sentence in house.headless(comment):
            yield Finding(file, number, "comment", sentence)


def errors(file: str, text: str, language: str | None) -> Iterator[Finding]:
    pattern = {"C++": CPP_ERROR, "Python": PYTHON_ERROR}.get(language or "")
    for found in pattern.finditer(text) if pattern and not file.startswith(MLFLOW) else ():
        message = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))
        word = CAPITAL.match(message)
        one_sentence = not re.search(r"[.?!] ", message)
        if (word and word[0] not in NAMES) or (one_sentence and re.search(r"[^.]\.$", message)):
            yield Finding(file, text.count("\n", 0, found.start()) + 1, "error", message)


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a document outside of code and tables; each of those is one empty line."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        apart = fence or fenced or line.lstrip().startswith(("|", "<")) or line.startswith("    ")
        yield number, "" if apart else line


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and headings, each with its first line, without addresses and the text of code."""
    first, block = 0, ""
    for number, line in [*prose_lines(text), (0, "")]:
        if block and (not line.strip() or ITEM.match(line)):
            yield first, CODE.sub("`code`", LINK.sub("]", block))
            block = ""
        if line.strip():
            first = first if block else number
            block += " " + ITEM.sub("", line, count=1).strip()


def documents(file: str, text: str, _language: str | None) -> Iterator[Finding]:
    if not file.endswith(".md"):
        return
    for number, line in prose_lines(text):
        if len(LINK.sub("]", line)) > COLUMNS:
            yield Finding(file, number, "line", f"{len(line)} characters: {line.strip()[:60]}")
    for number, paragraph in paragraphs(text):
        sentences = house.SENTENCE.split(paragraph.strip())
        if len(sentences) > SENTENCES:
            yield Finding(file, number, "paragraph", f"{len(sentences)} sentences: {sentences[0][:60]}")
        for sentence in sentences:
            words = sum(1 for word in sentence.split() if re.search(r"\w", word))
            if words > WORDS:
                yield Finding(file, number, "sentence", f"{words} words: {sentence[:60]}")


def help_texts(lines: list[tuple[str, int, str]]) -> Iterator[Finding]:
    option = False
    for command, number, line in lines:
        file = f"help/{command}"
        if len(line) > HELP_COLUMNS:
            yield Finding(file, number, "help", f"{len(line)} columns: {line.strip()[:60]}")
        elif option and re.match(r" {8,}\S", line):
            yield Finding(file, number, "help", f"a second line for one option: {line.strip()[:60]}")
        option = bool(re.match(r" +-", line)) or (option and line.startswith(" " * 8))


RULES: tuple[Callable[[str, str, str | None], Iterator[Finding]], ...] = (phrases, comments, errors, documents)


def findings_of(file: str, text: str) -> list[Finding]:
    """All findings in a text as if it were that file's."""
    language = LANGUAGES.get(Path(file).suffix)
    return sorted(found for rule in RULES for found in rule(file, text, language))


def checked_files(paths: list[str]) -> list[Path]:
    return [
        path
        for path in house.tracked(*paths)
        if (path.suffix in LANGUAGES or path.suffix in {".md", ".sh", ".txt"} or path.name == "dev")
        and not str(path.relative_to(house.ROOT)).startswith((*GENERATED, *THIS, "tests/fixtures/", "tests/golden/"))
    ]


def main(paths: list[str]) -> int:
    found = [
        one
        for path in checked_files(paths)
        for one in findings_of(str(path.relative_to(house.ROOT)), path.read_text(encoding="utf-8"))
    ]
    if not paths:
        found += help_texts(house.help_lines())
    print("\n".join(str(one) for one in found) if found else "prose holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

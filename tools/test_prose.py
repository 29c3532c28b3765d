"""Tests of prose.py: each rule finds what it is for, and leaves alone what is allowed."""

from __future__ import annotations

import prose


def rules_of(file: str, text: str) -> list[str]:
    return [one.rule for one in prose.findings_of(file, text)]


def test_an_old_phrase_is_found_with_the_usual_one() -> None:
    (found,) = prose.findings_of("src/a.cpp", 'say("K=V is wanted");\n')
    assert str(found) == "src/a.cpp:1: phrase: 'is wanted'; usual: expected, or must be"


def test_comments_may_not_begin_with_a_relative_word() -> None:
    assert rules_of("src/a.h", "// What a run is.\nint a;\n") == ["comment"]
    assert rules_of("src/a.h", "int a;  // of one frame\n") == ["comment"]
    assert rules_of("src/a.h", "// Ends a run. Whether it\n// failed is returned.\n") == ["comment"]
    assert rules_of("tools/a.py", '"""How it goes."""\na = "# Which"  # Who\n') == ["comment", "comment"]


def test_comments_that_ask_or_go_on_are_allowed() -> None:
    assert rules_of("src/a.h", "// What happens next?\n") == []
    assert rules_of("src/a.h", "// The run, and\n// what it printed.\nint a;  // bytes of one frame\n") == []
    assert rules_of("src/a.cpp", 'auto a = "https://x // What";\n') == []
    assert rules_of("tools/a.py", '"""Runs it.\n\nWhat is inside is text.\n"""\n') == []


def test_errors_begin_small_and_end_without_a_full_stop() -> None:
    assert rules_of("src/a.cpp", 'return fail(Code::kIo, "Cannot open it");') == ["error"]
    assert rules_of("src/a.cpp", 'return fail(Code::kIo, fmt::format("no file "\n  "{}.", a));') == ["error"]
    assert rules_of("src/a.cpp", 'return fail(Code::kIo, "no file. Give one.");') == []
    assert rules_of("src/a.cpp", 'return fail(Code::kIo, "SQLite is missing");') == []
    assert rules_of("python/a.py", 'raise ValueError("A name is empty")') == ["error"]


def test_documents_have_short_lines_paragraphs_and_sentences() -> None:
    assert rules_of("docs/a.md", "word " * 25 + "\n") == ["line"]
    assert rules_of("docs/a.md", "A " + "b\n" * 31 + ".\n") == ["sentence"]
    assert rules_of("docs/a.md", "One. Two. Three. Four. Five.\n") == ["paragraph"]
    assert rules_of("docs/a.md", "One. Two. Three. Four.\n- Five. Six.\n") == []
    assert rules_of("docs/a.md", f"{'a ' * 16}.\n`b` {'a ' * 16}.\n") == []


def test_tables_code_and_links_may_be_long() -> None:
    long = "word " * 50
    assert rules_of("docs/a.md", f"| {long} |\n\n```\n{long}\n```\n[a](https://{'a' * 150})\n") == []


def test_help_has_one_short_line_for_each_option() -> None:
    lines = ["Options:", "  --json   prints JSON", " " * 30 + "and nothing else", "x" * 101]
    found = prose.help_texts([("ls", number, line) for number, line in enumerate(lines, 1)])
    assert [(one.file, one.line) for one in found] == [("help/ls", 3), ("help/ls", 4)]

"""docs/troubleshooting.md quotes messages as they are printed: every quoted part is in the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support import ROOT

SOURCES = ("src", "python", "web/src")
SUFFIXES = {".cpp", ".h", ".py", ".ts", ".tsx"}
SHORTEST = 6  # letters of a part
# Messages of the shell, of Python and of Docker.
FOREIGN = {"corral: command not found", "ModuleNotFoundError", "No module named 'corral'"}
FOREIGN |= {"Cannot connect to the Docker daemon", "externally-managed-environment"}


def messages() -> Iterator[str]:
    """The code spans in front of the colon of each list item."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8").replace("\n  ", " ")
    for item in re.findall(r"^- (`.*)$", text, re.MULTILINE):
        quoted = re.match(r"(?:`[^`]+`(?: with | \(\d+\)|, )?)+", item)
        assert quoted, item
        yield from re.findall(r"`([^`]+)`", quoted[0])


@pytest.fixture(scope="module")
def printed() -> str:
    """The sources without tests and comments, with the pieces of each text joined."""
    files = [
        path
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and not re.search(r"[._]test\.|(^|/)test_", path.relative_to(ROOT).as_posix())
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*sorted(files), ROOT / "dev"])
    text = re.sub(r"^\s*(//|#(?!include)).*$", "", text, flags=re.MULTILINE)
    return re.sub(r'"\s*\n\s*f?"', "", text).replace('\\"', '"')


def is_printed(part: str, printed: str) -> bool:
    """True for a text of the sources, and for two of a few words that a message joins."""
    pairs = [(part[: gap.start()].strip(" :;"), part[gap.end() :].strip(" :;")) for gap in re.finditer(r"[ :;]+", part)]
    return part in printed or any(min(map(len, pair)) >= SHORTEST and all(p in printed for p in pair) for pair in pairs)


@pytest.mark.parametrize("message", sorted(set(messages()) - FOREIGN))
def test_a_quoted_message_is_printed(message: str, printed: str) -> None:
    parts = [part.strip(" :;'") for part in re.split(r"…|\b\d+\b", message)]
    missing = [part for part in parts if len(part) >= SHORTEST and not is_printed(part, printed)]
    assert not missing, f"{message}: no source has {missing}"

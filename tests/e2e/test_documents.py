"""`corral help` and the server show the documents of the repository; README's files are in examples/."""

from __future__ import annotations

import os
import pty
import re
import subprocess

import pytest
from support import BINARY, ROOT, Corral


def help_of(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BINARY, "help", *words], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )


def test_a_topic_is_its_document() -> None:
    assert help_of("install").stdout == (ROOT / "docs/install.md").read_text()
    assert help_of("readme").stdout == (ROOT / "README.md").read_text()


def test_a_command_is_what_the_documents_say_about_it() -> None:
    said = help_of("serve").stdout
    assert said.startswith("## corral serve\n")
    assert "--allow-host NAME" in said
    assert "## corral demo" not in said
    assert help_of("store", "check").stdout.startswith("## corral store\n")
    both = help_of("collocation").stdout
    assert both.startswith((ROOT / "docs/collocation.md").read_text())
    assert "\n## corral collocation\n" in both


def test_words_are_searched() -> None:
    """As they stand, else all of them in a section, in any order."""
    phrase = help_of("symbolic", "links").stdout
    assert re.search(r"^corral help \w+: .+\n    .*symbolic links", phrase, re.MULTILINE | re.IGNORECASE)
    words = help_of("accumulation", "leftover", "GRADIENT").stdout
    assert words.startswith("corral help capture: Frameworks\n")


def test_what_no_document_has_is_an_error() -> None:
    done = help_of("zebra", "crossing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "corral help: no document has 'zebra crossing'; corral help lists them\n"


def test_help_alone_lists_commands_and_documents() -> None:
    said = help_of().stdout
    assert said.startswith("Corral ")
    listed = said.partition("\nDocuments: ")[2].split()
    assert set(listed) >= {path.stem for path in ROOT.glob("docs/*.md")}


def test_at_a_terminal_the_pager_shows_it() -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "PAGER": "sed s/^/paged:/", "NO_COLOR": ""}
    done = subprocess.Popen([BINARY, "help", "uninstall"], stdout=follower, env=environment)
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux's end of a terminal
            break
        if not piece:
            break
        said += piece
    assert done.wait(30) == 0
    assert said.startswith(b"paged:\x1b[1m# Uninstall")


def test_a_pager_that_cannot_start_loses_nothing() -> None:
    leader, follower = pty.openpty()
    done = subprocess.run([BINARY, "help", "uninstall"], stdout=follower, env={**os.environ, "PAGER": "no-such-pager"})
    os.close(follower)
    assert done.returncode == 0
    assert b"# Uninstall" in os.read(leader, 4096)


def test_the_server_has_them(corral: Corral) -> None:
    corral.serve()
    documents = corral.get("/docs.json")["documents"]
    connection = corral.connection()
    connection.request("GET", "/docs/install")
    assert b"<title>" in connection.getresponse().read()
    connection.close()
    files = {document["file"]: document["text"] for document in documents}
    assert files["docs/security.md"] == (ROOT / "docs/security.md").read_text()


@pytest.mark.parametrize(("language", "name"), [("python", "train.py"), ("csv", "plan.csv")])
def test_the_files_of_the_readme_are_among_the_examples(language: str, name: str) -> None:
    block = re.search(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    assert block[1] == (ROOT / "examples" / name).read_text()

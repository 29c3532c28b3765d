"""The documents say what the program does: their sh blocks are executed, their commands, options and links exist.

Each document is executed in a home of its own that has `train.py`, `examples/` and `build/release/`, and two runs if
its first command reads a store. A block whose paragraph says "save this as `NAME`" becomes that file. documents.toml
says what else a document needs, and which commands cannot be executed in a test.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command_help import problem, program, unknown_options
from documents import (
    Block,
    Rules,
    all_rules,
    blocks,
    broken_links,
    corral_commands,
    documents,
    executed,
    links,
    rules,
)
from support import BUILD, ROOT, Corral, free_port

READS_A_STORE = frozenset({"diff", "export", "ls", "rerun", "rm", "show", "store"})
MAKES_A_STORE = frozenset({"import", "run"})
TWO_RUNS = "for each in 1 2; do corral run --quiet train.py >train.out; done"
DOCUMENT_S = 360  # seconds that the blocks of one document may take
OUTPUT_TAIL = 4000

# The reader's own script, which takes any arguments.
TRAINING = """
    import random
    import corral

    corral.params({"lr": 0.1, "batch": 32})
    for epoch in range(2):
        with corral.phase("epoch", index=epoch):
            for step in range(20):
                corral.log("loss", 1 / (1 + epoch) + random.random() / 20, step=epoch * 20 + step)
    print("done")
"""

# Ends a foreground server where a reader presses Ctrl-C: at the next `corral serve`, or at the end of the document. One
# that a run has started ends there, too.
PRELUDE = """
set -e -o pipefail
corral() {
  if [ "$1" != serve ] || [[ " $* " == *" --stop "* || " $* " == *" --help "* ]]; then command corral "$@"; return; fi
  if [ -n "$SERVER" ] && kill -INT "$SERVER" 2>/dev/null; then wait "$SERVER" || true; fi
  command corral serve --stop >"$HOME/stop.log" 2>&1 || true
  : >"$HOME/serve.log"
  command corral "$@" >>"$HOME/serve.log" 2>&1 &
  SERVER=$!
  until grep -qE 'https?://' "$HOME/serve.log"; do
    kill -0 "$SERVER" 2>/dev/null || { cat "$HOME/serve.log" >&2; return 1; }
    sleep 0.05
  done
}
"""


def furnish(corral: Corral, own: Rules) -> dict[str, str]:
    """Puts into the home what every document may use; returns the environment of its blocks."""
    home = corral.home
    (home / "build").mkdir()
    (home / "build" / "release").symlink_to(BUILD)
    shutil.copytree(ROOT / "examples", home / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    corral.script("train.py", TRAINING)
    shutil.copy(ROOT / "dev", home / "dev")
    path = [*(str(ROOT / one) for one in own.path), str(BUILD), str(ROOT / ".venv" / "bin"), "/usr/bin", "/bin"]
    return corral.environment | {
        "PATH": ":".join(path),
        "SERVER": "",
        "FIXTURES": str(ROOT / "tests" / "fixtures"),
        "CORRAL_LISTEN": f"127.0.0.1:{free_port()}",
        # One thread of MLflow's reads a variable of its telemetry while another one takes it away.
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


def reads_first(document: str) -> bool:
    """True if the blocks read a store before they make one."""
    lines = "\n".join(line for block in blocks(document) if block.is_shell for line in block.commands())
    called = [words[0] for words in corral_commands(lines) if words]
    return next((one for one in called if one in READS_A_STORE | MAKES_A_STORE), "") in READS_A_STORE


def script(document: str, own: Rules, port: str) -> str:
    """All blocks of a document as one script, as one reader types them into one shell."""
    parts = [PRELUDE, own.before, TWO_RUNS if reads_first(document) else ""]
    for block in blocks(document):
        if block.saved_as:
            parts.append(f"cat >{block.saved_as} <<'END OF THE BLOCK'\n{block.text}END OF THE BLOCK")
        elif block.is_shell:
            parts.append(f": {block.place}")
            parts += [as_executed(command, own) for command in block.commands()]
    return re.sub(r":5000\b", f":{port}", "\n".join([*parts, own.after]))


def as_executed(command: str, own: Rules) -> str:
    reason = own.reason(command)
    if reason:
        return f": not executed: {shlex.quote(reason)}"
    status = own.status(command)
    return f"{{ {command}\n}} || [ $? = {status} ]" if status else command


@pytest.mark.parametrize("document", executed())
def test_the_blocks_run_as_they_are(corral: Corral, document: str) -> None:
    own = rules(document)
    for path in own.needs:
        if not (ROOT / path).exists():
            pytest.skip(f"{path} is not there")
    environment = furnish(corral, own)
    text = script(document, own, environment["CORRAL_LISTEN"].partition(":")[2])
    output = corral.home / "output"
    with output.open("wb") as stream:
        shell = subprocess.Popen(
            ["bash", "-x", "-c", text],
            env=environment,
            cwd=corral.home,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = shell.wait(DOCUMENT_S)
        except subprocess.TimeoutExpired:
            shell.kill()
            status = shell.wait()
    said = output.read_text(errors="replace")
    assert status == 0, f"{last_block(said, document)} fails with exit status {status}:\n{said[-OUTPUT_TAIL:]}"


def last_block(said: str, document: str) -> str:
    reached: list[str] = re.findall(rf"^\++ : ({re.escape(document)}:\d+)$", said, re.MULTILINE)
    return reached[-1] if reached else document


# ---- Commands that are not executed


def shell_blocks() -> list[Block]:
    return [block for path in documents() for block in blocks(path) if block.is_shell]


def test_every_corral_command_in_a_block_is_right() -> None:
    wrong = []
    for block in shell_blocks():
        for words in corral_commands("\n".join(block.commands())):
            said = problem(words)
            if said:
                wrong.append(f"{block.place}: {shlex.join(['corral', *words])}: {said}")
    assert not wrong, "\n".join(wrong)


def test_every_verb_of_dev_exists() -> None:
    cases = (ROOT / "dev").read_text().partition("\ncase $verb in\n")[2]
    verbs = set(re.findall(r"^  (\w+)\)", cases, re.MULTILINE))
    assert {"setup", "build", "test"} <= verbs
    used = [(block.place, verb) for block in shell_blocks() for verb in re.findall(r"\./dev (\w+)", block.text)]
    assert not [(place, verb) for place, verb in used if verb not in verbs]
    told = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    for text, pattern in [(told, r"^  (\w+)"), ((ROOT / "CONTRIBUTING.md").read_text(), r"`\./dev (\w+)")]:
        assert verbs - {"help"} <= set(re.findall(pattern, text, re.MULTILINE))


def test_blocks_of_commands_say_that_they_are() -> None:
    """A fence without `sh` would keep commands from being executed."""
    plain = [block for path in documents() for block in blocks(path) if not block.is_shell]
    hidden = [
        f"{block.place}: {line}"
        for block in plain
        for line in block.text.splitlines()
        if re.match(r"(\$ )?corral [a-z]+( |$)", line) and block.language == ""
    ]
    assert not hidden, "\n".join(hidden)


def test_what_the_rules_name_is_there() -> None:
    """A pattern that no command matches, and a document that is gone, belong to a text that has changed."""
    stale = []
    for document, own in all_rules().items():
        if document == "cannot_run":
            continue
        if not (ROOT / document).exists():
            stale.append(document)
        elif document in executed():
            commands = [line for block in blocks(document) if block.is_shell for line in block.commands()]
            patterns = [*own.get("cannot_run", {}), *own.get("fails", {})]
            stale += [f"{document}: {one}" for one in patterns if not any(re.search(one, line) for line in commands)]
    assert not stale, "\n".join(stale)


# ---- The command line's page


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def sections(text: str) -> dict[tuple[str, ...], str]:
    """The sections of docs/cli.md by command; (): the text before the first, which belongs to every command."""
    parts = re.split(r"^## corral ([a-z ]+)$", text, flags=re.MULTILINE)
    return {(): parts[0]} | {tuple(name.split()): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def page_sections() -> dict[tuple[str, ...], str]:
    return sections((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))


def named(text: str, blocks_too: bool = True) -> set[str]:
    """Long options in a text's code."""
    fences = "\n".join(re.findall(r"```.*?```", text, re.DOTALL)) if blocks_too else ""
    spans = re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return set(OPTION.findall("\n".join([fences, *spans])))


def test_every_option_is_on_the_page_of_the_command_line() -> None:
    pages = page_sections()
    missing = []
    for command in program().walk():
        own = next((pages[command.path[:n]] for n in (2, 1) if command.path[:n] in pages), "")
        known = named(own + pages[()])
        missing += [f"{command.name} {one}" for one in command.options if one.startswith("--") and one not in known]
    assert not missing, "\n".join(missing)


def test_every_option_on_the_page_of_the_command_line_exists() -> None:
    everything = {option for command in program().walk() for option in command.options}
    everything |= {"--some-name", "--owner"}  # in an example, and createdb's
    invented = []
    for path, text in page_sections().items():
        below = [one for one in program().walk() if path and one.path[: len(path)] == path]
        assert below or not path, f"docs/cli.md has a section for corral {' '.join(path)}, which does not exist"
        # A section names options of others too: "corral serve (`corral serve --stop` first)".
        invented += [f"corral {' '.join(path)}: {one}" for one in sorted(named(text, blocks_too=False) - everything)]
    assert not invented, "\n".join(invented)


def test_every_command_has_a_section() -> None:
    pages = page_sections()
    assert not [
        one.name for one in program().walk() if len(one.path) == 1 and not any(p[:1] == one.path for p in pages)
    ]


def test_every_command_may_have_a_section_in_the_configuration(corral: Corral) -> None:
    without = corral("ls", "runs", status=None).stderr
    corral.configure("".join(f"[{one.path[0]}]\n" for one in program().walk() if len(one.path) == 1))
    assert corral("ls", "runs", status=None).stderr == without


@pytest.mark.parametrize("document", [str(path) for path in documents()])
def test_commands_in_sentences_exist(document: str) -> None:
    """Code spans: commands such as `corral ls runs --limit 5`, and templates such as `corral ls KIND [--limit N]`."""
    text = (ROOT / document).read_text(encoding="utf-8")
    wrong = []
    for span in re.findall(r"`(corral [a-z][^`\n]*)`", text):
        if re.search(r"[\[|…]|\.\.\.", span):
            wrong += [f"`{span}`: {said}" for said in unknown_options(re.split(r"[\s\[\]|…]+", span)[1:])]
        else:
            wrong += [f"`{span}`: {said}" for words in corral_commands(span) if (said := problem(words, mention=True))]
    assert not wrong, "\n".join(wrong)


# ---- Links


def test_links_lead_somewhere() -> None:
    broken = [one for path in documents() for one in broken_links(path)]
    assert not broken, "\n".join(broken)


def test_every_document_is_linked() -> None:
    linked = {str((ROOT / path).parent / target) for path in documents() for target in links(path)}
    named = {os.path.normpath(target) for target in linked}
    assert not [path for path in documents() if path.parent == Path("docs") and str(ROOT / path) not in named]

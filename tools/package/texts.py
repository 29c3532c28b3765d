"""Man pages and completions of bash, zsh and fish, from what `--help` of each command lists."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# Places below the prefix.
MAN = "share/man/man1"
BASH = "share/bash-completion/completions/corral"
ZSH = "share/zsh/vendor-completions/_corral"
FISH = "share/fish/vendor_completions.d/corral.fish"

OPTION = re.compile(r"^(?:-\w, )?(--[a-z-]+|-\w)(?: (.+))?$")


@dataclass
class Page:
    """One command's help, taken apart."""

    words: tuple[str, ...]  # () is `corral` itself
    about: str = ""
    usage: str = ""
    groups: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # heading -> (option, text)
    notes: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    verbs: dict[str, str] = field(default_factory=dict)  # name -> summary
    pages: list[Page] = field(default_factory=list)

    @property
    def options(self) -> list[tuple[str, str, str]]:
        """(name, value or "", text) of each long option."""
        found = [(OPTION.match(option), text) for lines in self.groups.values() for option, text in lines]
        return [(m[1], m[2] or "", text) for m, text in found if m is not None]


def read(program: Path, *words: str) -> Page:
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    page = parse(words, done.stdout)
    page.pages = [read(program, *words, verb) for verb in page.verbs]
    return page


def parse(words: tuple[str, ...], text: str) -> Page:
    page = Page(words)
    head, _, rest = text.partition("\nUsage: ")
    page.about = " ".join(head.split())
    page.usage, _, rest = rest.partition("\n")
    heading = None
    for line in rest.splitlines():
        if re.fullmatch(r"\S.*:", line):
            heading = line[:-1]
        elif line.startswith("  ") and heading == "Examples":
            page.examples.append(line[2:])
        elif line.startswith("  "):
            option, entry = split_line(line[2:])
            if heading is None:
                page.verbs[option] = entry
            else:
                page.groups.setdefault(heading, []).append((option, entry))
        elif line:
            page.notes.append(line)
    return page


def split_line(line: str) -> tuple[str, str]:
    """Splits an entry's line into its name and its text. Two blanks, or else one, separate them."""
    name, _, text = line.partition("  ")
    if not text:
        name, _, text = line.partition(" ")
    return name.strip(), text.strip()


# Man pages


def escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_pages(page: Page, version: str) -> dict[str, bytes]:
    """Path below the prefix -> page, of the command and all below it."""
    name = "-".join(("corral", *page.words))
    first = page.about.partition(". ")[0].rstrip(".")
    lines = [
        f'.TH "{escape(name.upper())}" 1 "" "corral {version}" "Corral"',
        *(".SH NAME", f"{escape(name)} \\- {escape(first[:1].lower() + first[1:])}"),
        *(".SH SYNOPSIS", f".B {escape(page.usage)}", ".SH DESCRIPTION", escape(page.about)),
    ]
    if page.verbs:
        lines.append(".SH COMMANDS")
        for verb, summary in page.verbs.items():
            lines += [".TP", f".B {escape(verb)}", f"{escape(summary)}; see {escape(name)}\\-{verb}(1)."]
    if page.groups:
        lines.append(".SH OPTIONS")
        for heading, entries in page.groups.items():
            lines.append(f".SS {escape(heading)}")
            for option, text in entries:
                lines += [".TP", f".B {escape(option)}", escape(text)]
    if page.notes:
        lines += [".SH NOTES", *map(escape, page.notes)]
    if page.examples:
        lines += [".SH EXAMPLES", ".nf", *map(escape, page.examples), ".fi"]
    above = "-".join(("corral", *page.words[:-1])) if page.words else ""
    if above:
        lines += [".SH SEE ALSO", f".BR {escape(above)} (1)"]
    found = {f"{MAN}/{name}.1": ("\n".join(lines) + "\n").encode()}
    for child in page.pages:
        found |= man_pages(child, version)
    return found


# Completions: commands, then the options of the command; files where an option takes a value.


def walk(page: Page) -> list[Page]:
    return [page, *(inner for child in page.pages for inner in walk(child))]


def choices(value: str) -> list[str]:
    """The words of a value such as table|json|csv."""
    words = value.split("|")
    return words if len(words) > 1 and all(re.fullmatch(r"[a-z0-9]+", word) for word in words) else []


def bash(root: Page) -> bytes:
    cases, values = [], []
    for page in walk(root):
        words = " ".join([*page.verbs, *(name for name, _, _ in page.options)])
        cases.append(f'    "{" ".join(page.words)}") words="{words}" ;;')
        for name, value, _ in page.options:
            if choices(value):
                values.append(f'    "{" ".join(page.words)} {name}") words="{" ".join(choices(value))}" ;;')
            elif value:
                values.append(f'    "{" ".join(page.words)} {name}") words=- ;;')
    parents = "|".join(sorted(page.words[0] for page in root.pages if page.verbs))
    return f"""\
# bash completion of corral
_corral() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words=
  if ((COMP_CWORD > 1)); then
    command=${{COMP_WORDS[1]}}
    case $command in {parents}) ((COMP_CWORD > 2)) && command+=" ${{COMP_WORDS[2]}}" ;; esac
  fi
  case "$command $before" in
{chr(10).join(values)}
  esac
  if [ -z "$words" ]; then
    case $command in
{chr(10).join(cases)}
    esac
    if [[ $current != -* ]] && ((COMP_CWORD > 1)) && [[ " {parents.replace("|", " ")} " != *" $command "* ]]; then
      words=-
    fi
  fi
  if [ "$words" = - ]; then
    compopt -o default
    COMPREPLY=()
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}}
complete -F _corral corral
""".encode()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(root: Page) -> bytes:
    def described(name: str, text: str) -> str:
        text = re.sub(r"([\[\]:])", r"\\\1", text)
        return quoted(f"{name}[{text}]")

    def options(page: Page) -> str:
        lines = []
        for name, value, text in page.options:
            action = f":{name.lstrip('-')}:({' '.join(choices(value))})" if choices(value) else ""
            action = action or (f":{name.lstrip('-')}:_files" if value else "")
            lines.append(described(name, text)[:-1] + action + "'")
        return " \\\n      ".join([*lines, "'*: :_files'"])

    def function(page: Page) -> str:
        name = "_".join(("_corral", *page.words))
        if not page.verbs:
            return f"{name}() {{\n  _arguments -s \\\n      {options(page)}\n}}\n"
        verbs = "\n".join(f"    {quoted(verb + ':' + text.replace(':', ' '))}" for verb, text in page.verbs.items())
        return f"""\
{name}() {{
  local -a verbs=(
{verbs}
  )
  if ((CURRENT == 2)); then
    _describe command verbs
  elif (($+functions[{name}_$words[2]])); then
    shift words
    ((CURRENT--))
    {name}_$words[1]
  fi
}}
"""

    body = "\n".join(function(page) for page in reversed(walk(root)))
    return f'#compdef corral\n{body}\n_corral "$@"\n'.encode()


def fish(root: Page) -> bytes:
    lines = ["# fish completion of corral"]
    for page in walk(root):
        seen = " and ".join(f"__fish_seen_subcommand_from {word}" for word in page.words).replace(" and ", "; and ")
        if page.verbs:
            where = f"{seen}; and " if seen else ""
            not_yet = f"{where}not __fish_seen_subcommand_from {' '.join(page.verbs)}"
            for verb, text in page.verbs.items():
                lines.append(f"complete -c corral -f -n {quoted(not_yet)} -a {verb} -d {quoted(text)}")
        for name, value, text in page.options:
            words = f" -x -a {quoted(' '.join(choices(value)))}" if choices(value) else " -r" if value else ""
            long = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            condition = f" -n {quoted(seen)}" if seen else ""
            lines.append(f"complete -c corral{condition} {long}{words} -d {quoted(text)}")
    return ("\n".join(lines) + "\n").encode()


def all_texts(program: Path, version: str) -> dict[str, bytes]:
    """Path below the prefix -> content, of all man pages and completions."""
    root = read(program)
    return {**man_pages(root, version), BASH: bash(root), ZSH: zsh(root), FISH: fish(root)}

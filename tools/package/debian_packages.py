"""Files of Debian's archive that the packages are made from: source packages of libraries, binary ones of the image.

packages.lock names each package, its version and the SHA-256 of each of its files. They come from the archives that
this machine's apt knows, by apt itself; nothing is used whose hash differs.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOCK = Path(__file__).resolve().parent / "packages.lock"
Say = Callable[[str], None]


class PackageError(Exception):
    """The text says what failed and how to fix it."""


def run(*words: str | Path, cwd: Path, log: Path, env: dict[str, str] | None = None) -> None:
    """Runs a command whose output goes to `log`; where it fails, the end of that is the error."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, stdout=out, stderr=out, check=False)
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        raise PackageError(f"{tail}\n{words[0]} failed; its whole output is in {log}")


@dataclass
class Locked:
    kind: str  # "source", or the architecture of a binary package: "amd64", "arm64", "all"
    name: str
    version: str
    files: dict[str, str] = field(default_factory=dict)  # name -> SHA-256


def read_lock() -> list[Locked]:
    found: list[Locked] = []
    for line in LOCK.read_text().splitlines():
        words = line.split()
        if line.startswith(" "):
            found[-1].files[words[1]] = words[0]
        elif words and words[0] != "#":
            found.append(Locked(words[0], words[1], words[2]))
    return found


class Apt:
    """apt with the archives of this machine's own configuration, for one kind of packages, and a state of its own."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.kind = kind
        self.folder = folder / kind
        self.log = self.folder / "apt.log"
        for needed in ("lists/partial", "cache/archives/partial", "sources"):
            (self.folder / needed).mkdir(parents=True, exist_ok=True)
        for old in (self.folder / "sources").iterdir():
            old.unlink()
        for file in self._configured():
            text = file.read_text(errors="replace")
            if "debian" not in text:  # an archive of other packages, which may not answer
                continue
            if kind == "source":
                text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", re.sub(r"(?m)^deb(\s)", r"deb-src\1", text))
            (self.folder / "sources" / file.name).write_text(text)
        self._apt("update", cwd=self.folder)

    @staticmethod
    def _configured() -> Iterator[Path]:
        if (lone := Path("/etc/apt/sources.list")).is_file():
            yield lone
        for path in sorted(Path("/etc/apt/sources.list.d").glob("*")):
            if path.suffix in (".list", ".sources"):
                yield path

    def _options(self) -> list[str]:
        settings = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": self.folder / "sources",
            "Dir::State::lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",  # may write to folders of this user
        }
        if self.kind not in ("source", "all"):
            settings |= {"Dir::State::status": "/dev/null", "APT::Architecture": self.kind}
            settings |= {"APT::Architectures": self.kind}
        return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def _apt(self, *words: str, cwd: Path) -> None:
        run("apt-get", *self._options(), *words, cwd=cwd, log=self.log)

    def download(self, name: str, version: str, target: Path) -> None:
        verb = ("source", "--download-only") if self.kind == "source" else ("download",)
        self._apt(*verb, f"{name}={version}", cwd=target)

    def versions(self, name: str) -> dict[str, dict[str, str]]:
        """Version -> file name -> SHA-256, of all versions that the archives list."""
        source = self.kind == "source"
        shown = subprocess.run(
            ["apt-cache", *self._options(), "showsrc" if source else "show", name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found: dict[str, dict[str, str]] = {}
        for paragraph in shown.split("\n\n"):
            fields = dict(re.findall(r"(?m)^([\w-]+): ?(.*)$", paragraph))
            if fields.get("Package") != name:
                continue
            if source:
                sums = paragraph.partition("Checksums-Sha256:\n")[2]
                rows = [line.split() for line in re.split(r"\n(?! )", sums)[0].splitlines()]
                found[fields["Version"]] = {row[2]: row[0] for row in rows if not row[2].endswith(".asc")}
            else:
                # apt escapes the colon of an epoch in the names of files that it downloads.
                version, architecture = fields["Version"].replace(":", "%3a"), fields["Architecture"]
                found[fields["Version"]] = {f"{name}_{version}_{architecture}.deb": fields["SHA256"]}
        return found


def fetch(folder: Path, kind: str, say: Say) -> dict[str, Path]:
    """Package -> its .dsc or .deb, of all locked ones of the kind; each file verified."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    apt: Apt | None = None
    for locked in (one for one in read_lock() if one.kind == kind):
        if not all(has(folder / name, digest) for name, digest in locked.files.items()):
            apt = apt or Apt(folder / "apt", kind)
            say(f"downloading {locked.name} {locked.version}")
            try:
                apt.download(locked.name, locked.version, folder)
            except PackageError as error:
                raise PackageError(
                    f"{error}\nDebian's archive may not have {locked.name} {locked.version} any more; "
                    "./dev package --lock takes what it has now"
                ) from None
            wrong = [name for name, digest in locked.files.items() if not has(folder / name, digest)]
            if wrong:
                raise PackageError(f"{folder / wrong[0]} is not what {LOCK.name} expects: its SHA-256 differs")
        found[locked.name] = folder / next(name for name in locked.files if name.endswith((".dsc", ".deb")))
    return found


def has(file: Path, digest: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest


def lock(folder: Path, say: Say) -> None:
    """Writes the lock anew: of each package the newest version whose files are there to download."""
    folder.mkdir(parents=True, exist_ok=True)
    apts: dict[str, Apt] = {}
    lines = ["# Debian's packages that ours are made from; written by ./dev package --lock"]
    for locked in read_lock():
        apt = apts.setdefault(locked.kind, apts.get(locked.kind) or Apt(folder / "apt", locked.kind))
        version, files = newest(apt, locked.name, folder, say)
        lines += [f"{locked.kind} {locked.name} {version}"]
        lines += [f"  {digest} {name}" for name, digest in sorted(files.items())]
    LOCK.write_text("\n".join(lines) + "\n")


def newest(apt: Apt, name: str, folder: Path, say: Say) -> tuple[str, dict[str, str]]:
    versions = apt.versions(name)
    for version in sorted(versions, key=order, reverse=True):
        try:
            apt.download(name, version, folder)
        except PackageError:
            say(f"{name} {version} is listed, but cannot be downloaded")
            continue
        return version, versions[version]
    raise PackageError(f"the archives of this machine's apt have no package {name}")


def order(version: str) -> tuple[tuple[int, str], ...]:
    """A key that orders versions of one package well enough: numbers as numbers."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", version))

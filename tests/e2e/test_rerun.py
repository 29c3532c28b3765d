"""`corral rerun`: a run's code, environment, variables and command again, from the server alone."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import PYTHON, Corral, Json, until

QUIET = ("run", "--quiet", "--no-listeners")
GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def put(corral: Corral, run: str, path: str, content: bytes) -> None:
    connection = corral.connection()
    connection.request("PUT", f"/api/corral/v1/runs/{run}/artifacts/{path}", content)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


def entry(path: str, content: bytes, **more: Any) -> Json:
    digest = hashlib.sha256(content).hexdigest()
    return {"path": path, "sha256": digest, "bytes": len(content), "mode": "644", "why": "script"} | more


def keep(corral: Corral, run: str, root: Path, kept: dict[str, bytes], **members: Any) -> None:
    """The run's code, as its supervisor keeps it."""
    for path, content in kept.items():
        put(corral, run, f"corral/code/{path}", content)
    entries = [entry(path, content) for path, content in kept.items()]
    code = {"format": 1, "root": str(root), "directory": "", "git": None, "whole": True, "files": entries}
    put(corral, run, "corral/code.json", json.dumps(code | {"left_out": []} | members).encode())


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Corral]:
    """Another machine: a home and a store of its own."""
    home = tmp_path / "second"
    home.mkdir()
    runtime = Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(home, runtime)
    corral.environment["CORRAL_PYTHON"] = PYTHON
    try:
        yield corral
    finally:
        corral.close()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def project(corral: Corral) -> Path:
    corral.environment["CORRAL_PYTHON"] = PYTHON
    corral.serve()
    project = corral.home / "project"
    project.mkdir()
    return project


@dataclass
class Recorded:
    id: str
    out: bytes
    server: tuple[str, ...]  # arguments by which another machine names it


def record(corral: Corral, project: Path, files: dict[str, str], *words: str, **options: Any) -> Recorded:
    """A run of the first file, whose code is kept; its directory is gone afterwards."""
    content = {path: text.encode() for path, text in files.items()}
    for path, text in content.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(text)
    members = options.pop("members", {})
    status = options.pop("status", 0)
    flags = options.pop("flags", ())
    directory = project / members.get("directory", "")
    done = corral(*QUIET, "--name", "one", *flags, *words, cwd=directory, status=status, **options)
    run = str(corral.wait_ended("one")["id"])
    keep(corral, run, project, content, **members)
    shutil.rmtree(project)
    return Recorded(run, done.stdout, (run, "--server", corral.url()))


def test_from_another_home_through_the_server_alone(corral: Corral, second: Corral, project: Path) -> None:
    files = {
        "exp/train.py": """
            import os, sys
            sys.path.insert(0, "..")
            import helper
            print(helper.WORD, sys.argv[1:], os.environ["OMP_NUM_THREADS"], os.environ.get("RANK"))
            """.replace("\n            ", "\n"),
        "helper.py": "WORD = 'same'\n",
    }
    one = record(
        *(corral, project, files, "train.py", "--out", str(project / "out")),
        flags=("--param", "lr=0.1", "--tag", "team=x", "--experiment", "digits"),
        members={"directory": "exp"},
        env={"OMP_NUM_THREADS": "3", "RANK": "5"},
    )

    shown = second("rerun", *one.server, "--dry-run").stdout.decode()
    new = second.home / "one-rerun"
    assert f"directory    {new}" in shown
    assert "OMP_NUM_THREADS=3" in shown
    assert "RANK=5 is not set" in shown
    assert f"train.py --out {new}/out" in shown
    assert not new.exists()
    assert len(corral.runs()) == 1

    # A terminal is required to confirm, else --yes: the command comes from a server.
    assert b"--yes" in second("rerun", *one.server, status=2).stderr
    assert not new.exists()

    again = second("rerun", *one.server, "--yes")
    assert again.stdout.decode() == f"same ['--out', '{new}/out'] 3 None\n"
    assert one.out.startswith(b"same ")
    until(lambda: len(corral.runs()) == 2, "the second run is stored")
    facts = corral.wait_ended("@1")
    assert facts["id"] != one.id
    assert facts["tags"]["corral.rerun_of"] == one.id
    assert facts["tags"]["team"] == "x"
    assert facts["params"] == {"lr": "0.1"}
    assert facts["experiment"] == "digits"
    assert facts["name"] == "one"
    assert (new / "helper.py").read_text() == files["helper.py"]

    refused = second("rerun", *one.server, "--yes", status=1)
    assert b"not an empty directory" in refused.stderr


def test_the_commands_exit_status_and_no_question_for_ones_own_store(corral: Corral, project: Path) -> None:
    one = record(corral, project, {"train.py": "raise SystemExit(7)\n"}, "train.py", status=7)
    corral("rerun", one.id, "--into", "again", "--name", "two", status=7)
    assert corral.wait_ended("two")["exit_code"] == 7


def git(directory: Path, *words: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"} | GIT
    return subprocess.run(
        ["git", *words], cwd=directory, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_commit_with_what_was_changed(corral: Corral, second: Corral, project: Path) -> None:
    show = "import os\nfor f in ('a', 'b', 'old', 'new'): print(f, open(f).read() if os.path.exists(f) else None)\n"
    (project / "train.py").write_text(show)
    for name in ("a", "b", "old"):
        (project / name).write_text(f"{name} committed")
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    commit = git(project, "rev-parse", "HEAD")
    remote = corral.home / "remote.git"
    git(corral.home, "clone", "-q", "--bare", str(project), str(remote))
    (project / "old").unlink()
    facts = {"commit": commit, "remote": str(remote), "branch": "main", "deleted": ["old"]}
    files = {"train.py": show, "b": "b changed", "new": "new untracked"}
    one = record(corral, project, files, "train.py", members={"whole": False, "git": facts})

    done = second("rerun", *one.server, "--yes")
    assert done.stdout == b"a a committed\nb b changed\nold None\nnew new untracked\n"
    assert done.stdout == one.out
    assert git(second.home / "one-rerun", "rev-parse", "HEAD") == commit
    assert git(second.home / "one-rerun", "remote", "get-url", "origin") == str(remote)

    shutil.move(remote, second.home / "mine.git")
    gone = second("rerun", *one.server, "--yes", "--into", "three", status=1)
    assert commit.encode() in gone.stderr
    assert b"--repository" in gone.stderr
    assert not (second.home / "three").exists()
    found = second("rerun", *one.server, "--yes", "--into", "three", "--repository", "mine.git")
    assert found.stdout == done.stdout


def test_masked_values_come_from_the_environment_or_it_is_refused(
    corral: Corral, second: Corral, project: Path
) -> None:
    words = ("train.py", "--api-key", "first-secret")
    one = record(corral, project, {"train.py": "import sys; print(sys.argv[1:])\n"}, *words)
    assert "first-secret" not in str(corral.show("one"))
    refused = second("rerun", *one.server, "--yes", status=1)
    assert b"--api-key *** (set API_KEY)" in refused.stderr
    assert not (second.home / "one-rerun").exists()
    done = second("rerun", *one.server, "--yes", "--name", "two", env={"API_KEY": "second-secret"})
    assert done.stdout == b"['--api-key', 'second-secret']\n"
    assert b"second-secret" not in done.stderr
    assert "second-secret" not in str(corral.wait_ended("two"))


def test_a_terminal_is_asked_and_a_secret_is_not_shown(corral: Corral, second: Corral, project: Path) -> None:
    words = ("train.py", "--api-key", "first-secret")
    code = "import hashlib, sys; print(hashlib.sha256(sys.argv[2].encode()).hexdigest())\n"
    one = record(corral, project, {"train.py": code}, *words)
    master, slave = pty.openpty()
    seen = b""

    def until_seen(text: bytes) -> None:
        nonlocal seen

        def more() -> bool:
            nonlocal seen
            try:
                seen += os.read(master, 4096)
            except BlockingIOError:
                pass
            return text in seen

        until(more, f"the terminal shows {text!r}")

    os.set_blocking(master, False)
    second.start("rerun", *one.server, stdin=slave, stdout=slave, stderr=slave)
    until_seen(b"Run it? [y/N] ")
    os.write(master, b"y\n")
    until_seen(b"\n--api-key ***: ")
    os.write(master, b"typed-secret\n")
    until_seen(hashlib.sha256(b"typed-secret").hexdigest().encode())
    assert b"typed-secret" not in seen
    os.close(master)
    os.close(slave)


HOSTILE: dict[str, tuple[Json, bytes]] = {
    "parent": ({"files": [entry("../escaped", b"x")]}, b"nothing is restored there"),
    "git hook": ({"files": [entry(".git/hooks/post-checkout", b"x")]}, b"nothing is restored there"),
    "hash": ({"files": [entry("train.py", b"print(2)")]}, b"not what was kept"),
    "too long": ({"files": [entry("train.py", b"x")]}, b"not what was kept"),
    "missing": ({"files": [entry("nowhere.py", bytes(10_000))]}, b"the server gives no nowhere.py"),
    "directory": ({"directory": "../.."}, b"nothing is restored there"),
    "deleted": (
        {"git": {"commit": "a" * 40, "remote": None, "deleted": ["/etc/passwd"]}},
        b"nothing is restored there",
    ),
    "commit": ({"whole": False, "git": {"commit": "--upload-pack=x", "remote": None}}, b"is not a commit"),
    "remote": (
        {"whole": False, "git": {"commit": "a" * 40, "remote": "ext::sh -c touch% /tmp/escaped", "deleted": []}},
        b"would run a program",
    ),
    "format": ({"format": 2}, b"format 2"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_list_is_refused_and_leaves_nothing(corral: Corral, second: Corral, project: Path, how: str) -> None:
    members, message = HOSTILE[how]
    one = record(corral, project, {"train.py": "print(1)"}, "train.py", members={})
    keep(corral, one.id, project, {"train.py": b"print(1)"}, **members)
    refused = second("rerun", *one.server, "--yes", status=1)
    assert message in refused.stderr, refused.stderr
    assert not (second.home / "one-rerun").exists()
    assert not (second.home / "escaped").exists()
    assert len(corral.runs()) == 1


def test_what_leads_out_of_the_project_is_left_out_and_said(corral: Corral, second: Corral, project: Path) -> None:
    content = b"import os; print(sorted(os.listdir()))\n"
    one = record(corral, project, {"train.py": content.decode()}, "train.py")
    links = [
        {"path": "out", "link": "../../somewhere", "mode": "644", "why": "untracked"},
        {"path": "absolute", "link": "/etc", "mode": "644", "why": "untracked"},
        {"path": "inside", "link": "train.py", "mode": "644", "why": "untracked"},
        entry(str(second.home / "planted"), b"x"),
        entry("train.py", content),
    ]
    left_out = [{"path": "lib.py", "reason": "over the limit", "sha256": "1"}]
    keep(corral, one.id, project, {"train.py": content}, files=links, left_out=left_out)
    done = second("rerun", *one.server, "--yes")
    assert done.stdout == b"['inside', 'train.py']\n"
    for said in (b"out is not restored", b"absolute is not restored", b"planted is not restored"):
        assert said in done.stderr
    assert f"it was at {project}/lib.py".encode() in done.stderr
    assert not (second.home / "planted").exists()


def test_another_environment_is_refused_or_built_or_accepted(corral: Corral, second: Corral, project: Path) -> None:
    one = record(corral, project, {"train.py": "print('ran')\n"}, "train.py")
    other = {"CORRAL_PYTHON": sys.executable}
    refused = second("rerun", *one.server, "--yes", status=1, env=other)
    assert b"--any-environment" in refused.stderr
    assert b"here" in refused.stderr
    assert not (second.home / "one-rerun").exists()
    uv = second.home / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\nexit 1\n")
    uv.chmod(0o755)
    shown = second("rerun", *one.server, "--dry-run", env=other | {"PATH": f"{uv.parent}:/usr/bin:/bin"}).stdout
    assert b"environment  uv=corral-requirements.txt;python=3." in shown
    assert not (second.home / "one-rerun").exists()
    assert second("rerun", *one.server, "--yes", "--any-environment", env=other).stdout == b"ran\n"


def test_data_that_is_not_the_same_is_said(corral: Corral, second: Corral, project: Path) -> None:
    data = corral.home / "data.csv"
    data.write_text("1,2\n")
    one = record(corral, project, {"train.py": "print('ran')\n"}, "train.py", "--data", str(data))
    same = second("rerun", *one.server, "--yes", "--name", "two")
    assert b"data.data" not in same.stderr
    data.write_text("1,2\n3,4\n")
    assert b"data.data: " in second("rerun", *one.server, "--yes", "--into", "b", "--name", "three").stderr


def test_ctrl_c_ends_the_command(corral: Corral, second: Corral, project: Path) -> None:
    code = "import signal, sys\nif len(sys.argv) > 1: print('ready', flush=True); signal.pause()\n"
    one = record(corral, project, {"train.py": code}, "train.py")
    keep(corral, one.id, project, {"train.py": code.replace("len(sys.argv) > 1", "True").encode()})
    process = second.start("rerun", *one.server, "--yes", "--name", "two")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait() == 128 + signal.SIGINT
    assert corral.wait_ended("two")["status"] != "running"


def kept_list(corral: Corral, run: str) -> Json:
    def there() -> Json | None:
        connection = corral.connection()
        connection.request("GET", f"/api/corral/v1/runs/{run}/artifacts/corral/code.json")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return json.loads(body) if answer.status == 200 else None

    return until(there, "the list of the code is stored")


def test_what_the_supervisor_kept_runs_again(corral: Corral, second: Corral, project: Path) -> None:
    """Without git: the script and what it imports."""
    (project / "lib").mkdir()
    (project / "lib" / "__init__.py").write_text("WORD = 'same'\n")
    (project / "train.py").write_text("import sys, lib\nprint(lib.WORD, sys.argv[1:])\n")
    words = ("project/train.py", "--api-key", "secret")
    first = corral(*QUIET, "--name", "one", "--param", "lr=0.1", *words)
    run = corral.wait_ended("one")["id"]
    kept_list(corral, run)
    shutil.rmtree(project)
    again = second("rerun", run, "--server", corral.url(), "--yes", env={"API_KEY": "secret"})
    assert again.stdout == first.stdout == b"same ['--api-key', 'secret']\n"


def test_a_dirty_tree_that_its_supervisor_kept_runs_again(corral: Corral, second: Corral, project: Path) -> None:
    show = "import os\nfor f in ('a', 'b', 'old', 'new'): print(f, open(f).read() if os.path.exists(f) else None)\n"
    (project / "exp").mkdir()
    (project / "exp" / "train.py").write_text("import os\nos.chdir('..')\n" + show)
    for name in ("a", "b", "old"):
        (project / name).write_text(f"{name} committed")
    (project / "none").touch()
    (project / "conf").mkdir()
    (project / "conf" / "a.yaml").write_text("was in a directory")
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    (project / "b").write_text("b changed")
    (project / "new").write_text("new untracked")
    (project / "old").unlink()
    shutil.rmtree(project / "conf")
    (project / "conf").write_text("is a file")
    first = corral(*QUIET, "--name", "one", "train.py", cwd=project / "exp")
    run = corral.wait_ended("one")["id"]
    code = kept_list(corral, run)["hash"]
    assert kept_list(corral, run)["whole"]
    # With the commit at hand the new directory is the repository that the old one was.
    there = second("rerun", run, "--server", corral.url(), "--yes", "--into", "there", "--name", "there")
    assert there.stdout == first.stdout
    assert git(second.home / "there", "status", "--porcelain").splitlines() == [
        "M b",
        " D conf/a.yaml",
        " D old",
        "?? conf",
        "?? new",
    ]  # its first blank stripped
    assert kept_list(corral, corral.wait_ended("there")["id"])["hash"] == code
    shutil.rmtree(project)
    again = second("rerun", run, "--server", corral.url(), "--yes")
    assert again.stdout == first.stdout
    assert b"outside of git" in again.stderr
    assert (second.home / "one-rerun" / "none").read_bytes() == b""
    assert b"b b changed\nold None\nnew new untracked\n" in again.stdout
    assert {d["part"] for d in corral.json("diff", run, "@1")} <= {
        "run",
        "tag",
        "code",
        "environment",
        "set-up",
        "at start",
    }

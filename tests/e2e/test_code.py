"""The code that a run keeps: which files, under which hash, and what never."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import PYTHON, Corral, Json, until

PYTHON_OF_SCRIPTS = {"CORRAL_PYTHON": PYTHON}


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


class Project:
    """A folder whose scripts are run, one run after another."""

    def __init__(self, corral: Corral, in_git: bool) -> None:
        self.corral = corral
        self.folder = corral.home / "project"
        self.folder.mkdir()
        if in_git:
            self.put("old.py", "pass\n")
            git(self.folder, "init", "-q", "-b", "main")
            git(self.folder, "add", ".")
            git(self.folder, "commit", "-q", "-m", "first")

    def put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, name: str, *words: str, env: dict[str, str] | None = None) -> tuple[dict[str, Any], bytes]:
        """Facts of the run, and what was said on standard error."""
        done = self.corral(
            *("run", "--quiet", "--no-listeners", "--name", name, *words),
            cwd=self.folder,
            env=PYTHON_OF_SCRIPTS | (env or {}),
        )
        return self.facts(name), done.stderr

    def wait_described(self, name: str) -> None:
        def described() -> bool:
            done = self.corral("show", name, "--format", "json", status=None)
            return done.returncode == 0 and "set_up.hash" in json.loads(done.stdout)["info"]

        until(described, "the run is described")
        info = self.corral.show(name)["info"]
        assert "code.hash" in info, self.corral.show(name)

    def facts(self, name: str) -> dict[str, Any]:
        self.corral.wait_ended(name)
        self.wait_described(name)
        self.corral.wait_spool_empty()
        return dict(self.corral.show(name)["info"])

    def artifact(self, name: str, path: str) -> bytes | None:
        run = self.corral.show(name)["id"]
        connection = self.corral.connection()
        connection.request("GET", f"/api/corral/v1/runs/{run}/artifacts/corral/{path}")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return body if answer.status == 200 else None

    def code(self, name: str) -> Json:
        text = self.artifact(name, "code.json")
        assert text is not None
        return json.loads(text)

    def files(self, name: str) -> dict[str, str]:
        """Why each kept file is kept; what is kept of each is what the list says."""
        return {file["path"]: file["why"] for file in self.code(name)["files"]}

    def left_out(self, name: str) -> dict[str, str]:
        return {file["path"]: file["reason"] for file in self.code(name)["left_out"]}


@pytest.mark.parametrize("in_git", [False, True])
def test_one_line_more_in_a_new_file_is_another_set_up(corral: Corral, in_git: bool) -> None:
    project = Project(corral, in_git)
    project.put("new.py", "lr = 1\n")
    first, _ = project.run("first", "new.py")
    again, _ = project.run("again", "new.py")
    project.put("new.py", "lr = 1\nlr = 2\n")
    second, said = project.run("second", "new.py")

    assert first["code.hash"] == again["code.hash"]
    assert first["set_up.hash"] == again["set_up.hash"]
    assert first["code.hash"] != second["code.hash"]
    assert first["set_up.hash"] != second["set_up.hash"]
    assert any(d["key"] == "code.hash" for d in corral.json("diff", "first", "second"))
    assert project.artifact("first", "code/new.py") == b"lr = 1\n"
    assert project.artifact("second", "code/new.py") == b"lr = 1\nlr = 2\n"
    assert project.files("second")["new.py"] == "script"
    assert project.code("second")["hash"] == second["code.hash"]
    assert project.code("second")["root"] == str(project.folder)
    assert said == b""


def test_local_modules_and_what_git_ignores(corral: Corral) -> None:
    project = Project(corral, in_git=True)
    library = corral.home / "library"
    library.mkdir()
    (library / "shared.py").write_text("x = 1\n")
    project.put(".gitignore", "ignored.py\n")
    project.put("ignored.py", "x = 1\n")
    project.put("pkg/part.py", "x = 1\n")
    project.put("plugin.py", "x = 1\n")
    project.put(".env", "SECRET=hidden-value\n")
    project.put("key.txt", "-----BEGIN PRIVATE KEY-----\nhidden-value\n")
    project.put("train.py", "import ignored, shared\nfrom pkg import part\n__import__('plu' + 'gin')\n")
    project.put("old.py", "pass\npassword = 'hidden-value'\n")
    env = {"PYTHONPATH": str(library)}
    first, _ = project.run("first", "train.py", env=env)

    files = project.files("first")
    assert files["train.py"] == "script"
    assert files["pkg/part.py"] == files["plugin.py"] == files[str(library / "shared.py")] == "import"
    assert project.artifact("first", f"code/outside{library}/shared.py") == b"x = 1\n"
    left_out = project.left_out("first")
    assert left_out["ignored.py"] == "git ignores it"
    assert left_out[".env"] == "looks like credentials"
    assert left_out["key.txt"] == "holds a private key"
    assert "password" in left_out["old.py"]
    assert first["code.files"] == len(files)
    assert first["code.left_out"] == len(left_out)
    for path in ("ignored.py", ".env", "key.txt", "old.py"):
        assert project.artifact("first", f"code/{path}") is None
    assert b"hidden-value" not in (project.artifact("first", "changes.diff") or b"")
    for file in (corral.store / "artifacts").rglob("*"):
        assert not file.is_file() or b"hidden-value" not in file.read_bytes(), file

    project.put("ignored.py", "x = 2\n")
    second, _ = project.run("second", "train.py", env=env)
    assert first["code.hash"] != second["code.hash"]


def test_a_module_that_only_the_process_can_name(corral: Corral) -> None:
    project = Project(corral, in_git=False)
    project.put("train.py", "name = 'plugin'\n__import__(name)\n")
    project.put("plugin.py", "x = 1\n")
    first, _ = project.run("first", "train.py")
    assert project.files("first") == {"train.py": "script", "plugin.py": "import"}
    project.put("plugin.py", "x = 2\n")
    second, _ = project.run("second", "train.py")
    assert first["code.hash"] != second["code.hash"]
    assert first["set_up.hash"] != second["set_up.hash"]


def test_the_whole_diff(corral: Corral) -> None:
    project = Project(corral, in_git=True)
    lines = [f"line_{i} = {i}\n" for i in range(20_000)]
    project.put("old.py", "".join(lines))
    first, _ = project.run("first", "old.py")
    diff = project.artifact("first", "changes.diff")
    assert diff is not None
    assert b"+line_19999 = 19999\n" in diff
    lines[-1] = "line_19999 = 0\n"
    project.put("old.py", "".join(lines))
    second, _ = project.run("second", "old.py")
    assert first["git_diff_hash"] != second["git_diff_hash"]


def test_over_the_limit(corral: Corral) -> None:
    project = Project(corral, in_git=True)
    project.put("train.py", "import helper\n")
    project.put("helper.py", "#" * 5000 + "\n")
    first, said = project.run("first", "--keep-code", "1000", "train.py")
    assert b"over the limit of 1000 B (--keep-code): helper.py" in said
    assert said.count(b"\n") == 1
    assert "limit" in project.left_out("first")["helper.py"]
    assert project.artifact("first", "code/helper.py") is None
    project.put("helper.py", "#" * 5000 + "\n\n")
    second, _ = project.run("second", "--keep-code=1000", "train.py")
    assert first["code.hash"] != second["code.hash"]
    off, said = project.run("off", "--keep-code", "off", "train.py")
    assert off["code.hash"] == second["code.hash"]
    assert project.artifact("off", "code.json") is None
    assert said == b""
    corral("run", "--keep-code", "much", "true", status=2)


def test_links_pipes_and_filters_are_left_alone(corral: Corral) -> None:
    project = Project(corral, in_git=True)
    ran = corral.home / "ran"
    project.put(".gitattributes", "*.py filter=theirs\n")
    project.put("train.py", "import sys\nsys.exit(0)\nimport train_helper, shadow\n")
    git(project.folder, "add", ".")
    git(project.folder, "commit", "-q", "-m", "second")
    git(project.folder, "config", "filter.theirs.clean", f"touch {ran}; cat")
    (project.folder / "shadow.py").symlink_to("/etc/shadow")
    os.mkfifo(project.folder / "train_helper.py")
    project.put("old.py", "changed\n")
    facts, _ = project.run("first", "train.py")
    assert not ran.exists()
    assert len(facts["code.hash"]) == 16
    (link,) = (file for file in project.code("first")["files"] if file["path"] == "shadow.py")
    assert link["link"] == "/etc/shadow"
    assert project.artifact("first", "code/shadow.py") is None
    assert "train_helper.py" not in project.files("first")
    assert project.artifact("first", "code/old.py") == b"changed\n"


def test_a_file_that_changes_while_it_runs(corral: Corral) -> None:
    project = Project(corral, in_git=False)
    go = corral.home / "go"
    project.put("late.py", "x = 1\n")
    project.put(
        "train.py",
        f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\n__import__('la' + 'te')\n",
    )
    process = corral.start(
        *("run", "--quiet", "--no-listeners", "--name", "first", "train.py"), cwd=project.folder, env=PYTHON_OF_SCRIPTS
    )
    project.wait_described("first")
    project.put("late.py", "x = 2\n")
    go.touch()
    _, said = process.communicate()
    assert b"changed after the command had started: late.py" in said
    project.facts("first")
    (late,) = (file for file in project.code("first")["files"] if file["path"] == "late.py")
    assert late["changed_meanwhile"]
    assert project.artifact("first", "code/late.py") == b"x = 2\n"


def test_a_killed_run_keeps_its_code(corral: Corral) -> None:
    project = Project(corral, in_git=False)
    project.put("train.py", "import helper, time\ntime.sleep(1000)\n")
    project.put("helper.py", "x = 1\n")
    supervisor = corral.start(
        *("run", "--quiet", "--no-listeners", "--name", "first", "train.py"), cwd=project.folder, env=PYTHON_OF_SCRIPTS
    )
    project.wait_described("first")
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    (pid,) = (
        pid
        for pid in corral.processes()
        if b"train.py" in Path(f"/proc/{pid}/cmdline").read_bytes() and pid != os.getpid()
    )
    os.kill(pid, signal.SIGKILL)
    project.facts("first")
    assert project.files("first") == {"train.py": "script", "helper.py": "import"}
    assert project.artifact("first", "code/helper.py") == b"x = 1\n"

"""A store that is served to its users: tokens in every client, roles, revocation, and the secrets in its files."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import pty
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import termios
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from postgres import Postgres, programs
from relay_support import QUIET
from support import PYTHON, ROOT, Corral, Json, Stays, until


class Lab:
    """A served store with an admin, a writer and a reader, each with a file that holds a token."""

    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.serve()
        for name, role in (("ada", "admin"), ("will", "writer"), ("rita", "reader")):
            corral("user", "add", name, "--role", role)
        self.files = {name: self.new_token(name) for name in ("ada", "will", "rita")}

    def serve(self, *arguments: str) -> None:
        self.corral.serve(*(arguments or ("--auth", "users")))

    def new_token(self, user: str, *options: str) -> Path:
        made = self.corral("token", "add", user, *options)
        path = self.corral.home / f"{user}-{os.urandom(3).hex()}.token"
        path.write_bytes(made.stdout)
        path.chmod(0o600)
        return path

    def as_user(self, token: Path) -> tuple[str, ...]:
        """Options with which a command speaks to the server as another machine's would."""
        return ("--server", self.corral.url(), "--token-file", str(token))

    def token(self, user: str) -> str:
        return self.files[user].read_text().strip()

    def ask(self, token: str, path: str, body: Json | None = None, method: str = "") -> tuple[int, Json]:
        request = urllib.request.Request(
            self.corral.url() + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {}),
            method=method or ("GET" if body is None else "POST"),
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())


@pytest.fixture
def lab(corral: Corral) -> Lab:
    return Lab(corral)


def test_open_signs_the_browser_in_once(lab: Lab) -> None:
    corral = lab.corral
    corral("run", "--no-listeners", "--quiet", "true")
    run = corral.runs()[0]["id"]
    program = corral.home / "xdg-open"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" >{corral.home}/opened\n')
    program.chmod(0o755)
    desktop = {"DISPLAY": ":0", "PATH": f"{corral.home}:/usr/bin:/bin"}
    said = corral("open", "@1", *lab.as_user(lab.files["rita"]), env=desktop).stdout.decode()
    assert said == f"{corral.url()}/runs/{run}\n", "the code is not shown"
    opened = corral.home / "opened"
    until(lambda: opened.exists() and opened.read_text(), "the desktop has it")
    address = opened.read_text()
    assert address.startswith(said.strip() + "?once=")
    browser = urllib.request.build_opener(Stays)
    # A link on another site signs nobody in, and uses nothing up.
    linked = urllib.request.Request(address, headers={"Sec-Fetch-Site": "cross-site"})
    with browser.open(linked, timeout=60) as page:
        assert page.headers["Set-Cookie"] is None
    with pytest.raises(urllib.error.HTTPError) as signed_in:
        browser.open(address, timeout=60)
    assert (signed_in.value.code, signed_in.value.headers["Location"]) == (303, f"/runs/{run}")
    cookie = signed_in.value.headers["Set-Cookie"].partition(";")[0]
    assert cookie.endswith(lab.token("rita"))
    me = urllib.request.Request(f"{corral.url()}/api/corral/v1/me", headers={"Cookie": cookie})
    with urllib.request.urlopen(me, timeout=60) as answer:
        assert json.load(answer)["user"] == "rita"
    with browser.open(address, timeout=60) as page:
        assert page.headers["Set-Cookie"] is None, "it works once"
    # By its cookie a page gets no code, which would outlive it.
    own = {"Cookie": cookie, "Origin": corral.url(), "Content-Type": "application/json"}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(f"{corral.url()}/api/corral/v1/codes", b"{}", own), timeout=60)
    assert refused.value.code == 400
    assert lab.ask("", "/api/corral/v1/codes", {})[0] == 401


def test_each_role_may_what_it_says(lab: Lab) -> None:
    corral = lab.corral
    corral("run", "--no-listeners", "--quiet", "--name", "mine", "true")  # over the socket, as its owner
    listed = corral("ls", "runs", *lab.as_user(lab.files["rita"]), "--format", "csv").stdout.decode()
    assert "mine" in listed
    refused = corral("rename", "mine", "hers", *lab.as_user(lab.files["rita"]), status=1).stderr
    assert b"'rita' has the role reader here; this needs the role writer" in refused
    corral("rename", "mine", "his", *lab.as_user(lab.files["will"]))
    refused = corral("rm", "his", "--now", "--yes", *lab.as_user(lab.files["will"]), status=1).stderr
    assert b"needs the role owner" in refused
    refused = corral("user", "ls", *lab.as_user(lab.files["will"]), status=1).stderr
    assert b"needs the role admin" in refused
    corral("rm", "his", "--now", "--yes", *lab.as_user(lab.files["ada"]))
    assert corral.runs() == []
    assert b"rita, reader" in corral("whoami", *lab.as_user(lab.files["rita"])).stdout
    assert b"requires a token" in corral("whoami", "--server", corral.url(), status=1).stderr


def test_runs_and_notes_say_whose_they_are(lab: Lab) -> None:
    corral = lab.corral
    corral("user", "add", "wes", "--role", "writer")
    wes = lab.new_token("wes")
    corral("run", "--no-listeners", "--quiet", "--name", "local", "true")  # over the socket
    for name, token in (("wills", lab.files["will"]), ("wess", wes)):
        corral("run", "--no-listeners", "--quiet", "--name", name, *lab.as_user(token), "true")
    runs = {run["name"]: run for run in corral.runs()}
    assert {name: run["creator"] for name, run in runs.items()} == {"local": None, "wills": "will", "wess": "wes"}
    assert b"recorded by          will" in corral("show", "wills", *lab.as_user(wes)).stdout
    assert b"RECORDED BY" in corral("ls", "runs").stdout
    # A client of MLflow that says to be somebody else.
    status, made = lab.ask(
        lab.token("will"), "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "user_id": "wes", "run_name": "logged"}
    )
    assert status == 200
    logged = made["run"]["info"]["run_id"]
    assert lab.ask(lab.token("rita"), f"/api/corral/v1/runs/{logged}")[1]["creator"] == "will"
    notes = f"/api/corral/v1/runs/{logged}/notes"
    note = lab.ask(wes.read_text().strip(), notes, {"time_ns": None, "text": "odd"})[1]
    assert note["author"] == "wes"
    lab.ask(lab.token("will"), f"{notes}/{note['id']}", {"time_ns": None, "text": "odd, and why"}, "PUT")
    (kept,) = lab.ask(lab.token("rita"), notes)[1]["notes"]
    assert (kept["author"], kept["text"]) == ("will", "odd, and why"), "whose words they are"

    # Others than owners trash their own runs only, through every interface.
    refused = corral("rm", "wills", "--yes", *lab.as_user(wes), status=1).stderr
    assert b"'wills' was recorded by 'will': to put others' runs into the trash needs the role owner" in refused
    for path, body in (("runs/delete", {"run_id": logged}), ("experiments/delete", {"experiment_id": "0"})):
        status, told = lab.ask(wes.read_text().strip(), f"/api/2.0/mlflow/{path}", body)
        assert (status, told["error_code"]) == (403, "PERMISSION_DENIED"), path
    corral("rm", "local", "wess", "--yes", *lab.as_user(wes))
    assert lab.ask(lab.token("will"), "/api/2.0/mlflow/runs/delete", {"run_id": logged})[0] == 200
    corral("rm", "wills", "--yes", *lab.as_user(lab.files["ada"]))
    assert corral.runs() == []


def test_a_program_is_let_in_by_a_browser(lab: Lab) -> None:
    corral = lab.corral
    url = corral.url()
    token = lab.token("will")

    def ask() -> tuple[subprocess.Popen[bytes], str]:
        asking = corral.start("login", url, "--browser", stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        assert asking.stderr is not None
        told = asking.stderr.readline().decode()
        assert f"{url}/device" in told
        return asking, told.split()[-1]

    def codes(who: str, code: str, allow: bool | None = None) -> tuple[int, Json]:
        body = None if allow is None else {"allow": allow}
        return lab.ask(who, f"/api/corral/v1/device-codes/{code}", body, "GET" if allow is None else "PUT")

    asking, code = ask()
    assert codes("", code)[0] == 401
    seen = codes(token, code.lower().replace("-", ""))[1]
    assert (seen["client"], seen["address"]) == (socket.gethostname(), "127.0.0.1")
    assert codes(token, code, allow=True)[0] == 200
    assert codes(lab.token("ada"), code, allow=False)[0] == 404, "it is answered"
    said, _ = asking.communicate(timeout=60)
    assert asking.returncode == 0
    assert b"will, writer" in said
    assert b"will, writer" in corral("whoami", "--server", url).stdout
    (kept,) = (corral.home / "config" / "corral" / "tokens").iterdir()
    assert kept.read_text().strip() != token, "a token of its own"
    label = f"corral login on {socket.gethostname()}"
    (listed,) = (t for t in lab.ask(token, "/api/corral/v1/tokens")[1]["tokens"] if t["label"] == label)
    assert listed["role"] == "writer"
    audit = corral("audit").stdout
    assert b"/device-codes/" in audit
    assert b"/device-tokens" in audit
    assert b'"role":"writer"' in audit

    refused, code = ask()
    assert codes(token, code, allow=False)[0] == 200
    assert b"refused in the browser" in refused.communicate(timeout=60)[1]
    assert refused.returncode == 1
    assert b"will" in corral("whoami", "--server", url).stdout, "the kept one stays"

    # A token for a day gives none for longer, and one for reading none for writing.
    short = lab.new_token("ada", "--days", "1", "--role", "reader").read_text().strip()
    third, code = ask()
    assert codes(short, code, allow=True)[0] == 200
    third.communicate(timeout=60)
    assert b"ada, reader" in corral("whoami", "--server", url).stdout
    (listed,) = (
        t for t in lab.ask(lab.token("ada"), "/api/corral/v1/tokens")[1]["tokens"]
        if t["label"] == label and t["user"] == "ada"
    )  # fmt: skip
    assert int(listed["expires_ns"]) - int(listed["created_ns"]) <= 24 * 3600 * 10**9

    # A token takes along those that it has let in, and those that it allowed are not handed out any more.
    mine = lab.new_token("will").read_text().strip()
    asked = lab.ask("", "/api/corral/v1/device-codes", {"client": "node7"})[1]
    poll = {"device_code": asked["device_code"]}
    assert lab.ask("", "/api/corral/v1/device-tokens", poll)[1] == {"state": "waiting"}
    assert codes(mine, asked["code"], allow=True)[0] == 200
    child = lab.ask("", "/api/corral/v1/device-tokens", poll)[1]["token"]
    assert lab.ask("", "/api/corral/v1/device-tokens", poll)[0] == 404, "once"
    assert lab.ask(child, "/api/corral/v1/me")[1]["user"] == "will"
    asked = lab.ask("", "/api/corral/v1/device-codes", {"client": "node7"})[1]
    assert codes(child, asked["code"], allow=True)[0] == 200
    corral("token", "rm", mine.split("_")[2])
    assert lab.ask(child, "/api/corral/v1/me")[0] == 401
    assert lab.ask("", "/api/corral/v1/device-tokens", {"device_code": asked["device_code"]})[0] == 403

    # A token that cannot be kept is not asked for.
    blocked = corral.home / "blocked"
    blocked.write_text("a file")
    told = corral("login", url, "--browser", status=1, env={"XDG_CONFIG_HOME": str(blocked)})
    assert b"enter" not in told.stderr

    # Guesses are few, and nothing that was not asked for gets a token.
    statuses = [codes(lab.token("rita"), "BBBB-BBBB")[0] for _ in range(21)]
    assert statuses == [404] * 20 + [429]
    assert lab.ask("", "/api/corral/v1/device-tokens", {"device_code": "0" * 64})[0] == 404
    assert lab.ask("", "/api/corral/v1/device-tokens", {})[0] == 400
    assert lab.ask("", "/api/corral/v1/device-codes", {"client": "x", "user": "ada"})[0] == 400
    corral("serve", "--stop")
    lab.serve("--auth", "none")
    assert b"asks for no token" in corral("login", corral.url(), "--browser", status=2).stderr


def test_the_audit_says_who_did_what(lab: Lab) -> None:
    corral = lab.corral
    corral("run", "--no-listeners", "--quiet", "--name", "mine", "true")
    corral("rm", "mine", "--yes", *lab.as_user(lab.files["will"]))
    corral("user", "add", "eve", *lab.as_user(lab.files["ada"]))
    listed = corral("audit", *lab.as_user(lab.files["ada"]), "--format", "json").stdout
    entries = json.loads(listed)
    assert [(entry["user"], entry["request"], entry["status"]) for entry in entries[:2]] == [
        ("ada", "POST /api/corral/v1/users", 200),
        ("will", "POST /api/corral/v1/runs/changes", 200),
    ]
    assert entries[0]["address"] == "127.0.0.1"
    assert "eve" in entries[0]["detail"]
    assert b"needs the role admin" in corral("audit", *lab.as_user(lab.files["will"]), status=1).stderr
    only = corral("audit", "--user", "will", "--limit", "1", *lab.as_user(lab.files["ada"])).stdout.decode()
    assert "runs/changes" in only
    assert "users" not in only


def test_what_happened_before_a_kill_is_in_the_audit(lab: Lab) -> None:
    corral = lab.corral
    url, token = corral.url(), lab.token("ada")

    def add_users(worker: int) -> None:
        for number in range(10_000):
            body = json.dumps({"name": f"u{worker}-{number}"}).encode()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            try:
                urllib.request.urlopen(urllib.request.Request(f"{url}/api/corral/v1/users", body, headers), timeout=60)
            except (OSError, http.client.HTTPException):
                return  # the server is gone

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(add_users, worker) for worker in range(4)]
        until(lambda: len(json.loads(corral("audit", "--format", "json").stdout)) > 40, "users are added")
        corral.kill_server()
        for worker in workers:
            worker.result()
    lab.serve()
    names = {user["name"] for user in json.loads(corral("user", "ls", "--format", "json").stdout)}
    listed: dict[str, int | None] = {}
    last: tuple[str, ...] = ()
    while entries := json.loads(corral("audit", "--format", "json", "--limit", "1000", *last).stdout):
        last = ("--before", entries[-1]["id"])
        added = [entry for entry in entries if entry["request"] == "POST /api/corral/v1/users"]
        listed |= {json.loads(entry["detail"])["name"]: entry["status"] for entry in added}
    assert names <= listed.keys()
    done = {name for name, status in listed.items() if status == 200}
    assert done <= names
    assert all(status in (200, None) for status in listed.values())


def test_a_copy_of_the_audit_has_every_entry(lab: Lab) -> None:
    corral = lab.corral
    copy = corral.home / "audit.jsonl"

    def serve() -> None:
        lab.serve("--auth", "users", "--audit-log", str(copy))

    def copied(name: str) -> bool:
        entries = [json.loads(line) for line in copy.read_text().splitlines()]
        return any(name in entry["detail"] and entry["status"] == 200 for entry in entries)

    corral("serve", "--stop")
    serve()
    assert copy.stat().st_mode & 0o777 == 0o600
    until(lambda: copied("will"), "what was done before is copied")
    corral("user", "add", "eve", *lab.as_user(lab.files["ada"]))
    corral("token", "add", "eve", *lab.as_user(lab.files["ada"]))
    until(lambda: copied('"user":"eve","label":"","role":"reader"'), "the new token is copied, with what it may")
    corral("user", "add", "kit")
    corral.kill_server()
    serve()
    until(lambda: copied("kit"), "what was done before a kill is copied")
    ids = [json.loads(line)["id"] for line in copy.read_text().splitlines()]
    assert set(ids) == {entry["id"] for entry in json.loads(corral("audit", "--format", "json").stdout)}
    assert ids == sorted(ids, key=int)
    assert "corral_pat_" not in copy.read_text()
    refused = corral("serve", "--store", "other", "--audit-log", "/nowhere/audit", status=1).stderr
    assert b"/nowhere/audit" in refused


def test_what_cannot_be_listed_is_not_done(lab: Lab) -> None:
    corral = lab.corral
    with sqlite3.connect(next(corral.store.glob("*.db"))) as database:
        database.execute("ALTER TABLE audit RENAME TO lost")
    assert b"audit" in corral("user", "add", "eve", *lab.as_user(lab.files["ada"]), status=1).stderr
    assert b"eve" not in corral("user", "ls", *lab.as_user(lab.files["ada"])).stdout
    corral("run", *lab.as_user(lab.files["will"]), "--no-listeners", "--quiet", "true")
    assert len(corral.runs()) == 1, "trainings go on"
    corral("serve", "--stop")


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/corral/v1/users", {"name": "bob"}), ("/api/2.0/mlflow/runs/create", {"experiment_id": "0"})],
)
def test_who_loses_the_token_before_the_body_is_there_does_nothing(lab: Lab, path: str, body: Json) -> None:
    corral = lab.corral
    token = lab.token("ada")
    text = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", int(corral.url().rpartition(":")[2])), timeout=60) as client:
        head = [
            f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}",
            "Content-Type: application/json", f"Content-Length: {len(text)}", "Expect: 100-continue", "", "",
        ]  # fmt: skip
        client.sendall("\r\n".join(head).encode())
        assert client.recv(4096).startswith(b"HTTP/1.1 100 "), "the gate lets it in by its head"
        corral("token", "rm", token.split("_")[2])
        client.sendall(text)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 401
        assert b"does not count any more" in answer.read()
    assert corral.runs() == []
    assert b"bob" not in corral("user", "ls").stdout
    (entry,) = (e for e in json.loads(corral("audit", "--limit", "1", "--format", "json").stdout))
    assert entry["request"].startswith("DELETE /api/corral/v1/tokens/"), "nothing after the revocation is listed"


def test_who_guesses_tokens_must_wait(lab: Lab) -> None:
    statuses = [lab.ask("", "/api/corral/v1/sign-in", {"token": "guess"})[0] for _ in range(40)]
    assert statuses[:20] == [401] * 20
    assert 429 in statuses[20:]
    assert lab.ask(lab.token("rita"), "/api/corral/v1/runs")[0] == 200, "who has a token goes on"
    entries = json.loads(lab.corral("audit", "--format", "json").stdout)
    assert len([entry for entry in entries if entry["status"] == 401]) == statuses.count(401)
    assert all(entry["detail"] is None and entry["user"] is None for entry in entries if entry["status"] == 401)


def test_the_store_asks_until_it_is_told_otherwise(lab: Lab) -> None:
    corral = lab.corral
    corral("serve", "--stop")
    lab.serve("--idle-after", "15m")  # without a word about users
    assert lab.ask("", "/api/corral/v1/runs")[0] == 401
    assert lab.ask(lab.token("rita"), "/api/corral/v1/runs")[0] == 200
    corral("serve", "--stop")
    shared = corral.home / "shared.token"
    shared.write_text("0123456789abcdef")
    refused = corral("serve", "--token-file", shared, status=2).stderr
    assert b"asks each user for a token of their own" in refused
    assert b"leave out --token-file" in corral("serve", "--auth", "users", "--token-file", shared, status=2).stderr
    # A start that fails changes nothing.
    shared.write_text("short")
    corral("serve", "--listen", "127.0.0.1:0", "--auth", "none", "--token-file", shared, status=2)
    lab.serve("--idle-after", "15m")
    assert lab.ask("", "/api/corral/v1/runs")[0] == 401
    corral("serve", "--stop")
    lab.serve("--auth", "none")
    assert lab.ask("", "/api/corral/v1/runs")[0] == 200
    made = lab.ask("", "/api/corral/v1/users", {"name": "eve", "role": "admin"})
    assert made[0] == 403, "nobody prepares an admin for later"
    corral("serve", "--stop")
    lab.serve()
    assert lab.ask("", "/api/corral/v1/runs")[0] == 401
    assert lab.ask(lab.token("rita"), "/api/corral/v1/runs")[0] == 200, "users and tokens are kept"


def test_a_revoked_token_keeps_the_data_and_a_new_one_sends_them(lab: Lab) -> None:
    corral = lab.corral
    own = {"CORRAL_SPOOL": str(corral.home / "spool-of-will")}
    counter = corral.counter()
    to_server = lab.as_user(lab.files["will"])
    run = corral.start("run", "--no-listeners", *to_server, *counter.program(10_000_000), env=own)
    until(lambda: counter.returned > 100, "it logs")
    until(lambda: corral.runs(), "the server has the run")
    corral("token", "rm", lab.token("will").split("_")[2])
    assert lab.ask(lab.token("will"), "/api/corral/v1/runs")[0] == 401
    returned = counter.returned
    until(lambda: counter.returned > returned + 100, "the training goes on")
    counter.stop()
    _, said = run.communicate(timeout=120)
    assert b"the rest waits in" in said
    again = lab.as_user(lab.new_token("will"))
    corral("run", "--no-listeners", "--quiet", "--name", "next", *again, "true", env=own)
    until(lambda: len(corral.points(corral.runs()[-1]["id"], "x")) >= counter.returned, "all of it is there")


@pytest.mark.parametrize("way", ["token", "password"])
def test_mlflows_client_is_its_user(lab: Lab, python: Path, way: str) -> None:
    script = lab.corral.script(
        "train.py",
        """
        import json, mlflow
        from mlflow.exceptions import MlflowException
        said = {}
        try:
            with mlflow.start_run() as run:
                mlflow.log_metric("loss", 0.5, step=3)
            said["loss"] = mlflow.get_run(run.info.run_id).data.metrics["loss"]
        except MlflowException as refused:
            said["refused"] = refused.error_code + ": " + str(refused)
        said["runs"] = len(mlflow.search_runs(search_all_experiments=True))
        print(json.dumps(said))
        """,
    )

    def log(user: str) -> Json:
        token = lab.token(user)
        ways = {
            "token": {"MLFLOW_TRACKING_TOKEN": token},
            "password": {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": token},
        }
        # Without recording: only MLflow's own client speaks to the server.
        done = lab.corral(
            "run", "--store", lab.corral.home / "elsewhere", "--no-mlflow", "--no-listeners", python, script,
            env=QUIET | ways[way] | {"MLFLOW_TRACKING_URI": lab.corral.url()},
        )  # fmt: skip
        return json.loads(done.stdout.decode().strip().splitlines()[-1])

    assert log("will") == {"loss": 0.5, "runs": 1}
    told = log("rita")
    assert told["refused"].startswith("PERMISSION_DENIED"), told
    assert "needs the role writer" in told["refused"]
    assert told["runs"] == 1


def test_a_space_is_for_its_members(lab: Lab) -> None:
    corral = lab.corral
    record = ("run", "--no-listeners", "--quiet")
    corral(*record, "--experiment", "vision/net", "--name", "early", "true")  # before there is a space
    corral(*record, "--experiment", "speech", "--name", "open", "true")
    will, rita, ada = (lab.as_user(lab.files[name]) for name in ("will", "rita", "ada"))
    assert b"there is no user 'eve'" in corral("space", "add", "vision", "--member", "eve", *ada, status=1).stderr
    assert b"needs the role admin" in corral("space", "add", "vision", *will, status=1).stderr
    corral("space", "add", "vision", "--member", "will", *ada)
    assert b"vision" in corral("space", "ls", *will).stdout
    assert b"no spaces yet" in corral("space", "ls", *rita).stdout

    def runs(who: tuple[str, ...]) -> set[str]:
        table = corral("ls", "runs", *who, "--format", "json").stdout
        return {run["name"] for run in json.loads(table)}

    assert runs(will) == {"early", "open"}
    assert runs(rita) == runs(ada) == {"open"}, "an admin is no member"
    assert b"vision" not in corral("ls", "experiments", *rita).stdout
    early = next(run["id"] for run in corral.runs() if run["name"] == "early")
    assert b"there is no" in corral("show", early, *rita, status=1).stderr
    assert lab.ask(lab.token("rita"), f"/api/corral/v1/runs/{early}")[0] == 404
    assert lab.ask(lab.token("ada"), f"/api/corral/v1/runs/{early}?force=true", None, "DELETE")[0] == 404

    corral(*record, *will, "--experiment", "vision/net", "--name", "late", "true")
    assert runs(will) == {"early", "late", "open"}
    corral("space", "set", "vision", "--add", "ada", "--remove", "will", *ada)
    assert runs(ada) == {"early", "late", "open"}
    assert runs(will) == {"open"}
    # The training goes on, and its data waits until its user is let in again.
    own = {"CORRAL_SPOOL": str(corral.home / "spool-of-will")}
    said = corral(*record, *will, "--experiment", "vision/net", "--name", "waits", "echo", "trained", env=own)
    assert b"trained" in said.stdout
    assert runs(ada) == {"early", "late", "open"}
    corral("space", "set", "vision", "--add", "will", *ada)
    corral(*record, *will, "--experiment", "vision/net", "--name", "next", "true", env=own)
    until(lambda: "waits" in runs(ada), "the spool that waited is sent")

    refused = corral("space", "rm", "vision", *ada, status=1).stderr
    assert b"in the space 'vision' lie 1 experiment, which everybody would see" in refused
    corral("serve", "--stop")
    refused = corral("serve", "--auth", "none", status=2).stderr
    assert b"this store has spaces, which --auth none would open to everybody" in refused
    lab.serve()
    rita, ada = (lab.as_user(lab.files[name]) for name in ("rita", "ada"))  # its port may be another one
    corral("space", "rm", "vision", "--open", *ada)
    assert runs(rita) == {"early", "late", "open", "waits", "next"}
    listed = corral("audit", *ada).stdout.decode()
    assert "DELETE /api/corral/v1/spaces/vision?open=true" in listed


def test_mlflows_client_knows_nothing_of_foreign_spaces(lab: Lab, python: Path) -> None:
    corral = lab.corral
    corral("space", "add", "vision", "--member", "will")
    script = corral.script(
        "train.py",
        """
        import json, os, sys, mlflow
        from mlflow.exceptions import MlflowException
        client = mlflow.MlflowClient()
        said = {"experiments": sorted(one.name for one in client.search_experiments())}
        def attempt(name, call):
            try:
                call()
                said[name] = "done"
            except MlflowException as refused:
                said[name] = str(refused)
        def train():
            mlflow.set_experiment("vision/net")
            with mlflow.start_run() as run:
                mlflow.log_metric("loss", 0.5)
                mlflow.log_text("secret", "note.txt")
            said["run"] = run.info.run_id
        attempt("train", train)
        for run in sys.argv[1:2]:
            attempt("get", lambda: client.get_run(run))
            attempt("log", lambda: client.log_metric(run, "loss", 0.1))
            attempt("tag", lambda: client.set_tag(run, "a", "b"))
            attempt("delete", lambda: client.delete_run(run))
            attempt("files", lambda: client.list_artifacts(run))
            said["points"] = len(client.get_metric_history(run, "loss"))
            attempt("model", lambda: mlflow.register_model(f"runs:/{run}/note.txt", "mine"))
        said["found"] = len(mlflow.search_runs(search_all_experiments=True))
        print(json.dumps(said))
        """,
    )

    def log(user: str, *arguments: str) -> Json:
        done = corral(
            "run", "--store", corral.home / "elsewhere", "--no-mlflow", "--no-listeners", python, script, *arguments,
            env=QUIET | {"MLFLOW_TRACKING_TOKEN": lab.token(user), "MLFLOW_TRACKING_URI": corral.url()},
        )  # fmt: skip
        return json.loads(done.stdout.decode().strip().splitlines()[-1])

    mine = log("will")
    assert (mine["train"], mine["found"]) == ("done", 1)
    corral("user", "add", "wes", "--role", "owner")
    lab.files["wes"] = lab.new_token("wes")
    foreign = log("wes", mine["run"])
    assert foreign.pop("experiments") == ["Default"]
    assert foreign.pop("found") == 0
    assert foreign.pop("points") == 0
    # MLflow 2 does not look at the refusal, and asks for the experiment None next.
    refused = (
        "PERMISSION_DENIED: the space 'vision' is for its members",
        "INVALID_PARAMETER_VALUE: Invalid experiment ID",
    )
    assert foreign.pop("train").startswith(refused)
    assert all(said.startswith("RESOURCE_DOES_NOT_EXIST") for said in foreign.values()), foreign
    own = log("will")
    assert own["experiments"] == ["Default", "vision/net"]
    assert own["found"] == 2


def test_nobody_finds_a_token_in_the_store_or_its_copies_or_in_a_spool(lab: Lab) -> None:
    corral = lab.corral
    secret = lab.token("ada").split("_")[3]
    backup = corral.home / "backup.corral"
    corral("store", "backup", backup)
    corral("serve", "--stop")
    with socket.socket() as nobody:
        # The port of the stopped server might by now be another test's.
        nobody.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        corral("run", "--no-listeners", "--quiet", "--server", away, "--token-file", lab.files["ada"], "true")
    assert corral.spooled(), "its data waits for the server"
    for path in [backup, *(p for place in (corral.store, corral.spool) for p in place.rglob("*") if p.is_file())]:
        assert secret.encode() not in path.read_bytes(), path
    with sqlite3.connect(backup) as copy:
        (kept,) = copy.execute("SELECT count(*) FROM tokens WHERE hash = ?", (token_hash(lab.token("ada")),)).fetchone()
    assert kept == 1
    # A store that is loaded from it asks as well.
    fresh = corral.home / "loaded"
    corral("store", "load", backup, "--store", fresh)
    shutil.rmtree(corral.store)
    fresh.rename(corral.store)
    lab.serve("--idle-after", "15m")
    assert lab.ask("", "/api/corral/v1/runs")[0] == 401
    assert lab.ask(lab.token("ada"), "/api/corral/v1/me")[1] == {"users": True, "user": "ada", "role": "admin"}


def token_hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_changes_survive_a_kill(lab: Lab) -> None:
    corral = lab.corral
    corral("token", "rm", lab.token("rita").split("_")[2])
    corral("user", "set", "will", "--disable")
    corral.kill_server()
    lab.serve("--idle-after", "15m")
    assert [lab.ask(lab.token(name), "/api/corral/v1/runs")[0] for name in ("ada", "will", "rita")] == [200, 401, 401]
    corral("user", "set", "will", "--enable")
    assert lab.ask(lab.token("will"), "/api/corral/v1/runs")[0] == 200


def test_an_admin_by_token_can_do_what_the_owner_of_the_socket_can(lab: Lab) -> None:
    corral = lab.corral
    admin = lab.as_user(lab.files["ada"])
    corral("user", "add", "eve", *admin)
    told = corral("token", "add", "eve", "--days", "1", "--label", "one day", *admin)
    token = told.stdout.decode().strip()
    assert lab.ask(token, "/api/corral/v1/me")[1]["role"] == "reader"
    (listed,) = lab.ask(token, "/api/corral/v1/tokens")[1]["tokens"]
    assert (listed["user"], listed["label"], listed["role"]) == ("eve", "one day", "reader")
    others = lab.token("will").split("_")[2]
    assert lab.ask(token, f"/api/corral/v1/tokens/{others}", method="DELETE")[0] == 404, "not hers"
    assert lab.ask(lab.token("will"), "/api/corral/v1/me")[0] == 200
    assert lab.ask(token, f"/api/corral/v1/tokens/{listed['id']}", method="DELETE")[0] == 200
    assert lab.ask(token, "/api/corral/v1/me")[0] == 401
    assert b"--yes" in corral("user", "rm", "eve", *admin, status=2).stderr
    corral("user", "rm", "eve", "--yes", *admin)
    assert b"no user 'eve'" in corral("user", "set", "eve", "--enable", *admin, status=1).stderr


def test_a_token_that_login_kept_goes_to_its_server_alone(lab: Lab) -> None:
    corral = lab.corral
    url = corral.url()
    told = corral("login", url + "/", "--token-file", lab.files["will"]).stdout
    assert b"will, writer" in told
    (kept,) = (corral.home / "config" / "corral" / "tokens").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_text() == lab.token("will") + "\n"
    assert b"will, writer" in corral("whoami", "--server", url).stdout
    corral("run", "--no-listeners", "--quiet", "--name", "mine", "--server", url, "true")
    # The script's own run is known a moment later.
    read = f"import corral, time\nwhile len(corral.runs(server={url!r})) < 2: time.sleep(0.05)\nprint('both')"
    script = corral.script("read.py", read)
    python = {"PYTHONPATH": str(ROOT / "python")}
    assert corral("run", "--no-listeners", "--quiet", PYTHON, script, env=python).stdout.split()[-1:] == [b"both"]
    assert b"rita, reader" in corral("whoami", *lab.as_user(lab.files["rita"])).stdout, "what is named counts"
    # Another name of the same server is another server.
    other = url.replace("127.0.0.1", "localhost")
    assert b"requires a token" in corral("whoami", "--server", other, status=1).stderr
    for token, why in ((b"corral_pat_cut", b"cut or mistyped"), (b"0123456789abcdef", b"refused this token")):
        assert why in corral("login", url, stdin=token, status=None).stderr
    assert b"will" in corral("whoami", "--server", url).stdout, "the kept one stays"
    corral("token", "rm", lab.token("will").split("_")[2])
    refused = corral("whoami", "--server", url, status=1).stderr.decode()
    assert f"refused the token that was kept: `corral login {url}` again" in refused
    corral("logout", url)
    assert b"requires a token" in corral("whoami", "--server", url, status=1).stderr
    assert b"no token of" in corral("logout", url, status=1).stderr


def test_a_terminal_shows_what_is_typed_again_after_ctrl_c(lab: Lab) -> None:
    master, terminal = pty.openpty()

    def shows() -> bool:
        return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)

    try:
        assert shows()
        ends: dict[str, Any] = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
        asking = lab.corral.start("login", lab.corral.url(), **ends)
        until(lambda: not shows(), "it asks for the token")
        asking.send_signal(signal.SIGINT)
        assert asking.wait(60) == -signal.SIGINT
        assert shows()
        asking = lab.corral.start("login", lab.corral.url(), **ends)
        until(lambda: not shows(), "it asks again")
        os.write(master, lab.token("rita").encode() + b"\n")
        assert asking.wait(60) == 0
        assert shows()
        told = ""
        while "rita, reader" not in told:
            told += os.read(master, 65536).decode()
        assert lab.token("rita") not in told
    finally:
        os.close(master)
        os.close(terminal)


# ---- several servers of one database


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    bin_ = programs()
    if bin_ is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(bin_)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def nodes(database: Postgres, tmp_path: Path) -> Iterator[list[Corral]]:
    name = f"t_{os.urandom(4).hex()}"
    database.sql(f"CREATE DATABASE {name}")
    url = database.url("postgres", name)
    made = []
    for number in range(2):
        home = tmp_path / f"node{number}"
        home.mkdir()
        corral = Corral(home, Path(tempfile.mkdtemp(prefix="corral-")))
        corral.use_database(url)
        made.append(corral)
    try:
        yield made
    finally:
        for corral in made:
            corral.close()
            shutil.rmtree(corral.runtime, ignore_errors=True)


def serve(corral: Corral, *arguments: str) -> subprocess.Popen[bytes]:
    started = corral.start("serve", "--listen", "127.0.0.1:0", *arguments)
    until(lambda: started.poll() is not None or corral.server_pid() == started.pid, "the server answers")
    assert started.poll() is None, started.communicate()[1]
    return started


def test_what_one_server_revokes_every_server_refuses(nodes: list[Corral]) -> None:
    one, two = nodes
    serve(two)
    serve(one, "--auth", "users")
    there, here = object.__new__(Lab), object.__new__(Lab)
    there.corral, here.corral = two, one
    until(lambda: there.ask("", "/api/corral/v1/runs")[0] == 401, "the other server asks for users as well")
    one("user", "add", "ada", "--role", "admin")
    token = one("token", "add", "ada").stdout.decode().strip()
    assert here.ask(token, "/api/corral/v1/runs")[0] == 200
    until(lambda: there.ask(token, "/api/corral/v1/runs")[0] == 200, "the other server knows the token")
    # A member that one server lets in is let in by the other, too.
    one("run", "--no-listeners", "--quiet", "--experiment", "vision/net", "true")

    def seen() -> bool:
        return any(run["experiment"] == "vision/net" for run in there.ask(token, "/api/corral/v1/runs")[1]["runs"])

    until(seen, "there is no space yet")
    one("space", "add", "vision")
    until(lambda: not seen(), "the other server hides it")
    one("space", "set", "vision", "--add", "ada")
    until(seen, "the other server lets its member in")
    # A program asks one server, and its user answers at the other.
    asked = here.ask("", "/api/corral/v1/device-codes", {"client": "node7"})[1]
    assert there.ask(token, f"/api/corral/v1/device-codes/{asked['code']}", {"allow": True}, "PUT")[0] == 200
    poll = {"device_code": asked["device_code"]}
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda at: at.ask("", "/api/corral/v1/device-tokens", poll), [here, there] * 4))
    (child,) = (told["token"] for status, told in answers if status == 200)
    assert sorted(status for status, _ in answers) == [200] + [404] * 7
    until(lambda: there.ask(child, "/api/corral/v1/me")[0] == 200, "each server knows its token")
    one("token", "rm", token.split("_")[2])
    assert here.ask(token, "/api/corral/v1/runs")[0] == 401
    assert here.ask(child, "/api/corral/v1/me")[0] == 401
    until(lambda: there.ask(token, "/api/corral/v1/runs")[0] == 401, "the other server refuses the token")
    # A training's own server would let its user in by the password of the database alone.
    two("serve", "--stop")
    told = two("run", "--no-listeners", "echo", "trained")
    assert b"trained" in told.stdout
    assert b"this database is served to its users only" in told.stderr
    assert two.spooled()

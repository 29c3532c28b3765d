"""Alerts: messages about runs, as chats, ntfy, programs and people get them."""

from __future__ import annotations

import email
import email.policy
import hashlib
import hmac
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PYTHON, Corral, Json, free_port, until
from test_postgres import Nodes, database, nodes

__all__ = ["database", "nodes"]  # fixtures
LOCAL = ("--alert-network", "127.0.0.0/8")


class Receiver:
    """A server of HTTP that keeps what it is sent, and answers with `status`."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                if receiver.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(f"Cannot POST {self.path}".encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def news(self) -> list[Json]:
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def alerts(corral: Corral, *options: str) -> list[Json]:
    listed: list[Json] = json.loads(corral("alert", "ls", "--format", "json", *options).stdout)
    return listed


def run(corral: Corral, *command: str, name: str = "otter") -> None:
    options = ("--no-listeners", "--quiet", "--name", name, "--experiment", "vision/net")
    corral("run", *options, *command, status=None)


def test_a_failure_reaches_a_program_a_chat_and_ntfy(corral: Corral, receiver: Receiver) -> None:
    corral.serve(*LOCAL)
    secret = corral.home / "secret"
    secret.write_text("s3cret\n")
    slack = corral.home / "slack.url"
    slack.write_text(f"{receiver.url}/hooks/T0KEN\n")
    corral("alert", "add", "failed", "--to", f"{receiver.url}/hook", "--secret-file", secret)
    corral("alert", "add", "failed", "--to-file", slack, "--form", "slack")
    corral("alert", "add", "ended", "--to", f"{receiver.url}/my-runs", "--form", "ntfy")
    run(corral, "true", name="a <b> & c")
    until(lambda: len(receiver.got) == 1, "the end is told")
    run(corral, "sh", "-c", "exit 3")
    until(lambda: len(receiver.got) == 4, "the failure is told")

    (path, _, body), *rest = receiver.got
    told = json.loads(body)
    assert (path, told["topic"], told["title"]) == ("/", "my-runs", "a <b> & c: finished")
    by_path = {path: (headers, body) for path, headers, body in rest}
    headers, body = by_path["/hook"]
    news = json.loads(body)
    assert (news["title"], news["kind"], news["run"]["status"]) == ("otter: failed", "failed", "failed")
    assert "exit status 3" in news["text"]
    assert news["url"] == f"{corral.url()}/runs/{corral.runs()[0]['id']}"
    stamp, signature = (part.split("=")[1] for part in headers["Corral-Signature"].split(","))
    assert hmac.new(b"s3cret", stamp.encode() + b"." + body, hashlib.sha256).hexdigest() == signature
    message = json.loads(by_path["/hooks/T0KEN"][1])
    assert message == {"text": f"*otter: failed*\nexit status 3 (experiment vision/net)\n<{news['url']}>"}

    until(lambda: all(one["delivered_ns"] and not one["waiting"] for one in alerts(corral)), "all are noted")
    listed = alerts(corral)
    assert [(one["target"], one["waiting"], one["problem"]) for one in listed] == [(f"{receiver.url}/...", 0, None)] * 3
    corral("alert", "rm", "1")
    assert [one["id"] for one in alerts(corral)] == ["2", "3"]
    assert b"you have no alert 1" in corral("alert", "rm", "1", status=1).stderr


def test_two_servers_tell_a_nan_once_though_they_are_killed(nodes: Nodes, receiver: Receiver) -> None:
    """One that is killed may repeat a message, with the same id."""
    servers = [nodes.new() for _ in range(2)]
    for server in servers:
        server.serve(*LOCAL)
    here = servers[0]
    here("alert", "add", "nan", "--to", f"{receiver.url}/hook")
    script = here.script("diverge.py", "import corral\nfor n in range(200): corral.log('loss', float('nan'))\n")
    names = [f"run-{number}" for number in range(6)]
    for name in names[:3]:
        run(here, str(PYTHON), str(script), name=name)
    until(lambda: len(receiver.got) >= 3 and alerts(here)[0]["waiting"] == 0, "each is told")
    assert sorted(news["run"]["name"] for news in receiver.news()) == names[:3], "each once"
    for number, name in enumerate(names[3:]):
        run(here, str(PYTHON), str(script), name=name)
        victim = servers[number % 2]
        victim.kill_server()
        victim.serve(*LOCAL)
    # Another server sends the message that a killed one had claimed, after two minutes.
    until(lambda: {news["run"]["name"] for news in receiver.news()} == set(names), "each is told", 240)
    until(lambda: alerts(here)[0]["waiting"] == 0, "nothing waits", 240)
    assert {news["title"] for news in receiver.news()} == {f"{name}: loss is NaN or infinite" for name in names}
    assert len({news["id"] for news in receiver.news()}) == len(names)


def test_what_does_not_arrive_is_tried_again(corral: Corral, receiver: Receiver) -> None:
    corral.serve(*LOCAL)
    receiver.status = 500
    corral("alert", "add", "failed", "--to", f"{receiver.url}/hook")
    assert b"it answered 500\n" in corral("alert", "test", "1", status=1).stderr
    run(corral, "false")
    until(lambda: alerts(corral)[0]["problem"], "a failure is kept")
    assert alerts(corral)[0]["waiting"] == 1
    corral.kill_server()
    receiver.status = 200
    corral.serve(*LOCAL)
    # Two minutes if the server was killed while it sent.
    until(lambda: alerts(corral)[0]["waiting"] == 0, "it arrives later", 240)
    assert alerts(corral)[0]["problem"] is None
    assert len({news["id"] for news in receiver.news() if news["kind"] == "failed"}) == 1


def test_a_server_that_runs_started_stays_while_messages_wait(corral: Corral, receiver: Receiver) -> None:
    receiver.status = 500
    server = corral.serve("--idle-after", "10s", *LOCAL)
    corral("alert", "add", "failed", "--to", f"{receiver.url}/hook")
    run(corral, "false")
    until(lambda: len(receiver.got) >= 3, "it tries again after 5 and 10 s, though nobody asks it anything")
    receiver.status = 200
    assert server.wait(100) == 0
    assert receiver.news()[-1]["title"] == "otter: failed"
    assert len({news["id"] for news in receiver.news()}) == 1


def test_nobody_reaches_the_labs_own_services_through_the_server(corral: Corral, receiver: Receiver) -> None:
    corral.serve()
    port = receiver.server.server_port
    for number, host in enumerate(("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"), 1):
        corral("alert", "add", "failed", "--to", f"http://{host}:{port}/hook")
        said = corral("alert", "test", str(number), status=1).stderr
        assert b"messages do not go to" in said, (host, said)
        assert b"--alert-network" in said
    corral("alert", "add", "failed", "--to", f"https://127.0.0.1:{port}/hook")
    assert b"messages do not go to 127.0.0.1:" in corral("alert", "test", "6", status=1).stderr
    assert receiver.got == []
    corral("serve", "--stop")
    corral.serve(*LOCAL)
    receiver.status = 302
    assert b"it answered 302" in corral("alert", "test", "1", status=1).stderr
    assert [path for path, _, _ in receiver.got] == ["/hook"], "where it leads to is not asked"


def test_no_proxy_of_the_environment_is_asked(corral: Corral, receiver: Receiver) -> None:
    corral.serve(*LOCAL, env={"http_proxy": receiver.url, "all_proxy": receiver.url, "no_proxy": ""})
    corral("alert", "add", "failed", "--to", f"http://127.0.0.2:{free_port()}/hook")
    assert b"connect" in corral("alert", "test", "1", status=1).stderr
    assert receiver.got == []


@pytest.fixture
def mail(request: pytest.FixtureRequest) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    script = Path(__file__).parent / "mail_server.mjs"
    options = json.dumps({"port": port} | getattr(request, "param", {}))
    server = subprocess.Popen(["node", str(script), options], stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert b"listens" in server.stdout.readline(), "the mail server ended"
    yield f"smtp://127.0.0.1:{port}", server
    server.kill()
    server.communicate()


def test_mail_arrives(corral: Corral, mail: tuple[str, subprocess.Popen[bytes]]) -> None:
    url, server = mail
    corral.serve("--mail-server", url, "--mail-from", "corral@lab.org")
    corral("alert", "add", "ended", "--to", "ada@lab.org")
    name = "Otter with a long name, ü, and 🦦" * 3
    run(corral, "true", name=name)
    assert server.stdout is not None
    sent = json.loads(server.stdout.readline())
    assert (sent["from"], sent["to"]) == ("corral@lab.org", ["ada@lab.org"])
    read = email.message_from_string(sent["text"], policy=email.policy.default)
    assert read["Subject"] == f"{name}: finished"
    assert read["To"] == "ada@lab.org"
    assert corral.runs()[0]["id"] in read.get_content()
    refused = corral("alert", "add", "ended", "--to", "eve@evil.org", status=2).stderr
    assert b"this server sends mail to lab.org only (corral serve --mail-domain)" in refused
    corral("serve", "--stop")
    corral.serve("--mail-server", url, "--mail-from", "corral@lab.org", "--mail-domain", "evil.org")
    corral("alert", "add", "ended", "--to", "eve@evil.org")
    assert b"the mail server" in corral("alert", "test", "2", status=1).stderr


def test_a_mail_server_with_a_password_in_its_address_is_refused(corral: Corral) -> None:
    done = corral("serve", "--mail-server", "smtp://u:s3cret@mail", "--mail-from", "c@lab.org", status=2)
    assert b"--mail-server: expected smtp://HOST:PORT" in done.stderr
    assert b"s3cret" not in done.stderr


@pytest.mark.parametrize("mail", [{"user": "corral", "password": "pw"}], indirect=True)
def test_a_password_of_mail_goes_by_trusted_tls_alone(
    corral: Corral, mail: tuple[str, subprocess.Popen[bytes]]
) -> None:
    password = corral.home / "password"
    password.write_text("pw\n")
    password.chmod(0o600)
    sign_in = ("--mail-user", "corral", "--mail-password-file", str(password))
    corral.serve("--mail-server", mail[0], "--mail-from", "corral@lab.org", *sign_in)
    corral("alert", "add", "ended", "--to", "ada@lab.org")
    assert b"certificate" in corral("alert", "test", "1", status=1).stderr


def test_users_see_their_own_alerts(corral: Corral, receiver: Receiver) -> None:
    corral.serve("--auth", "users", *LOCAL)
    files = {}
    for name, role in (("ada", "admin"), ("bob", "writer"), ("rita", "reader")):
        corral("user", "add", name, "--role", role)
        files[name] = corral.home / f"{name}.token"
        files[name].write_bytes(corral("token", "add", name).stdout)
        files[name].chmod(0o600)

    def as_user(name: str) -> tuple[str, ...]:
        return ("--server", corral.url(), "--token-file", str(files[name]))

    corral("alert", "add", "failed", "--to", f"{receiver.url}/bob", *as_user("bob"))
    corral("alert", "add", "failed", "--to", f"{receiver.url}/ada", *as_user("ada"))
    assert (
        b"needs the role writer"
        in corral("alert", "add", "failed", "--to", f"{receiver.url}/rita", *as_user("rita"), status=1).stderr
    )
    assert [one["user"] for one in alerts(corral, *as_user("ada"))] == ["bob", "ada"]
    assert [one["user"] for one in alerts(corral, *as_user("bob"))] == ["bob"]
    assert alerts(corral, *as_user("rita")) == []
    assert b"you have no alert 2" in corral("alert", "test", "2", *as_user("bob"), status=1).stderr
    assert b"you have no alert 2" in corral("alert", "rm", "2", *as_user("bob"), status=1).stderr
    listed = corral("audit", "--format", "json", *as_user("ada")).stdout.decode()
    assert "POST /api/corral/v1/alerts" in listed
    assert "/bob" not in listed, "an address may be a secret"
    corral("user", "set", "bob", "--disable", *as_user("ada"))
    corral("run", "--no-listeners", "--quiet", *as_user("ada"), "false", status=1)
    until(lambda: receiver.got, "the failure is told")
    until(lambda: alerts(corral, *as_user("ada"))[1]["delivered_ns"], "and noted")
    assert [path for path, _, _ in receiver.got] == ["/ada"]


WRONG = (
    (("failed",), b"give either --to or --to-file"),
    (("--to", "https://h"), b"give one or more of ended, failed, nan, stalled and silent, or --above"),
    (("oops", "--to", "https://h"), b"kinds must be ended, failed, nan, stalled, limit or silent"),
    (("failed", "--to", "ftp://h"), b"expected an address as https://host/path"),
    (("failed", "--to", "ada@lab.org"), b"this server sends no mail (corral serve --mail-server)"),
    (("--above", "x", "--metric", "loss", "--to", "https://h"), b"--above: expected a number, not 'x'"),
    (("--above", "1", "--to", "https://h"), b"a limit needs the name of a metric"),
    (("failed", "--to-file", "/nowhere"), b"/nowhere"),
    (("failed", "--to", "https://ntfy.sh"), b"expected the address of a topic, as https://ntfy.sh/topic"),
)


def test_what_is_wrong_is_said(corral: Corral) -> None:
    corral.serve()
    for options, said in WRONG:
        done = corral("alert", "add", *options, status=None)
        assert done.returncode in (1, 2), options
        assert said in done.stderr, done.stderr
    assert corral("alert", "ls").stdout.startswith(b"no alerts yet")

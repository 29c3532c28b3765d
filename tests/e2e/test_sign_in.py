"""Users who sign in at a provider of OpenID Connect: node-oidc-provider, with the pages that people would see."""

from __future__ import annotations

import html
import http.cookiejar
import json
import re
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres import Postgres, programs
from support import Corral, Json, Stays, free_port
from test_accounts import serve
from test_tls import Lab, nginx_in_front

CLIENT = "corral"
SECRET = "the client's secret: +/%"
PEOPLE: dict[str, Json] = {
    "s-ada": {"preferred_username": "ada", "name": "Ada Lovelace", "email": "ada@lab.org", "email_verified": True},
    "s-bob": {"preferred_username": "Bob Stone!", "name": "Bob", "email": "bob@Lab.org", "email_verified": True},
    "s-eve": {"preferred_username": "ada", "name": "Eve", "email": "eve@evil.org", "email_verified": True},
    "s-mal": {"preferred_username": "mal", "name": "<b>", "email": "mal@lab.org", "email_verified": False},
}


class Provider:
    def __init__(self, corral: Corral) -> None:
        self.corral = corral
        self.corrals_url = ""  # its own, or that of a proxy in front
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, algorithm: str = "RS256", key: str = "k1", *, complete: bool = True) -> None:
        options = {
            "port": self.port,
            "client": CLIENT,
            "secret": SECRET,
            "callback": f"{self.corrals_url or self.corral.url()}/auth/callback",
            "algorithm": algorithm,
            "key": key,
            "complete": complete,
            "people": PEOPLE,
        }
        script = Path(__file__).parent / "oidc_provider.mjs"
        command = ["node", "--no-warnings", str(script), json.dumps(options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert any(b"listens" in line for line in self.process.stdout), "the provider ended"

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def options(self) -> tuple[str, ...]:
        """Those of Corral's server."""
        secret = self.corral.home / "client-secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(0o600)
        at = ("--oidc-issuer", self.issuer, "--oidc-client", CLIENT, "--oidc-secret-file", str(secret))
        return ("--auth", "users", *at)

    def serve(self, *options: str) -> None:
        """Corral's server with this provider, at the address that it had before."""
        self.corral.serve(*self.options(), *options)


class Browser:
    """Keeps cookies and follows redirects."""

    def __init__(self, corral: Corral, url: str = "", trust: ssl.SSLContext | None = None) -> None:
        self.url = url or corral.url()
        self.cookies = http.cookiejar.CookieJar()
        self.handlers = [urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.HTTPSHandler(context=trust)]

    def open(self, url: str, form: Json | None = None, *, follow: bool = True, token: str = "") -> tuple[int, str, Any]:
        """Status, body and headers."""
        opener = urllib.request.build_opener(*self.handlers, *(() if follow else (Stays,)))
        body = urllib.parse.urlencode(form).encode() if form else None
        address = url if "://" in url else self.url + url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with opener.open(urllib.request.Request(address, body, headers), timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as other:
            return other.code, other.read().decode(), other.headers

    def enter_name(self, subject: str, to: str = "/") -> str:
        """The address that the provider then sends the browser back to. It asks only who is not signed in there."""
        url, form = f"/auth/login?to={urllib.parse.quote(to, safe='')}", None
        while "/auth/callback" not in url:
            status, page, headers = self.open(url, form, follow=False)
            assert status in (200, 303), page
            action = re.search(r'action="([^"]+)"', page)
            asked = status == 200 and action is not None
            form = {"prompt": "login", "login": subject, "password": "any"} if asked else None
            url = html.unescape(action[1]) if asked and action else urllib.parse.urljoin(url, headers["Location"])
        return url

    def sign_in(self, subject: str, to: str = "/") -> tuple[int, str]:
        status, page, _ = self.open(self.enter_name(subject, to))
        return status, html.unescape(page)

    def ask(self, path: str, body: Json | None = None, method: str = "") -> tuple[int, Json]:
        """As the page does."""
        headers = {"Content-Type": "application/json", "Origin": self.url}
        request = urllib.request.Request(
            self.url + "/api/corral/v1" + path,
            None if body is None else json.dumps(body).encode(),
            headers,
            method=method or ("GET" if body is None else "POST"),
        )
        try:
            with urllib.request.build_opener(*self.handlers).open(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def me(self) -> str:
        status, answer = self.ask("/me")
        return f"{answer['user']}, {answer['role']}" if status == 200 else str(status)


@pytest.fixture
def provider(corral: Corral) -> Iterator[Provider]:
    made = Provider(corral)
    yield made
    made.stop()


def users(corral: Corral) -> dict[str, Json]:
    listed = json.loads(corral("user", "ls", "--format", "json").stdout)
    return {user["name"]: user for user in listed}


def last_sign_in(corral: Corral) -> Json:
    entries = json.loads(corral("audit", "--format", "json").stdout)
    return next(entry for entry in entries if entry["request"] == "GET /auth/callback")


def test_a_user_signs_in_where_the_lab_does(corral: Corral, provider: Provider) -> None:
    provider.serve()
    corral("user", "add", "ada", "--role", "admin", "--subject", "s-ada")
    provider.start()
    browser = Browser(corral)
    assert browser.me() == "401"
    assert browser.ask("/sign-in")[1] == {"provider": f"127.0.0.1:{provider.port}"}
    status, page = browser.sign_in("s-ada", "/people?tab=tokens")
    assert status == 200
    assert 'content="0;url=/people?tab=tokens"' in page, "the browser goes on where it was"
    assert browser.me() == "ada, admin"
    entry = last_sign_in(corral)
    assert (entry["user"], entry["address"], entry["status"]) == ("ada", "127.0.0.1", 200)
    assert '"subject":"s-ada"' in entry["detail"]
    assert [cookie.name for cookie in browser.cookies if "sign_in" in cookie.name] == [], "the attempt is over"
    # Signing out ends it for good, also for who has copied the cookie.
    thief = Browser(corral)
    for cookie in browser.cookies:
        thief.cookies.set_cookie(cookie)
    assert thief.me() == "ada, admin"
    assert browser.ask("/sign-out", {})[0] == 200
    assert thief.me() == "401"
    assert json.loads(corral("token", "ls", "--format", "json").stdout) == []


def test_who_is_no_user_is_told_what_to_ask_for(corral: Corral, provider: Provider) -> None:
    provider.serve()
    corral("user", "add", "ada", "--role", "admin")
    provider.start()
    stranger = Browser(corral)
    status, page = stranger.sign_in("s-eve")
    assert status == 403
    assert "corral user add NAME --subject s-eve" in page
    assert stranger.me() == "401"
    assert list(users(corral)) == ["ada"], "a name is no proof"
    assert (last_sign_in(corral)["user"], last_sign_in(corral)["status"]) == (None, 403)
    # The admin does so, for a user of before.
    corral("user", "set", "ada", "--subject", "s-eve")
    assert stranger.sign_in("s-eve")[0] == 200
    assert stranger.me() == "ada, admin"
    made = stranger.ask("/tokens", {"user": "ada", "days": 366})[1]["token"]
    assert Browser(corral).open("/api/corral/v1/me", token=made)[0] == 200
    refused = corral("user", "add", "bob", "--subject", "s-eve", status=1).stderr
    assert b"'s-eve' signs in as the user 'ada' already" in refused
    corral("user", "add", "root", "--role", "admin")
    corral("user", "set", "ada", "--disable")
    assert stranger.me() == "401", "it counts at once"
    status, page = stranger.sign_in("s-eve")
    assert (status, "the user 'ada' is disabled" in page) == (403, True)
    corral("user", "set", "ada", "--enable")
    assert Browser(corral).open("/api/corral/v1/me", token=made)[0] == 200
    corral("user", "set", "ada", "--unlink")
    assert Browser(corral).open("/api/corral/v1/me", token=made)[0] == 401, "it was made as somebody else"
    assert stranger.sign_in("s-eve")[0] == 403


# Some providers say who somebody is in the token, others when they are asked.
@pytest.mark.parametrize("complete", [True, False])
def test_new_people_become_users_if_they_may(corral: Corral, provider: Provider, complete: bool) -> None:
    provider.serve("--oidc-role", "writer", "--oidc-domain", "LAB.org")
    corral("user", "add", "ada", "--role", "admin")
    provider.start(complete=complete)
    ada, bob, eve, mal = (Browser(corral) for _ in range(4))
    assert ada.sign_in("s-ada")[0] == 200
    assert ada.me() == "ada-2, writer", "nobody becomes a user of before by their name"
    assert bob.sign_in("s-bob")[0] == 200
    assert bob.me() == "bob-stone-, writer"
    for person, subject in ((eve, "s-eve"), (mal, "s-mal")):
        status, page = person.sign_in(subject)
        assert (status, "in none of the domains" in page) == (403, True), "a verified address counts"
        assert person.me() == "401"
    assert sorted(users(corral)) == ["ada", "ada-2", "bob-stone-"]
    assert users(corral)["ada-2"]["display"] == "Ada Lovelace"
    again = Browser(corral)
    assert again.sign_in("s-ada")[0] == 200
    assert again.me() == "ada-2, writer"
    assert len(users(corral)) == 3


def test_groups_of_the_provider_are_teams(corral: Corral, provider: Provider) -> None:
    provider.serve("--oidc-role", "writer", "--oidc-groups", "roles")
    corral("user", "add", "root", "--role", "admin")
    corral("team", "add", "seniors", "--group", "lab-seniors", "--member", "root")
    corral("space", "add", "vision", "--member", "@seniors")
    corral("run", "--no-listeners", "--quiet", "--experiment", "vision/net", "true")
    PEOPLE["s-bob"]["roles"] = ["lab-seniors", "staff"]
    provider.start()

    def experiments(browser: Browser) -> list[str]:
        return [one["name"] for one in browser.ask("/experiments")[1]["experiments"] if one["name"] != "Default"]

    bob = Browser(corral)
    assert bob.sign_in("s-bob")[0] == 200
    assert experiments(bob) == ["vision/net"]
    assert [team["name"] for team in bob.ask("/teams")[1]["teams"]] == ["seniors"]
    assert [space["name"] for space in bob.ask("/spaces")[1]["spaces"]] == ["vision"]
    eve = Browser(corral)
    assert eve.sign_in("s-eve")[0] == 200
    assert (experiments(eve), eve.ask("/teams")[1]["teams"], eve.ask("/spaces")[1]["spaces"]) == ([], [], [])
    listed = corral("team", "ls").stdout.decode()
    assert "bob-stone-, root" in listed
    assert "lab-seniors" in listed
    assert eve.ask("/teams", {"name": "mine", "members": ["ada"]})[0] == 403
    # A person who leaves the group leaves the team at the next sign-in, also for what is open.
    del PEOPLE["s-bob"]["roles"]
    provider.stop()
    provider.start()
    again = Browser(corral)
    assert again.sign_in("s-bob")[0] == 200
    assert (experiments(again), experiments(bob)) == ([], [])
    assert json.loads(corral("team", "ls", "--format", "json").stdout)[0]["members"] == "root"
    corral("team", "set", "seniors", "--add", "bob-stone-", "--no-group")
    assert experiments(bob) == ["vision/net"]
    corral("team", "rm", "seniors")
    assert experiments(bob) == []


def test_only_the_browser_that_began_gets_in(corral: Corral, provider: Provider) -> None:
    provider.serve()
    corral("user", "add", "ada", "--role", "admin", "--subject", "s-ada")
    corral("user", "add", "eve", "--role", "reader", "--subject", "s-eve")
    provider.start()
    victim, attacker = Browser(corral), Browser(corral)
    # A link that would sign the victim in as the attacker.
    address = attacker.enter_name("s-eve")
    status, page, _ = victim.open(address)
    assert (status, "begun in another browser" in page) == (400, True)
    victim.open("/auth/login", follow=False)
    assert victim.open(address)[0] == 400, "nor while a sign-in of the victim's own goes on"
    # The attacker's code in the victim's sign-in: the provider knows that another browser asked for it.
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]
    state = next(cookie.value for cookie in victim.cookies if cookie.name == "corral_sign_in")
    assert state is not None
    query = urllib.parse.urlencode({"code": code, "state": state.partition(".")[0]})
    status, page, _ = victim.open(f"/auth/callback?{query}")
    assert (status, "invalid_grant" in page) == (401, True)
    assert victim.me() == "401"
    assert last_sign_in(corral)["status"] == 401
    # A code counts once.
    address = attacker.enter_name("s-eve")
    kept = [cookie for cookie in attacker.cookies if cookie.name == "corral_sign_in"]
    assert attacker.open(address)[0] == 200
    attacker.cookies.set_cookie(kept[0])
    assert attacker.open(address)[0] == 401
    # Texts of the provider, or of somebody in its place, are shown as text; the browser goes on here alone.
    attacker.open("/auth/login?to=//evil.org/", follow=False)
    state = next(cookie.value for cookie in attacker.cookies if cookie.name == "corral_sign_in")
    assert state is not None
    status, page, _ = attacker.open(f"/auth/callback?state={state.partition('.')[0]}&error=%3Cscript%3E")
    assert (status, "<script>" in page, "&lt;script&gt;" in page) == (401, False, True)
    for elsewhere in ("//evil.org/", "https://evil.org/", "/\\evil.org", "x", ""):
        status, page = Browser(corral).sign_in("s-ada", elsewhere)
        assert (status, 'content="0;url=/"' in page) == (200, True), elsewhere


@pytest.fixture
def database(corral: Corral) -> Iterator[Postgres]:
    """The store of the server is a database."""
    bin_ = programs()
    if bin_ is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(bin_)
    corral.use_database(server.url("postgres", "postgres"))
    try:
        yield server
    finally:
        corral.close()
        server.close()


@pytest.mark.usefixtures("database")
def test_a_lab_has_it_behind_nginx_with_a_database(corral: Corral, provider: Provider) -> None:
    lab = Lab(corral)
    server = serve(corral, *provider.options(), "--behind-proxy", "127.0.0.1", "--oidc-role", "writer")
    with nginx_in_front(lab, free_port()) as url:
        provider.corrals_url = url
        provider.start("ES256")
        browser = Browser(corral, url, ssl.create_default_context(cafile=str(lab.authority.file)))
        assert browser.sign_in("s-ada", "/people")[0] == 200
        assert browser.me() == "ada, writer"
        kept = [cookie.name for cookie in browser.cookies if cookie.secure]
        assert kept == ["__Host-corral_token"]
        # Past the proxy the provider does not know the address to return to, and no attempt is remembered.
        past = Browser(corral)
        status, page, headers = past.open("/auth/login", follow=False)
        assert (status, "redirect_uri=http%3A%2F%2F127.0.0.1" in headers["Location"]) == (303, True), page
        assert past.open(headers["Location"])[0] == 400
        assert browser.ask("/sign-out", {})[0] == 200
        assert browser.me() == "401"
    corral("serve", "--stop")
    assert f"They sign in at {provider.issuer}, which must know" in server.communicate()[0].decode()


def test_keys_of_the_provider_change(corral: Corral, provider: Provider) -> None:
    provider.serve()
    corral("user", "add", "ada", "--role", "admin", "--subject", "s-ada")
    status, page, _ = Browser(corral).open("/auth/login")
    assert (status, "no server at http://127.0.0.1" in page) == (503, True)
    # That it does not answer is remembered for some seconds.
    corral("serve", "--stop")
    provider.serve()
    # The second one has the same name.
    for algorithm, key in (("RS256", "k1"), ("ES256", "k1")):
        provider.start(algorithm, key)
        assert Browser(corral).sign_in("s-ada")[0] == 200, algorithm
        provider.stop()


def test_a_program_let_in_stays_when_the_browser_leaves(corral: Corral, provider: Provider) -> None:
    provider.serve()
    corral("user", "add", "ada", "--role", "owner", "--subject", "s-ada")
    provider.start("PS256")
    browser = Browser(corral)
    assert browser.sign_in("s-ada")[0] == 200
    program = Browser(corral)
    asked = program.ask("/device-codes", {"client": "laptop"})[1]
    assert browser.ask(f"/device-codes/{asked['code']}", {"allow": True, "role": "writer"}, "PUT")[0] == 200
    assert browser.ask("/sign-out", {})[0] == 200
    status, got = program.ask("/device-tokens", {"device_code": asked["device_code"]})
    assert status == 403, "who let it in has left before it came"
    assert browser.sign_in("s-ada")[0] == 200
    asked = program.ask("/device-codes", {"client": "laptop"})[1]
    assert browser.ask(f"/device-codes/{asked['code']}", {"allow": True, "role": "writer"}, "PUT")[0] == 200
    status, got = program.ask("/device-tokens", {"device_code": asked["device_code"]})
    assert (status, got["state"]) == (200, "allowed")
    assert browser.ask("/sign-out", {})[0] == 200
    token = corral.home / "laptop.token"
    token.write_text(got["token"])
    token.chmod(0o600)
    said = corral("whoami", "--server", corral.url(), "--token-file", token).stdout
    assert said == b"ada, writer\n"
    corral("user", "set", "ada", "--disable", status=0)
    corral("whoami", "--server", corral.url(), "--token-file", token, status=1)


def test_what_does_not_fit_together_is_refused(corral: Corral) -> None:
    lab = ("--auth", "users", "--oidc-issuer", "https://id.lab", "--oidc-client", "c")
    for name, mode, content in (("open", 0o666, "secret"), ("empty", 0o600, "\n")):
        (corral.home / name).write_text(content)
        (corral.home / name).chmod(mode)
    for options, said in (
        (("--oidc-client", "c"), b"needs both --oidc-issuer and --oidc-client"),
        (("--oidc-issuer", "https://id.lab"), b"needs both --oidc-issuer and --oidc-client"),
        (("--oidc-role", "reader"), b"needs both --oidc-issuer and --oidc-client"),
        (("--oidc-issuer", "http://id.lab", "--oidc-client", "c", "--auth", "users"), b"'http://id.lab' is no issuer"),
        (("--oidc-issuer", "https://id.lab", "--oidc-client", "c"), b"it goes with --auth users"),
        ((*lab, "--oidc-secret-file", "open"), b"every user of this machine may read or change this secret"),
        ((*lab, "--oidc-secret-file", "empty"), b"empty holds no secret"),
        ((*lab, "--oidc-secret-file", "none"), b"none"),
        ((*lab, "--oidc-role", "writer", "--oidc-domain", ""), b"expected a domain"),
        ((*lab, "--oidc-role", "writer", "--oidc-domain", "a@lab.org"), b"expected a domain"),
        (
            ("--oidc-issuer", "https://id.lab", "--oidc-client", "c", "--auth", "users", "--oidc-domain", "lab.org"),
            b"--oidc-domain is for new people",
        ),
    ):
        refused = corral("serve", "--listen", "127.0.0.1:0", *options, status=None)
        assert refused.returncode in (1, 2)
        assert said in refused.stderr, refused.stderr
    corral.serve("--auth", "users")
    refused = corral("user", "add", "ada", "--subject", "s", status=1)
    assert b"this server has no provider" in refused.stderr
    status, page, _ = Browser(corral).open("/auth/login")
    assert (status, "no provider" in page) == (404, True)

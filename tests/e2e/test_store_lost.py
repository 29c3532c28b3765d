"""A store that is deleted or moved under its server: nothing more is acknowledged, the user is warned, and what was not
acknowledged reaches the next store at that path."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import PATIENCE, Corral, Counter, read_record, until

LOST = "was deleted, moved or replaced while its server ran"


def losses_told(text: str) -> int:
    """The run says it once. A file of the kept code that was under way then has a line of its own."""
    return sum(LOST in line and not line.startswith("corral: artifact ") for line in text.splitlines())


def delete(corral: Corral) -> None:
    """At once: the next server may make its store while files are deleted one by one."""
    trash = corral.home / "trash"
    corral.store.rename(trash)
    shutil.rmtree(trash)


def move(corral: Corral) -> None:
    corral.store.rename(corral.home / "moved")


def command(counter: Counter) -> list[str]:
    """Logs until it is stopped; its exit status is 7."""
    return ["/bin/sh", "-c", '"$@"; exit 7', "sh", *counter.program(10_000_000, burst=50, pause=0.01)]


def steps_of(corral: Corral, store: Path | None = None) -> set[int]:
    """Those of the newest run; its server is started when there is none."""
    env = {"CORRAL_STORE": str(store)} if store else None
    text = corral("export", "@1", "--metric", "x", "--format", "jsonl", env=env).stdout.decode()
    return {int(json.loads(line)["step"]) for line in text.splitlines()}


@pytest.mark.parametrize("lose", [delete, move])
def test_what_is_logged_after_the_loss_reaches_the_next_store(corral: Corral, lose: Callable[[Corral], None]) -> None:
    counter = corral.counter()
    run = corral.start("run", "--no-listeners", "--", *command(counter))
    until(lambda: corral.server_pid() and counter.returned > 500, "it logs and is served")
    until(lambda: corral("ls", "metrics", "@1", "--format", "json", status=None).stdout.count(b'"x"'), "points arrive")
    lose(corral)
    lost_at = counter.returned
    until(lambda: counter.returned > lost_at + 500, "it goes on")
    counter.stop()
    _, error = run.communicate(timeout=100)
    assert run.returncode == 7
    assert losses_told(error.decode()) == 1, error.decode()
    assert LOST in (corral.spool / "server.log").read_text()

    assert corral.server_pid() or corral("ls", "runs")
    corral.wait_spool_empty()
    assert corral.wait_ended()["status"] == "failed"
    kept = steps_of(corral)
    assert kept >= set(range(lost_at, counter.returned)), (lost_at, min(kept), max(kept), len(kept), counter.returned)
    if lose is move:
        # The server of the moved store gets no signal: until it exits, the store is its own.
        before = until(lambda: read_moved(corral), "the moved store can be opened")
        assert before | kept == set(range(counter.returned))


def read_moved(corral: Corral) -> set[int] | None:
    moved = corral.home / "moved"
    done = corral("store", "check", env={"CORRAL_STORE": str(moved)}, status=None)
    assert done.returncode == 0, done.stdout
    served = corral("ls", "runs", env={"CORRAL_STORE": str(moved)}, status=None)
    if served.returncode != 0:
        return None
    steps = steps_of(corral, moved)
    corral("serve", "--stop", env={"CORRAL_STORE": str(moved)})
    return steps


def test_a_server_that_was_started_by_hand_leaves_with_an_error(corral: Corral) -> None:
    server = corral.start("serve", "--listen", "127.0.0.1:0")
    until(lambda: corral.server_pid() == server.pid, "the server answers")
    url = corral.url()
    counter = corral.counter()
    run = corral.start("run", "--no-listeners", "--server", url, "--", *command(counter))
    until(lambda: counter.returned > 500 and corral.runs(), "it logs")
    delete(corral)
    lost_at = counter.returned
    _, error = server.communicate(timeout=100)
    assert server.returncode == 1
    assert LOST in error.decode()
    counter.stop()
    _, error = run.communicate(timeout=100)
    assert run.returncode == 7
    assert losses_told(error.decode()) == 1, error.decode()
    (spooled,) = corral.spooled()

    again = corral.start("serve", "--listen", url.removeprefix("http://"))
    until(lambda: corral.server_pid() == again.pid, "another server answers there")
    taken = f"while [ -d {spooled} ]; do sleep 0.1; done"
    corral("run", "--no-listeners", "--name", "after", "--server", url, "--", "/bin/sh", "-c", taken)
    (lost,) = [r["id"] for r in corral.runs() if r["name"] != "after"]
    steps = {p.step for p in corral.points(lost, "x")}
    assert steps >= set(range(lost_at, counter.returned))


@contextmanager
def replaced_at_the_first_file(first: str, second: str) -> Iterator[str]:
    """A server's address at which `second` takes the place of `first` right before a run's file arrives."""
    stand_in = [first]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.command == "PUT" and "/artifacts/" in self.path:
                stand_in[0] = second
            address = urlsplit(stand_in[0]).netloc
            connection = http.client.HTTPConnection(address, timeout=PATIENCE)
            connection.request(self.command, self.path, body, dict(self.headers) | {"Host": address})
            reply = connection.getresponse()
            content = reply.read()
            connection.close()
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def do_PUT(self) -> None:
            self.answer()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_that_meets_another_store_than_its_run_is_kept_there(corral: Corral) -> None:
    script = corral.script(
        "train.py",
        """
        import corral, pathlib
        pathlib.Path("a.txt").write_text("a")
        corral.artifact("a.txt")
        """,
    )
    corral.serve()
    second = corral.home / "second"
    corral.start("serve", "--listen", "127.0.0.1:0", env={"CORRAL_STORE": str(second)})
    record = until(lambda: read_record(second), "the second server answers")
    with replaced_at_the_first_file(corral.url(), record["url"]) as url:
        done = corral("run", "--no-listeners", "--keep-code", "off", "--server", url, script)
    assert b"refused" not in done.stderr, done.stderr
    assert corral.spooled() == []
    (run,) = json.loads(corral("ls", "runs", "--format", "json", env={"CORRAL_STORE": str(second)}).stdout)
    assert run["status"] == "finished"
    kept = list(second.glob(f"artifacts/*/{run['id']}/artifacts/a.txt"))
    assert [path.read_text() for path in kept] == ["a"]

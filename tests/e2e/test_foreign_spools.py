"""Spools and sockets that another user made, or put something into, with a real second user: nothing of this user's is
read, changed or sent because of them."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import BINARY, Corral, until, until_said

OTHER = 65534
SECRET = b"the victim's secret\n"
BIG = 10 << 20  # larger than the part of an output file that is given back to the disk

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as a second user")


def manifest(store: Path, name: str) -> dict[str, object]:
    """The manifest of a run whose supervisor and command are gone."""
    gone = {"pid": 4_000_000, "start_ticks": 1, "boot_id": "another boot"}
    return {
        "version": 1,
        "run": secrets.token_hex(16),
        "session": secrets.token_hex(16),
        "workload": secrets.token_hex(16),
        "experiment": "planted",
        "workload_name": "",
        "run_name": name,
        "host": "host",
        "store": str(store),
        "server": "",
        "utc_minus_boot_ns": 1_700_000_000_000_000_000,
        "clock_error_ns": 1,
        "started_ns": 1,
        "supervisor": gone,
        "child": gone,
    }


def plant_run(spool: Path, store: Path, name: str) -> Path:
    facts = manifest(store, name)
    run = spool / str(facts["run"])
    (run / "seg").mkdir(parents=True, mode=0o700)
    run.chmod(0o700)
    (run / "seg" / "drops").write_bytes(bytes(4096))
    (run / "manifest.json").write_text(json.dumps(facts))
    return run


SEGMENT = "seg/" + "a" * 32 + "-000000.seg"
CALL = "calls/" + "0" * 20 + "-" + "b" * 32
CLIENT = "mlflow/" + "c" * 32
ARTIFACT = "artifacts/" + "d" * 32
FILES = [
    "lock",
    "handover",
    "000000000001.frames",
    "out.log",
    "out.log.stored",
    "err.log",
    "tty.log",
    "seg/drops",
    SEGMENT,
    f"{CLIENT}/session",
    f"{CLIENT}/000000000001.frames",
    "mlflow/book",
    f"{ARTIFACT}/data",
    f"{ARTIFACT}/name",
    CALL,
    "profile/report.nsys-rep",
    "profile/request",
    "limit",
    "manifest.json",
]
FOLDERS = ["seg", "mlflow", CLIENT, "artifacts", ARTIFACT, "calls", "profile", "refused"]


class Victim:
    """Files of this user that a planted name leads to."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "victim"
        self.folder.mkdir(mode=0o700)
        self.small = self.folder / "data"
        self.small.write_bytes(SECRET)
        (self.folder / "name").write_bytes(SECRET)
        self.big = self.folder / "big"
        self.big.write_bytes(SECRET * (BIG // len(SECRET)))
        self.before = self.state()

    def state(self) -> dict[str, tuple[bytes, int]]:
        files = sorted(self.folder.iterdir())
        return {file.name: (file.read_bytes(), file.stat().st_blocks) for file in files}

    def unharmed(self) -> None:
        assert self.state() == self.before


def stored_text(corral: Corral) -> bytes:
    """Everything that the store keeps, but for what the databases compress."""
    files = [file for file in corral.store.rglob("*") if file.is_file()]
    shown = [corral("show", run["id"], "--format", "json").stdout for run in corral.runs()]
    logs = [json.dumps(corral.get(f"/api/corral/v1/runs/{run['id']}/logs")).encode() for run in corral.runs()]
    return b"".join([*(file.read_bytes() for file in files), *shown, *logs])


ATTACKER = """
import json, os, sys
store, victim, manifest = sys.argv[1:]
facts = json.loads(manifest)
run = f"/var/tmp/corral-0/spool/{facts['run']}"
os.makedirs(run + "/seg")
os.makedirs(run + "/artifacts/" + "d" * 32)
open(run + "/manifest.json", "w").write(manifest)
open(run + "/seg/drops", "wb").write(bytes(4096))
open(run + "/artifacts/" + "d" * 32 + "/name", "w").write(facts["run"] + "\\nstolen.txt")
os.symlink(victim + "/data", run + "/artifacts/" + "d" * 32 + "/data")
os.symlink(victim + "/data", run + "/out.log")
os.symlink(victim + "/big", run + "/err.log")
os.chmod("/var/tmp/corral-0", 0o777)
"""


def test_a_fallback_that_another_user_made_is_never_read(corral: Corral) -> None:
    victim = Victim(corral.home)
    attack = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", sys.executable, "-c", ATTACKER]
    attack += [str(corral.store), str(victim.folder), json.dumps(manifest(corral.store, "stolen"))]
    # Both see a /var/tmp of their own; the machine's stays as it is.
    script = 'mount -t tmpfs -o mode=1777 tmpfs /var/tmp && "${@:2}" && exec "$1" serve --idle-exit'
    environment = {key: value for key, value in corral.environment.items() if key != "CORRAL_SPOOL"}
    with subprocess.Popen(
        ["unshare", "--mount", "bash", "-c", script, "bash", str(BINARY), *attack],
        env=environment,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=corral.home,
    ) as server:
        try:
            said = until_said(server, b"is not trusted").decode()
            assert "/var/tmp/corral-0" in said
            assert f"belongs to user {OTHER}" in said
            assert corral.runs() == []
            victim.unharmed()
            assert SECRET not in stored_text(corral)
        finally:
            server.terminate()


def as_link(place: Path, target: Path) -> None:
    place.symlink_to(target)


def as_hard_link(place: Path, target: Path) -> None:
    os.link(target, place)


def as_file_of_another_user(place: Path, target: Path) -> None:
    place.write_bytes(target.read_bytes())
    os.chown(place, OTHER, OTHER)


def as_pipe(place: Path, target: Path) -> None:
    del target
    os.mkfifo(place)


@pytest.mark.parametrize("make", [as_link, as_hard_link, as_file_of_another_user, as_pipe])
def test_nothing_that_was_put_into_an_own_spool_is_followed(corral: Corral, make: Callable[[Path, Path], None]) -> None:
    """One run for each kind of file; each ends in the store or is named, and no round waits for ever."""
    victim = Victim(corral.home)
    corral.spool.mkdir(mode=0o700)
    for name in FILES:
        run = plant_run(corral.spool, corral.store, name)
        (run / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (run / name).unlink(missing_ok=True)
        if name == f"{ARTIFACT}/data":
            (run / ARTIFACT / "name").write_text(f"{run.name}\nstolen.txt")
        make(run / name, victim.big if name.endswith(".log") else victim.small)
    settle(corral)
    if make is not as_hard_link:  # a link changes the file's metadata, not its content
        victim.unharmed()
    assert {file.name: file.read_bytes() for file in victim.folder.iterdir()} == {
        name: content for name, (content, _) in victim.before.items()
    }
    assert SECRET not in stored_text(corral)


@pytest.mark.parametrize("foreign", [False, True], ids=["link", "another-user"])
def test_no_folder_that_was_put_into_an_own_spool_is_entered(corral: Corral, foreign: bool) -> None:
    victim = Victim(corral.home)
    corral.spool.mkdir(mode=0o700)
    for name in FOLDERS:
        run = plant_run(corral.spool, corral.store, name)
        if name == "seg":
            (run / "seg" / "drops").unlink()
            (run / "seg").rmdir()
        (run / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if foreign:
            (run / name).mkdir()
            (run / name / "data").write_bytes(SECRET)
            (run / name / "name").write_text(f"{run.name}\nstolen.txt")
            os.chown(run / name, OTHER, OTHER)
        else:
            (run / name).symlink_to(victim.folder)
    settle(corral)
    victim.unharmed()
    assert SECRET not in stored_text(corral)


def settle(corral: Corral) -> None:
    """Serves until a run that came after the others is stored: by then each of them was looked at, and none is waited
    for."""
    corral.serve()
    last = plant_run(corral.spool, corral.store, "last")
    until(lambda: not last.exists(), "the run beside them has reached the store")


LISTENER = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen(64)
print("ready", flush=True)
while True:
    client, _ = listener.accept()
    client.settimeout(5)
    try:
        print(client.recv(65536), flush=True)
    except OSError:
        pass
    client.close()
"""


def test_a_server_of_another_user_gets_nothing(corral: Corral) -> None:
    """At the socket of a store whose path is too long for one."""
    store = corral.home / ("s" * 100)
    store.mkdir()
    (store / "corral.db").touch()
    os.chmod(corral.runtime, 0o777)
    digest = hashlib.sha256(os.fsencode(store)).hexdigest()[:16]
    socket = corral.runtime / f"{digest}.sock"
    attack = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", sys.executable, "-c", LISTENER]
    with subprocess.Popen([*attack, str(socket)], stdout=subprocess.PIPE) as listener:
        assert listener.stdout is not None
        try:
            assert listener.stdout.readline() == b"ready\n"
            listed = corral("ls", "runs", "--store", store, status=1)
            assert f"belongs to user {OTHER}" in listed.stderr.decode()
            ran = corral("run", "--store", store, "sh", "-c", "echo secret; exit 7", status=7)
            assert ran.stdout == b"secret\n"
            assert f"belongs to user {OTHER}" in ran.stderr.decode()
            assert len(corral.spooled()) == 1
        finally:
            listener.terminate()
        assert b"HTTP" not in listener.stdout.read()

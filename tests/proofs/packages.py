"""Proves that the packages install, work and go again on systems that hold nothing else.

    ./dev proof packages                       Debian 12, 13 and 11, and arm64 (Debian 12, by qemu-user)
    ./dev proof packages --suites bookworm     one of them
    ./dev proof packages --twice               builds all again in another directory and compares the bytes
    ./dev proof packages --smoke               wheel and archive of build/release, on this machine

It makes the packages first (`./dev package`), then a root per suite with mmdebstrap. Needs root, the network, and for
arm64 qemu-user-static. Passed: in each root archive, wheel and .deb record a run and show it; the wheel serves the
demo; certificates are verified; `apt-get purge` leaves no file behind; the image runs as user 10001 from a read-only
root.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from _build import ROOT, SKIPPED

SUITES = ("bookworm", "trixie", "bullseye", "bookworm/arm64")
DEBIAN_TO_ARCH = {"amd64": "x86_64", "arm64": "aarch64"}
LOOP = """
import corral
for step in range(50):
    corral.log("loss", 1 / (1 + step), step=step)
"""
# Shell scripts that run in a root.
RECORD = """set -e
export HOME={home} CORRAL_STORE={home}/{name}/store CORRAL_SPOOL={home}/{name}/spool
{corral} --version | grep -q '^corral 0'
{corral} run --no-listeners -- {command} >/dev/null
{corral} show @1 --format json | grep -q '"status": *"finished"'
{corral} serve --stop >/dev/null
"""
DEMO = """set -e
export HOME=/root
timeout --signal=INT --kill-after=60 25 {corral} demo --time 3s > /tmp/demo.txt || [ $? = 124 ]
grep -q 'until Ctrl-C' /tmp/demo.txt || {{ cat /tmp/demo.txt; exit 1; }}
"""
# The server that answers is not Corral's: the program says so as soon as it trusts the certificate.
TLS = """export HOME=/root
said() {{ {corral} ls runs --server https://localhost:{port} 2>&1 || true; }}
expect() {{ case $(said) in *"$1"*) ;; *) said; exit 1 ;; esac; }}
expect "certificate is not trusted"
(export SSL_CERT_FILE=/tmp/authority.pem; expect "not as a Corral server") || exit 1
mkdir -p /etc/pki/tls/certs && cp /tmp/authority.pem /etc/pki/tls/certs/ca-bundle.crt
[ -e /etc/ssl/certs/ca-certificates.crt ] || (expect "not as a Corral server") || exit 1
rm -r /etc/pki
"""


class CheckError(Exception):
    """A package failed a check."""


def call(*words: str | Path, **options: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise CheckError(f"{' '.join(map(str, words))[:200]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return str(done.stdout)


class Root:
    """A Debian of nothing but its essential packages, and Python."""

    def __init__(self, suite: str, folder: Path) -> None:
        self.suite, _, self.machine = suite.partition("/")
        self.machine = self.machine or "amd64"
        self.folder = folder / suite.replace("/", "-")
        call(
            *("mmdebstrap", "--quiet", "--variant=minbase", f"--architectures={self.machine}"),
            *("--include=python3,python3-venv", self.suite, self.folder),
        )

    @property
    def arch(self) -> str:
        return DEBIAN_TO_ARCH[self.machine]

    def run(self, script: str) -> str:
        inner = f"mount -t proc proc /proc; mount -t tmpfs tmpfs /dev/shm 2>/dev/null; {script}"
        mounts = f"mount --rbind /dev {self.folder}/dev && mount --rbind /sys {self.folder}/sys"
        outer = f'{mounts} && exec chroot {self.folder} /bin/sh -c "$1"'
        return call(
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
            *("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "sh", "-c", outer, "sh", inner),
            timeout=900,
        )

    def files(self) -> set[str]:
        left_out = ("/proc/", "/sys/", "/dev/", "/tmp/", "/var/cache/", "/var/log/", "/var/lib/dpkg/", "/var/lib/apt/")
        found = {"/" + path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*")}
        return {path for path in found if not f"{path}/".startswith(left_out) and "__pycache__" not in path}


@contextlib.contextmanager
def tls_server(folder: Path) -> Iterator[tuple[int, Path]]:
    """Port of a server that answers with a page of OpenSSL's, and the certificate of its authority."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    call(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate),
    )
    command: list[str | Path] = [
        "openssl",
        "s_server",
        "-accept",
        "127.0.0.1:0",
        "-cert",
        certificate,
        "-key",
        key,
        "-www",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if line.startswith("ACCEPT "))
        yield int(line.rpartition(":")[2]), certificate
        server.kill()


# Checks in a root


def check_archive(root: Root, dist: Path, port: int) -> None:
    (archive,) = dist.glob(f"corral-*-linux-{root.arch}.tar.gz")
    call("tar", "-xzf", archive, "-C", root.folder / "opt")
    (top,) = (root.folder / "opt").iterdir()
    corral = f"/opt/{top.name}/bin/corral"
    root.run(RECORD.format(home="/tmp", name="archive", corral=corral, command="/bin/true"))
    root.run(TLS.format(corral=corral, port=port))
    shutil.rmtree(top)


def check_wheel(root: Root, dist: Path, port: int) -> None:
    if root.suite == "bullseye":  # has Python 3.9
        return
    (wheel,) = dist.glob(f"corral-*_{root.arch}.whl")
    shutil.copy(wheel, root.folder / "tmp")
    (root.folder / "tmp/loop.py").write_text(LOOP)
    root.run(f"python3 -m venv /opt/venv && /opt/venv/bin/pip install --quiet --no-index /tmp/{wheel.name}")
    root.run(
        RECORD.format(
            home="/tmp", name="wheel", corral="/opt/venv/bin/corral", command="/opt/venv/bin/python /tmp/loop.py"
        )
    )
    root.run(RECORD.format(home="/tmp", name="other", corral="/opt/venv/bin/corral", command="python3 /tmp/loop.py"))
    root.run(DEMO.format(corral="/opt/venv/bin/corral"))
    root.run(TLS.format(corral="/opt/venv/bin/corral", port=port))
    shutil.rmtree(root.folder / "opt/venv")


def check_deb(root: Root, dist: Path, port: int) -> None:
    (deb,) = dist.glob(f"corral_*_{root.machine}.deb")
    shutil.copy(deb, root.folder / "tmp")
    before = root.files()
    root.run(f"dpkg -i /tmp/{deb.name}")
    (root.folder / "tmp/loop.py").write_text(LOOP)
    python = "/bin/true" if root.suite == "bullseye" else "python3 /tmp/loop.py"
    root.run(RECORD.format(home="/tmp", name="deb", corral="corral", command=python))
    if root.suite != "bullseye":
        root.run("cd / && python3 -c 'import corral; assert corral.run_id() is None'")
    root.run("bash -c 'source /usr/share/bash-completion/completions/corral && complete -p corral' >/dev/null")
    shutil.rmtree(root.folder / "root", ignore_errors=True)
    root.run("mkdir -p /var/lib/private/corral/store && ln -s private/corral /var/lib/corral")  # as systemd makes them
    root.run("apt-get purge --yes corral >/dev/null")
    (root.folder / "root").mkdir(exist_ok=True)
    left = {path for path in root.files() - before if not path.startswith("/root/")}
    if left:
        raise CheckError(f"apt-get purge left {', '.join(sorted(left)[:10])}")


# Checks on this machine


def check_units(dist: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (deb,) = dist.glob("corral_*_amd64.deb")
        call("dpkg-deb", "-x", deb, folder)
        for unit in Path(folder).glob("lib/systemd/system/*.service"):
            call("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)


def check_image(dist: Path) -> None:
    (image,) = dist.glob(f"corral-*-oci-{platform.machine()}.tar")
    name = call("podman", "load", "--quiet", "--input", image).strip().rpartition(" ")[2]
    try:
        # Limits and cgroups that are allowed inside containers, too.
        podman = ("podman", "--cgroup-manager=cgroupfs", "--events-backend=none", "run", "--rm", "--network=host")
        base = (*podman, "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000", "--read-only", "--tmpfs=/tmp")
        call(*base, name, "--version")
        said = subprocess.run([*base, name], capture_output=True, text=True, check=False).stderr
        if "token" not in said:
            raise CheckError(f"the image serves everyone without a token: {said}")
        call(*base, name, "run", "--no-listeners", "--", "/usr/bin/corral", "--version")
        user, size = call("podman", "image", "inspect", "--format", "{{.Config.User}} {{.Size}}", name).split()
        if user != "10001:10001" or int(size) > 120 << 20:
            raise CheckError(f"the image's user is {user}, its size {size} bytes")
    finally:
        call("podman", "image", "rm", "--force", name)


def check_sizes(dist: Path) -> None:
    for path in dist.glob("*.whl"):
        if path.stat().st_size > 12 << 20:
            raise CheckError(f"{path.name} has {path.stat().st_size / 2**20:.1f} MiB, of 12 at most")


def check_twice(dist: Path) -> None:
    """The same commit in another directory gives the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "another-place"
        call("git", "clone", "--quiet", ROOT, clone)
        call("./dev", "package", "--out", Path(folder) / "dist", cwd=clone, env=os.environ | {"CCACHE_DISABLE": "1"})
        for path in sorted((Path(folder) / "dist").glob("corral*")):
            same = dist / path.name
            if hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(same.read_bytes()).digest():
                raise CheckError(f"{path.name} differs from the one of the first build")


def smoke() -> int:
    """Wheel and archive of the usual build, in directories of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        dist, home = Path(folder) / "dist", Path(folder) / "home"
        home.mkdir()
        call(sys.executable, ROOT / "tools/package", "--local", "--out", dist, "archive", "deb")
        (archive,) = dist.glob("*.tar.gz")
        call("tar", "-xzf", archive, "-C", home)
        (top,) = home.iterdir()
        call("sh", "-c", RECORD.format(home=home, name="smoke", corral=top / "bin/corral", command="/bin/true"))
        check_sizes(dist)
    print("an archive of build/release recorded a run")
    return 0


def missing(suites: list[str]) -> str:
    if os.geteuid() != 0:
        return "root, for roots of other systems"
    tools = ["mmdebstrap", "unshare", "podman", "systemd-analyze", "openssl"]
    if any(suite.endswith("/arm64") for suite in suites):
        tools.append("qemu-aarch64-static")
    return ", ".join(tool for tool in tools if shutil.which(tool) is None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=SUITES)
    parser.add_argument("--dist", type=Path, help="packages that are there already")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        return smoke()
    if lacking := missing(options.suites):
        print(f"needs {lacking}")
        return SKIPPED
    return prove(options)


def prove(options: argparse.Namespace) -> int:
    failed: list[str] = []

    def attempt(name: str, check: Callable[[], None]) -> None:
        try:
            check()
            print(f"  {name}: ok", flush=True)
        except (CheckError, ValueError, subprocess.TimeoutExpired) as error:
            failed.append(name)
            print(f"  {name}: FAILED: {error}", flush=True)

    dist = options.dist or ROOT / "dist"
    if options.dist is None:
        for arch in {arch_of(suite) for suite in options.suites}:
            subprocess.run([ROOT / "dev", "package", "--arch", arch, "--out", dist], check=True)
    attempt("sizes", lambda: check_sizes(dist))
    attempt("units", lambda: check_units(dist))
    attempt("image", lambda: check_image(dist))
    with tempfile.TemporaryDirectory() as folder, tls_server(Path(folder)) as (port, certificate):
        for suite in options.suites:
            root = Root(suite, Path(folder))
            shutil.copy(certificate, root.folder / "tmp/authority.pem")
            for check in (check_archive, check_wheel, check_deb):
                attempt(f"{suite} {check.__name__[6:]}", functools.partial(check, root, dist, port))
    if options.twice:
        attempt("the same bytes again", lambda: check_twice(dist))
    print(f"{', '.join(options.suites)}: " + (f"failed: {', '.join(failed)}" if failed else "all checks passed"))
    return 1 if failed else 0


def arch_of(suite: str) -> str:
    return DEBIAN_TO_ARCH[suite.partition("/")[2] or "amd64"]


if __name__ == "__main__":
    sys.exit(main())

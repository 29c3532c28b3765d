"""The OCI image: the program on Debian's C library and certificates, without a shell, made without a registry.

podman load -i corral-0.1.0-oci-x86_64.tar
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from formats import DEBIAN_NAMES, compress, tar_bytes
from tree import File, Tree

USER = 10001
HOME = "var/lib/corral"
LEFT_OUT = ("/usr/share/", "/gconv/", "/audit/", "/usr/sbin/", "/etc/")  # parts of the packages that nothing here needs
ENVIRONMENT = {
    "PATH": "/usr/bin",
    "HOME": f"/{HOME}",
    "CORRAL_STORE": f"/{HOME}/store",
    "CORRAL_SPOOL": f"/{HOME}/spool",
    "CORRAL_LISTEN": "0.0.0.0:5000",
}


@dataclass(frozen=True)
class Image:
    tree: Tree
    packages: dict[str, Path]  # libc6 and ca-certificates as .deb files
    version: str
    arch: str
    when: int


def write(image: Image, target: Path) -> Path:
    tree, when = image.tree, image.when
    layers = [_layer(_base(image.packages), when), _layer({f"usr/{path}": file for path, file in tree.items()}, when)]
    created = datetime.fromtimestamp(when, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = {
        "created": created,
        "architecture": DEBIAN_NAMES[image.arch],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": [f"{name}={value}" for name, value in ENVIRONMENT.items()],
            "Entrypoint": ["/usr/bin/corral"],
            "Cmd": ["serve"],
            "ExposedPorts": {"5000/tcp": {}},
            "Volumes": {f"/{HOME}": {}},
            "WorkingDir": f"/{HOME}",
            "StopSignal": "SIGTERM",
            "Labels": {"org.opencontainers.image.title": "corral", "org.opencontainers.image.licenses": "MIT"},
        },
        "rootfs": {"type": "layers", "diff_ids": [_digest(content) for content, _ in layers]},
        "history": [{"created": created, "created_by": "./dev package image"} for _ in layers],
    }
    blobs: dict[str, bytes] = {}

    def add(content: bytes, kind: str) -> dict[str, object]:
        blobs[hashlib.sha256(content).hexdigest()] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": _digest(content), "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": add(_json(config), "config.v1+json"),
        "layers": [add(packed, "layer.v1.tar+gzip") for _, packed in layers],
    }
    index = {
        "schemaVersion": 2,
        "manifests": [
            add(_json(manifest), "manifest.v1+json")
            | {"annotations": {"org.opencontainers.image.ref.name": f"corral:{image.version}"}}
        ],
    }
    files = {f"blobs/sha256/{digest}": File(content) for digest, content in blobs.items()}
    files["oci-layout"] = File(_json({"imageLayoutVersion": "1.0.0"}))
    files["index.json"] = File(_json(index))
    path = target / f"corral-{image.version}-oci-{image.arch}.tar"
    path.write_bytes(tar_bytes(files, when))
    return path


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _layer(files: Tree, when: int) -> tuple[bytes, bytes]:
    content = tar_bytes(files, when)
    return content, compress(content)


def _base(packages: dict[str, Path]) -> Tree:
    """C library, certificates, the user, and directories that it may write to."""
    found: Tree = {}
    certificates = []
    for package in packages.values():
        for path, file in _contents(package).items():
            licence = path.startswith("/usr/share/doc/") and path.endswith("/copyright")
            if path.startswith("/usr/share/ca-certificates/"):
                certificates.append(file.content)
            elif licence or not any(part in path for part in LEFT_OUT):
                found[path[1:]] = file
    found["etc/ssl/certs/ca-certificates.crt"] = File(b"".join(certificates))
    found["etc/passwd"] = File(f"corral:x:{USER}:{USER}::/{HOME}:/usr/bin/corral\n".encode())
    found["etc/group"] = File(f"corral:x:{USER}:\n".encode())
    found["etc/nsswitch.conf"] = File(b"hosts: files dns\n")
    found["tmp"] = File(mode=0o1777, folder=True)
    found[HOME] = File(mode=0o700, folder=True, owner=USER)
    return found


def _contents(package: Path) -> Tree:
    """The files and links of a .deb."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    found: Tree = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None or member.issym():
                text = content.read() if content is not None else b""
                found[member.name[1:]] = File(text, member.mode, member.linkname)
    return found

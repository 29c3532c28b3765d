"""Reads segments as docs/format-segment.md describes them: written from that page alone, so that it tests the page."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _byte_crc(crc: int) -> int:
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc


_BYTE_CRCS = [_byte_crc(byte) for byte in range(256)]


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _BYTE_CRCS[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclass
class Phase:
    id: int
    parent: int
    begin: int
    kind: int
    name: str
    type: str
    lane: str
    attributes: dict[str, Any]
    end: int | None = None


@dataclass
class Session:
    """All segments of one process."""

    header: dict[str, Any]
    series: dict[int, str] = field(default_factory=dict)
    points: list[tuple[str, float, int | None, int]] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    events: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    phases: dict[int, Phase] = field(default_factory=dict)
    segments: int = 0
    next_sequence: int = 1

    def values(self, name: str) -> list[float]:
        return [value for series, value, _, _ in self.points if series == name]


_FIELDS = (
    *("magic", "version", "header", "slot", "zero", "session", "run", "index", "pid", "base", "slots"),
    *("start_time", "utc_minus_boot", "anchor_error", "session_began", "rank", "boot_id", "host"),
)


def _header(raw: bytes) -> dict[str, Any]:
    header = dict(zip(_FIELDS, struct.unpack_from("<4sHHII16s16sIIQQQqqqq16s128s", raw), strict=True))
    assert header["magic"] == b"CRSG"
    assert (header["version"], header["header"], header["slot"], header["zero"]) == (1, 4096, 32, 0)
    assert struct.unpack_from("<I", raw, 1020)[0] == _crc32c(raw[:1020])
    header["used"] = struct.unpack_from("<Q", raw, 1024)[0] & ~(1 << 63)  # the bit: the session has ended
    assert raw[1032:4096].strip(b"\0") == b""
    assert len(raw) == 4096 + 32 * header["slots"]
    return header


def _texts(payload: bytes, at: int, count: int) -> tuple[list[str], int]:
    texts = []
    for _ in range(count):
        (size,) = struct.unpack_from("<H", payload, at)
        texts.append(payload[at + 2 : at + 2 + size].decode())
        at += 2 + size
    return texts, at


def _attributes(raw: bytes) -> dict[str, Any]:
    if not raw:
        return {}
    parsed = json.loads(raw)
    assert isinstance(parsed, dict)
    return parsed


def _text(session: Session, declared: set[int], kind: int, payload: bytes) -> None:
    if kind == 1:
        number, gauge = struct.unpack_from("<IB", payload)
        assert gauge == 0
        declared.add(number)
        assert session.series.setdefault(number, payload[5:].decode()) == payload[5:].decode()
    elif kind in (2, 3):
        (key,), at = _texts(payload, 0, 1)
        (session.params if kind == 2 else session.tags)[key] = payload[at:].decode()
    elif kind == 4:
        (name,), at = _texts(payload, 8, 1)
        session.events.append((struct.unpack_from("<q", payload)[0], name, _attributes(payload[at:])))
    elif kind == 5:
        number, parent, begin, phase_kind = struct.unpack_from("<QQqB", payload)
        (name, path, lane), at = _texts(payload, 25, 3)
        (links,) = struct.unpack_from("<H", payload, at)
        attributes = _attributes(payload[at + 2 + 8 * links :])
        session.phases[number] = Phase(number, parent, begin, phase_kind, name, path, lane, attributes)
    else:
        assert kind == 6
        number, end = struct.unpack("<Qq", payload)
        session.phases[number].end = end


def _segment(session: Session, raw: bytes, header: dict[str, Any]) -> None:
    assert header["index"] == session.segments, "a segment is missing"
    assert header["base"] == session.next_sequence
    session.segments += 1
    session.next_sequence += header["used"]
    declared: set[int] = set()
    slots = [raw[at : at + 32] for at in range(4096, len(raw), 32)]
    i = 0
    while i < len(slots):
        kind, detail, check, number = struct.unpack_from("<BBHI", slots[i])
        if kind == 1:
            assert check == _crc32c(slots[i][4:]) & 0xFFFF
            time, step, value = struct.unpack_from("<qqd", slots[i], 8)
            assert number in declared, "a point before its series"
            session.points.append((session.series[number], value, step if detail & 1 else None, time))
        elif kind == 2:
            assert check == 0
            more = max(0, -(-(number - 20) // 24))
            payload = slots[i][12:] + b"".join(slot[8:] for slot in slots[i + 1 : i + 1 + more])
            for k, slot in enumerate(slots[i + 1 : i + 1 + more], 1):
                assert struct.unpack_from("<BBHI", slot) == (3, 0, 0, k)
            payload = payload[:number]
            assert struct.unpack_from("<I", slots[i], 8)[0] == _crc32c(payload)
            _text(session, declared, detail, payload)
            i += more
        else:
            assert kind in (0, 3)
        i += 1


def read(directory: Path) -> list[Session]:
    """The sessions of all processes that wrote here, in the order in which they began."""
    sessions: dict[bytes, Session] = {}
    for path in sorted(directory.glob("*.seg")):
        raw = path.read_bytes()
        header = _header(raw[:4096] + raw[4096:])
        assert path.name == f"{header['session'].hex()}-{header['index']:06}.seg"
        session = sessions.setdefault(header["session"], Session(header))
        _segment(session, raw, header)
    return sorted(sessions.values(), key=lambda session: int(session.header["session_began"]))


def drops(directory: Path) -> int:
    return sum(struct.unpack("<512Q", (directory / "drops").read_bytes()))

"""The native module's twin in plain Python, for interpreters that cannot load it: same functions, same segments.

The format is docs/format-segment.md; the state is a _Session of this process, made at its first call and again in every
forked child. All writing is under the session's lock. A call that a signal handler or a finalizer makes in the middle
of another one of its thread is written right after that one.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import struct
import time as _time
from _thread import RLock
from itertools import count

from corral._rank import rank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import SupportsFloat, SupportsIndex

_HEADER = 4096
_SLOT = 32
_FIRST = 256 << 10
_LARGEST = 4 << 20
_NAME_BYTES = 250
_VALUE_BYTES = 6000
_ATTRIBUTES_BYTES = 60_000
_PATH_BYTES = 1000
_PAYLOAD_BYTES = 65_536
_SERIES_LIMIT = 1 << 20
_RETRY_NS = 1_000_000_000
_SESSION_ENDED = 1 << 63
_POINT, _TEXT, _CONTINUATION = 1, 2, 3
_SERIES, _PARAM, _TAG, _EVENT, _BEGIN, _END = range(1, 7)

_DIRECTORY = os.environ.get("CORRAL_SEGMENT_DIR", "")
_ENABLED = _DIRECTORY != ""


def _number(text: str, fallback: int) -> int:
    return int(text) if text.isdecimal() and text.isascii() else fallback


_LIMIT = _number(os.environ.get("CORRAL_SPOOL_LIMIT", ""), 2 << 30)


def attach() -> None:
    """The environment now says where to write, which it did not at the import; else nothing happens."""
    global _DIRECTORY, _ENABLED, _LIMIT
    if not _ENABLED:
        _DIRECTORY = os.environ.get("CORRAL_SEGMENT_DIR", "")
        _LIMIT = _number(os.environ.get("CORRAL_SPOOL_LIMIT", ""), 2 << 30)
        _TABLE[:] = _crc_table()
        _ENABLED = _DIRECTORY != ""


def detach() -> None:
    """Ends this process's session: later calls do nothing. A call of another thread that is on its way is lost."""
    global _ENABLED, _session
    _ENABLED = False
    session, _session = _session, None
    if session is not None and session.pid == os.getpid():
        session.locked(session.end)


def _crc_table() -> list[int]:
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = (crc >> 1) ^ 0x82F63B78 if crc & 1 else crc >> 1
        table.append(crc)
    return table


_TABLE = _crc_table() if _ENABLED else []


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _now() -> int:
    return _time.clock_gettime_ns(_time.CLOCK_BOOTTIME)


def _anchor() -> tuple[int, int]:
    best = (0, 2**63 - 1)
    for _ in range(8):
        before, utc, after = _now(), _time.time_ns(), _now()
        error = (after - before + 1) // 2
        if error < best[1]:
            best = (utc - before - (after - before) // 2, error)
    return best


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _hex_id(text: str) -> bytes:
    try:
        raw = bytes.fromhex(text.replace("-", "").strip())
    except ValueError:
        raw = b""
    return raw if len(raw) == 16 else bytes(16)


class _Segment:
    """One mapped file, locked by this process."""

    def __init__(self, name: str, size: int) -> None:
        self.temporary = os.path.join(_DIRECTORY, f".{name}.tmp")
        self.path = os.path.join(_DIRECTORY, name)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and size > limit:
            raise OSError("over RLIMIT_FSIZE")
        try:
            os.unlink(self.temporary)  # left by a call of this session that a signal interrupted
        except FileNotFoundError:
            pass
        self.fd = os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(self.fd, 0, size)
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            self.map = mmap.mmap(self.fd, size)
        except BaseException:
            os.close(self.fd)
            os.unlink(self.temporary)
            raise
        self.words = memoryview(self.map).cast("Q")  # one assignment is one 8-byte store
        self.slots = (size - _HEADER) // _SLOT
        self.next = 0
        self.declared: set[int] = set()

    def publish(self, header: bytes) -> None:
        self.map[: len(header)] = header
        os.rename(self.temporary, self.path)

    def close(self, used: int) -> None:
        self.words[128] = used

    def discard(self) -> None:
        self.release()
        os.unlink(self.temporary)

    def give_up(self, first: int, slots: int) -> None:
        """Makes slots whose writing a signal interrupted ones that readers skip: continuations without a head."""
        self.words[(_HEADER + first * _SLOT) // 8] = _CONTINUATION | 1 << 32
        self.next = first + slots

    def release(self) -> None:
        self.words.release()
        self.map.close()
        os.close(self.fd)


class _Session:
    """The segment of one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = RLock()
        self.later: list[Callable[[], object]] = []  # calls that came in the middle of another
        self.id = os.urandom(16)
        self.key = int.from_bytes(self.id[:8], "little") or 1
        self.began = _now()
        self.anchor = _anchor()
        stat = _read("/proc/self/stat").rpartition(b")")[2].split()
        self.start_time = int(stat[19]) if len(stat) > 19 else 0
        self.series: dict[str, int] = {}
        self.segment: _Segment | None = None
        self.index = 0
        self.base = 1
        self.phases = count(1)
        self.dropped = 0
        self.refuse_until = 0
        self.drops_fd = -1

    def locked(self, call: Callable[[], object]) -> None:
        """Calls it under the lock, or later where this thread has the lock already."""
        if self.lock._is_owned():  # type: ignore[attr-defined]
            self.later.append(call)
            return
        try:
            with self.lock:
                call()
        finally:
            # Looked at without the lock, too: one may have come since the last was taken.
            while self.later:
                with self.lock:
                    if self.later:
                        self.later.pop(0)()

    def header(self, slots: int) -> bytes:
        run = _hex_id(os.environ.get("CORRAL_RUN_ID", ""))
        boot = _hex_id(_read("/proc/sys/kernel/random/boot_id").decode("ascii", "replace"))
        host = os.uname().nodename.encode("utf-8", "replace")[:127]
        raw = struct.pack(
            "<4sHHII16s16sIIQQQqqqq16s128s",
            *(b"CRSG", 1, _HEADER, _SLOT, 0, self.id, run, self.index, self.pid, self.base, slots, self.start_time),
            *(*self.anchor, self.began, rank_of(os.environ), boot, host),
        ).ljust(1020, b"\0")
        return raw + struct.pack("<I", _crc32c(raw))

    def drop(self) -> None:
        self.dropped += 1
        try:
            if self.drops_fd < 0:
                self.drops_fd = os.open(os.path.join(_DIRECTORY, "drops"), os.O_RDWR | os.O_CLOEXEC)
            if os.fstat(self.drops_fd).st_size < 4096:
                return
            # No atomic addition here: a cell of the counter of our own, under its lock (docs/format-segment.md).
            cell = 8 * (1 + self.pid % 511)
            fcntl.lockf(self.drops_fd, fcntl.LOCK_EX, 8, cell)
            count = int.from_bytes(os.pread(self.drops_fd, 8, cell), "little")
            os.pwrite(self.drops_fd, (count + 1).to_bytes(8, "little"), cell)
            fcntl.lockf(self.drops_fd, fcntl.LOCK_UN, 8, cell)
        except OSError:
            pass

    def next_size(self) -> int:
        there = 0
        for name in os.listdir(_DIRECTORY):
            if name.endswith((".seg", ".tmp")):
                try:
                    there += os.stat(f"{_DIRECTORY}/{name}").st_size
                except FileNotFoundError:  # acknowledged and deleted meanwhile
                    pass
        wanted: int = min(_FIRST << min(self.index, 8), _LARGEST)
        while wanted > _LIMIT - there and wanted // 2 >= _FIRST:
            wanted //= 2
        return wanted if wanted <= _LIMIT - there else 0

    def roll(self) -> bool:
        now = _now()
        if now < self.refuse_until:
            return False
        try:
            size = self.next_size()
            if size == 0:
                raise OSError("spool limit")
            fresh = _Segment(f"{self.id.hex()}-{self.index:06}.seg", size)
            old = self.segment
            if old is not None:
                old.close(old.next)
                self.base, self.segment = self.base + old.next, None  # at once: a signal may come between calls
                old.release()
            try:
                fresh.publish(self.header(fresh.slots))
            except OSError:
                fresh.discard()
                raise
        except OSError:
            self.refuse_until = now + _RETRY_NS
            return False
        self.segment = fresh
        self.index += 1
        return True

    def end(self) -> None:
        segment, self.segment = self.segment, None
        self.refuse_until = 2**63
        if segment is not None:
            segment.close(segment.next | _SESSION_ENDED)
            segment.release()
        if self.drops_fd >= 0:
            os.close(self.drops_fd)
            self.drops_fd = -1

    def reserve(self, slots: int) -> _Segment | None:
        segment = self.segment
        if segment is None or segment.next + slots > segment.slots:
            if not self.roll():
                return None
            segment = self.segment
        return segment

    def point(self, name: str, time: int, value: float, step: int | None) -> None:
        number = self.series.get(name)
        if number is None:
            if len(self.series) >= _SERIES_LIMIT:
                return self.drop()
            number = self.series[name] = len(self.series) + 1
        for _ in range(3):
            segment = self.reserve(1)
            if segment is None:
                return self.drop()
            if number in segment.declared:
                break
            if not self.text(_SERIES, struct.pack("<IB", number, 0) + name.encode()):
                return self.drop()
            if self.segment is not None:
                self.segment.declared.add(number)
        else:
            return self.drop()
        body = struct.pack("<Iqqd", number, time, 0 if step is None else step, value)
        check = _crc32c(body) & 0xFFFF
        detail = 0 if step is None else 1
        first = segment.next
        at = _HEADER + first * _SLOT
        try:
            segment.next = first + 1
            segment.map[at + 8 : at + _SLOT] = body[4:]
            segment.words[at // 8] = _POINT | detail << 8 | check << 16 | number << 32
        except BaseException:  # Ctrl-C
            segment.give_up(first, 1)
            raise

    def text(self, kind: int, payload: bytes) -> bool:
        rest = payload[20:]
        slots = 1 + (len(rest) + 23) // 24
        segment = self.reserve(slots) if len(payload) <= _PAYLOAD_BYTES else None
        if segment is None:
            return False
        first = segment.next
        at = _HEADER + first * _SLOT
        try:
            segment.next = first + slots
            for k in range(1, slots):
                piece = rest[24 * (k - 1) : 24 * k]
                start = at + k * _SLOT
                segment.map[start + 8 : start + 8 + len(piece)] = piece
                segment.words[start // 8] = _CONTINUATION | k << 32
            head = struct.pack("<I", _crc32c(payload)) + payload[:20]
            segment.map[at + 8 : at + 8 + len(head)] = head
            segment.words[at // 8] = _TEXT | kind << 8 | len(payload) << 32
        except BaseException:
            segment.give_up(first, slots)
            raise
        return True

    def record(self, kind: int, payload: bytes) -> None:
        """Appends a record; refused ones are counted."""
        if not self.text(kind, payload):
            self.drop()


_session: _Session | None = None
_making = RLock()


def _forget() -> None:
    """In a forked child: the parent's session is not ours; it is left alone, mapping and all."""
    global _session, _making, _parents
    _parents.append(_session)  # kept, so that nothing of it is closed or released
    _session = None
    _making = RLock()


_parents: list[_Session | None] = []
os.register_at_fork(after_in_child=_forget)


def _start() -> _Session:
    global _session
    session = _session
    if session is None or session.pid != os.getpid():  # a fork that did not go through os.fork
        with _making:
            before = _session
            if before is None or before.pid != os.getpid():
                fresh = _Session()
                if _session is before:  # no call came in the middle
                    _parents.append(before)
                    _session = fresh
            session = _session
            assert session is not None
    return session


def _write(kind: int, payload: bytes) -> None:
    session = _start()
    session.locked(lambda: session.record(kind, payload))


def _text(value: object, what: str, limit: int) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"corral: a {what} must be str, not {type(value).__qualname__}")
    raw = value.encode()
    if len(raw) > limit:
        raise ValueError(f"corral: a {what} has at most {limit} bytes, this one has {len(raw)}")
    return raw


def _name(value: object, what: str) -> bytes:
    raw = _text(value, what, _NAME_BYTES)
    if not raw:
        raise ValueError(f"corral: a {what} must not be empty")
    return raw


def _wrong(name: object, value: object, wanted: str) -> TypeError:
    return TypeError(f"corral.log: metric {name!r}: {wanted}, not {type(value).__qualname__}")


def _double(name: object, value: object) -> float:
    wanted = "a value must be a number or have __float__ or __index__"
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise _wrong(name, value, wanted)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise _wrong(name, value, wanted) from error
    except RuntimeError as error:
        if getattr(value, "ndim", 0) > 0:
            raise _wrong(name, value, wanted) from error
        raise


def _step(name: object, step: object) -> int | None:
    if step is None:
        return None
    try:
        number = step.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError) as error:
        raise _wrong(name, step, "a step must be an int or None") from error
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"corral.log: metric {name!r}: a step must fit in 64 bits")
    return int(number)


_MISSING = object()


def log(
    name: str | Mapping[str, SupportsFloat | SupportsIndex],
    value: object = _MISSING,
    step: SupportsIndex | None = None,
) -> None:
    """Records one value, or one of each name in a mapping, at this moment. As the native module's log."""
    if not _ENABLED:
        return
    if isinstance(name, str) or not hasattr(name, "items"):
        if value is _MISSING:
            raise TypeError(f"corral.log: metric {name!r}: the value is missing")
        pairs: list[tuple[object, object]] = [(name, value)]
    elif value is not _MISSING and value is not None:
        raise TypeError("corral.log: a mapping takes no value, and a step only by keyword")
    else:
        pairs = list(name.items())
    points: list[tuple[float, str]] = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("corral.log: the items of a mapping must be pairs")
        real = _double(*pair)
        points.append((real, _name(pair[0], "metric name").decode()))
    number = _step(name, step)
    session = _start()
    now = _now()

    def write() -> None:
        for value, metric in points:
            session.point(metric, now, value, number)

    session.locked(write)


def _keyed(kind: int, what: str, name: str, text: str) -> None:
    if _ENABLED:
        key = _name(name, f"{what} name")
        _write(kind, struct.pack("<H", len(key)) + key + _text(text, f"{what} value", _VALUE_BYTES))


def param(name: str, text: str, /) -> None:
    _keyed(_PARAM, "param", name, text)


def tag(name: str, text: str, /) -> None:
    _keyed(_TAG, "tag", name, text)


def event(name: str, attributes: str, /) -> None:
    if _ENABLED:
        raw = _name(name, "event name")
        rest = _text(attributes, "event's attributes", _ATTRIBUTES_BYTES)
        _write(_EVENT, struct.pack("<qH", _now(), len(raw)) + raw + rest)


def phase_begin(name: str, kind: int, parent: int, type: str, lane: str, attributes: str, time: int = 0, /) -> int:
    if not _ENABLED:
        return 0
    raw = _name(name, "phase name")
    texts = (raw, _text(type, "phase type", _PATH_BYTES), _text(lane, "phase lane", _PATH_BYTES))
    rest = _text(attributes, "phase's attributes", _ATTRIBUTES_BYTES)
    session = _start()
    with session.lock:  # for threads that run at the same time
        number = next(session.phases)
    payload = struct.pack("<QQqB", number, parent, time or _now(), kind)
    payload += b"".join(struct.pack("<H", len(text)) + text for text in texts)

    def write() -> None:
        nonlocal number
        if not session.text(_BEGIN, payload + struct.pack("<H", 0) + rest):
            session.drop()
            number = 0

    session.locked(write)
    return number


def phase_end(id: int, time: int = 0, /) -> None:
    if _ENABLED and id:
        _write(_END, struct.pack("<Qq", id, time or _now()))


def now() -> int:
    """CLOCK_BOOTTIME in ns, as the times of all records."""
    return _now()


def session_key() -> int:
    session = _session
    return 0 if session is None or session.pid != os.getpid() else session.key


def dropped() -> int:
    session = _session
    return 0 if session is None or session.pid != os.getpid() else session.dropped


def enabled() -> bool:
    return _ENABLED

"""Summarises where the time went, from a Chrome trace of PyTorch's profiler. Pure.

With a device: each moment of each device belongs to one kind, computing before communicating before copying, the rest
is idle. Without: each moment of the training's thread is a wait for data, an operator, or other (Python's own time).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Span = tuple[float, float]  # begin, end in us
    Event = dict[str, Any]

_DEVICE = {"kernel": "kernel", "gpu_memcpy": "memory copy", "gpu_memset": "memory set"}
_ORDER = ("kernel", "communication", "memory copy", "memory set")  # the first that is there has the moment
_MOST = 30
_MOST_OPERATORS = 10  # beside a device's
_NAME = 500  # characters


def _kind(event: Event) -> str:
    name = event["name"]
    if event["cat"] == "kernel" and ("nccl" in name.lower() or "rccl" in name.lower()):
        return "communication"
    return _DEVICE[event["cat"]]


def _span(event: Event) -> Span:
    begin = float(event["ts"])
    return begin, begin + float(event["dur"])


def _union(spans: Iterable[Span]) -> float:
    """ms in which at least one is."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total / 1e3


def _parted(kinds: list[tuple[str, list[Span]]]) -> dict[str, float]:
    """ms of each kind, where an earlier one has what both claim."""
    taken: list[Span] = []
    before = 0.0
    parts = {}
    for kind, spans in kinds:
        taken += spans
        now = _union(taken)
        parts[kind] = now - before
        before = now
    return parts


def _of_devices(events: list[Event], whole: float) -> dict[str, float]:
    devices: dict[object, dict[str, list[Span]]] = {}
    for event in events:
        device = devices.setdefault(event.get("args", {}).get("device", event["pid"]), {})
        device.setdefault(_kind(event), []).append(_span(event))
    parts = dict.fromkeys(_ORDER, 0.0)
    for spans in devices.values():
        for kind, ms in _parted([(kind, spans.get(kind, [])) for kind in _ORDER]).items():
            parts[kind] += ms
    parts = {kind: ms for kind, ms in parts.items() if ms > 0}
    return parts | {"idle": max(0.0, len(devices) * whole - sum(parts.values()))}


def _of_thread(events: list[Event], whole: float) -> dict[str, float]:
    steps = [event["tid"] for event in events if event["name"].startswith("ProfilerStep#")]
    here = [event for event in events if not steps or event["tid"] == steps[0]]
    waits = [_span(event) for event in here if event["name"].startswith("enumerate(DataLoader)")]
    operators = [_span(event) for event in here if event["cat"] == "cpu_op"]
    parts = _parted([("data wait", waits), ("operator", operators)])
    return parts | {"other": max(0.0, whole - sum(parts.values()))}


def _own_times(events: list[Event]) -> list[tuple[Event, float]]:
    """Operators with the ms that is in none of the operators that they call."""
    threads: dict[object, list[Event]] = {}
    for event in events:
        if event["cat"] == "cpu_op":
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    result = []
    for calls in threads.values():
        calls.sort(key=lambda event: (float(event["ts"]), -float(event["dur"])))
        open_: list[list[Any]] = []  # event, end, us of its own
        for event in calls:
            begin, end = _span(event)
            while open_ and open_[-1][1] <= begin:
                done = open_.pop()
                result.append((done[0], done[2] / 1e3))
            if open_:
                open_[-1][2] -= min(end, open_[-1][1]) - begin
            open_.append([event, end, end - begin])
        result += [(event, own / 1e3) for event, _, own in open_]
    return result


def _ranking(times: Iterable[tuple[str, str, float]], whole: float, most: int) -> list[dict[str, Any]]:
    """Ranks (name, kind, ms) by total time."""
    sums: dict[tuple[str, str], list[float]] = {}
    for name, kind, ms in times:
        entry = sums.setdefault((name, kind), [0, 0.0])
        entry[0] += 1
        entry[1] += max(0.0, ms)
    first = sorted(sums.items(), key=lambda item: -item[1][1])[:most]
    return [
        {
            "name": name[:_NAME],
            "kind": kind,
            "calls": calls,
            "total_ms": round(ms, 6),
            "share": round(ms / whole, 6) if whole > 0 else 0.0,
        }
        for (name, kind), (calls, ms) in first
    ]


def _events(trace: Any) -> list[Event]:
    """Returns the events that have a duration, each with its category; a PyTorch that was built without Kineto writes
    none.
    """
    found = trace["traceEvents"] if isinstance(trace, dict) else trace
    events = [event for event in found if event.get("ph") == "X" and "dur" in event and type(event.get("name")) is str]
    for event in events:
        if "cat" not in event:
            plain = "user_annotation" if "#" in event["name"] else "cpu_op"
            event["cat"] = "kernel" if event["pid"] == "CUDA functions" else plain
    return events


def parts(trace: Any, window_ms: float) -> dict[str, Any]:
    """`by_kind` and `top` of a summary; `trace` is a window of so many ms."""
    events = _events(trace)
    device = [event for event in events if event["cat"] in _DEVICE]
    operators = [(event["name"], "operator", own) for event, own in _own_times(events)]
    if device:
        kinds = _of_devices(device, window_ms)
        busy = [(event["name"], _kind(event), float(event["dur"]) / 1e3) for event in device]
        whole = sum(kinds.values())
        top = _ranking(busy, whole, _MOST - _MOST_OPERATORS) + _ranking(operators, window_ms, _MOST_OPERATORS)
    else:
        kinds = _of_thread(events, window_ms)
        whole = sum(kinds.values())
        top = _ranking(operators, window_ms, _MOST)
    return {
        "by_kind": [
            {"kind": kind, "ms": round(ms, 6), "share": round(ms / whole, 6) if whole > 0 else 0.0}
            for kind, ms in kinds.items()
        ],
        "top": top,
    }

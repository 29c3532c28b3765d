"""Calls that are accepted or refused, and the records they write. Every test runs with the native module and with its
pure twin.
"""

from __future__ import annotations

import importlib.util
import math
import struct
import subprocess
import sys

import pytest
import segment_reader
from conftest import Runner
from package import RUN


def test_the_implementation_is_the_one_asked_for(run: Runner) -> None:
    name = run("print(corral.log.__module__ if corral.log.__module__ else corral._impl.__name__)").strip()
    assert name == ("corral._pure" if run.pure else "corral._native")


def test_values_of_every_kind(run: Runner) -> None:
    run("""
        import decimal, fractions
        class Tensor:                      # 0-d, as torch and jax have them
            def __float__(self): return 0.75
        class Index:
            def __index__(self): return 9
        for value in (1, 2.5, True, Tensor(), Index(), decimal.Decimal("0.5"), fractions.Fraction(1, 4), 2**62, -0.0):
            corral.log("x", value)
        corral.log("nan", float("nan"))
        corral.log("inf", float("-inf"))
    """)
    session = run.one()
    assert session.values("x") == [1, 2.5, 1, 0.75, 9, 0.5, 0.25, 2.0**62, 0]
    assert math.copysign(1, session.values("x")[-1]) == -1
    assert math.isnan(session.values("nan")[0])
    assert session.values("inf") == [-math.inf]


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="numpy is not installed")
def test_numpy_scalars_and_arrays(run: Runner) -> None:
    out = run("""
        import numpy
        corral.log("x", numpy.float32(0.5), step=numpy.int64(3))
        corral.log("x", numpy.int16(4))
        corral.log("x", numpy.array(1.5))
        for wrong in (numpy.zeros(2), numpy.str_("1")):
            try:
                corral.log("loss", wrong)
            except TypeError as error:
                print("'loss'" in str(error))
    """)
    assert out == "True\nTrue\n"
    assert [point[1:3] for point in run.one().points] == [(0.5, 3), (4, None), (1.5, None)]


def test_a_wrong_type_is_a_type_error_that_names_the_metric(run: Runner) -> None:
    out = run("""
        class Many:                        # a tensor of several elements
            ndim = 1
            def __float__(self): raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")
        for wrong in ("1", b"1", None, [1.0], {}, 1j, object(), 10**400, Many()):
            try:
                corral.log("val/loss", wrong)
            except TypeError as error:
                print("'val/loss'" in str(error) and type(wrong).__name__ in str(error))
        for step in (1.5, "3", [1]):
            try:
                corral.log("val/loss", 1, step=step)
            except TypeError as error:
                print("'val/loss'" in str(error) and "step" in str(error))
        for call in (lambda: corral.log(), lambda: corral.log("x"), lambda: corral.log("x", 1, 2, 3),
                     lambda: corral.log("x", 1, steps=3), lambda: corral.log({"x": 1}, 2), lambda: corral.log(5, 1)):
            try:
                call()
            except TypeError:
                print(True)
        try:
            corral.log("x", 1, step=2**63)
        except ValueError as error:
            print("64 bits" in str(error))
    """)
    assert out.split() == ["True"] * 19
    assert run.sessions() == []


def test_an_error_of_the_device_is_passed_on(run: Runner) -> None:
    out = run("""
        class Lost:
            ndim = 0
            def __float__(self): raise RuntimeError("device lost")
        try:
            corral.log("x", Lost())
        except RuntimeError as error:
            print(error)
    """)
    assert out == "device lost\n"


def test_steps_and_keywords(run: Runner) -> None:
    run("""
        corral.log("x", 1)
        corral.log("x", 2, 7)
        corral.log("x", 3, step=-(2**63))
        corral.log(name="x", value=4, step=None)
        corral.log("x", value=5, step=True)
    """)
    assert [point[1:3] for point in run.one().points] == [(1, None), (2, 7), (3, -(2**63)), (4, None), (5, 1)]


def test_a_mapping_shares_one_time_and_is_written_whole_or_not_at_all(run: Runner) -> None:
    run("""
        import types
        corral.log({"a": 1, "b": 2.5}, step=3)
        corral.log(types.MappingProxyType({"c": 3}))
        corral.log({})
        try:
            corral.log({"a": 9, "bad": "x"}, step=4)
        except TypeError as error:
            assert "'bad'" in str(error)
        else:
            raise SystemExit(1)
    """)
    points = run.one().points
    assert [point[:3] for point in points] == [("a", 1, 3), ("b", 2.5, 3), ("c", 3, None)]
    assert points[0][3] == points[1][3] < points[2][3]


def test_what_is_no_mapping_of_values_is_a_type_error(run: Runner) -> None:
    out = run("""
        class Odd:
            def __init__(self, items): self._items = items
            def __getitem__(self, name): raise KeyError(name)
            def items(self): return self._items
        for wrong in (["x"], ("x",), b"x", Odd(["ab"]), Odd([("a", 1, 2)]), Odd([["a", 1]]), Odd([()]), Odd(5)):
            try:
                corral.log(wrong)
            except TypeError:
                print(True)
        corral.log(Odd([("fine", 1)]))
    """)
    assert out.split() == ["True"] * 8
    assert [point[:2] for point in run.one().points] == [("fine", 1)]


def test_names_are_bounded_and_utf8(run: Runner) -> None:
    out = run("""
        corral.log("gr\\u00f6\\u00dfe/\\U0001f40e", 1)
        corral.log("x" * 250, 2)
        for call in (lambda: corral.log("x" * 251, 1), lambda: corral.log("", 1), lambda: corral.log("\\ud800", 1),
                     lambda: corral.param("", 1), lambda: corral.param("x" * 251, 1),
                     lambda: corral.tag("k", "v" * 6001), lambda: corral.param("k", "v" * 6001),
                     lambda: corral.event(""), lambda: corral.event("e" * 251),
                     lambda: corral.event("e", a="v" * 6001),
                     lambda: corral.event("e", **{str(i): i for i in range(65)}),
                     lambda: corral.phase("").__enter__(), lambda: corral.phase("p", kind="x").__enter__()):
            try:
                call()
            except ValueError:
                print(True)
    """)
    assert out.split() == ["True"] * 13
    session = run.one()
    assert [name for name, *_ in session.points] == ["größe/\U0001f40e", "x" * 250]
    assert (session.params, session.tags, session.events, session.phases) == ({}, {}, [], {})


def test_names_made_on_the_fly_never_mix(run: Runner) -> None:
    run("""
        for i in range(20_000):
            corral.log(f"layer/{i % 300}", i % 300)
    """)
    session = run.one()
    assert len(session.series) == 300
    assert len(session.points) == 20_000
    assert all(name == f"layer/{value:.0f}" for name, value, _, _ in session.points)


def test_params_tags_and_events(run: Runner) -> None:
    run("""
        corral.param("lr", 0.1)
        corral.params({"layers": [1, 2], "name": "a" * 6000, "none": None})
        corral.tag("note", "first")
        corral.tag("note", "second")
        corral.event("saved", path='a"b', bytes=12, ok=True, none=None, nan=float("nan"), big=2**70, obj=[1])
        corral.event("bare")
    """)
    session = run.one()
    assert session.params == {"lr": "0.1", "layers": "[1, 2]", "name": "a" * 6000, "none": "None"}
    assert session.tags == {"note": "second"}
    attributes = {"path": 'a"b', "bytes": 12, "ok": True, "none": None, "nan": "nan", "big": str(2**70), "obj": "[1]"}
    assert [event[1:] for event in session.events] == [("saved", attributes), ("bare", {})]
    assert 0 < session.events[0][0] <= session.events[1][0]


def test_the_header_says_who_writes(run: Runner) -> None:
    out = run("import os; corral.log('x', 1); print(os.getpid(), os.uname().nodename, corral.run_id())", RANK="3")
    pid, host, run_id = out.split()
    header = run.one().header
    assert header["pid"] == int(pid)
    assert header["host"].rstrip(b"\0").decode() == host
    assert header["rank"] == 3
    assert header["run"].hex() == RUN == run_id
    assert header["start_time"] > 0
    assert abs(header["session_began"] - run.one().points[0][3]) < 60_000_000_000


def test_outside_a_run_nothing_happens_and_nothing_is_looked_at(run: Runner) -> None:
    out = run(
        """
        corral.log("x", "not a number")
        corral.log({1: 2})
        corral.params({"a": object()})
        corral.event("", a=object())
        with corral.phase("", kind="nonsense"):
            pass
        print(corral.run_id())
        """,
        CORRAL_SEGMENT_DIR="",
    )
    assert out == "None\n"
    assert run.sessions() == []


def test_segments_follow_each_other_and_only_the_last_stays_mapped(run: Runner) -> None:
    out = run("""
        for i in range(30_000):
            corral.log("a" if i % 2 else "b", i)
        with open("/proc/self/maps") as maps:
            mapped = {line.split()[-1] for line in maps if ".seg" in line}
        print(*(path[-10:] for path in mapped))
    """)
    assert out == "000002.seg\n"
    session = run.one()
    assert session.segments == 3
    assert [value for _, value, _, _ in session.points] == list(range(30_000))
    assert session.header["slots"] == (256 * 1024 - 4096) // 32


def test_the_spool_limit_refuses_counts_and_says_nothing(run: Runner) -> None:
    run("for i in range(20_000): corral.log('x', i)", CORRAL_SPOOL_LIMIT=str(700 << 10))
    session = run.one()
    assert len(session.points) == 2 * 8064 - 2
    assert segment_reader.drops(run.directory) == 20_000 - len(session.points)


def test_a_missing_directory_is_no_error(run: Runner) -> None:
    out = run(
        "for i in range(10): corral.log('x', i)\ncorral.tag('a', 'b')\nprint(corral._impl.dropped())",
        CORRAL_SEGMENT_DIR=str(run.directory / "gone"),
        LOCAL_RANK="1",  # the first rank of a host says so (test_no_spool.py)
    )
    assert out == "11\n"


def test_refused_calls_of_both_implementations_are_summed(run: Runner) -> None:
    (run.directory / "drops").write_bytes(struct.pack("<512Q", 5, *[1] * 511))
    run("corral.log('x', 1)", CORRAL_SPOOL_LIMIT="0")
    assert segment_reader.drops(run.directory) == 5 + 511 + 1


def test_importing_is_cheap(run: Runner) -> None:
    # -S: what the machine's site configuration imports is not ours.
    code = "import sys; print(*sys.modules)"
    alone = subprocess.run(
        [sys.executable, "-S", "-c", f"import corral; {code}"],
        env=run.environment(PYTHONDEVMODE=""),
        capture_output=True,
        text=True,
    )
    assert alone.returncode == 0, alone.stderr
    assert not {"json", "typing", "inspect", "logging", "re", "threading"} & set(alone.stdout.split())

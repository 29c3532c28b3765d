from __future__ import annotations

from conftest import Runner


def test_phases_nest_and_have_a_type_and_a_lane(run: Runner) -> None:
    out = run(
        """
        import os
        with corral.phase("train"):
            for n in range(2):
                with corral.phase("epoch", kind="control", n=n):
                    with corral.phase("load", kind="io"):
                        pass
        with corral.phase("test"):
            pass
        print(os.uname().nodename, os.getpid())
        """,
        SLURM_PROCID="1",
        SLURM_STEP_ID="0",
    )
    host, pid = out.split()
    phases = list(run.one().phases.values())
    assert [phase.type for phase in phases] == [
        "train", "train/epoch", "train/epoch/load", "train/epoch", "train/epoch/load", "test",
    ]  # fmt: skip
    assert [phase.parent for phase in phases] == [0, 1, 2, 1, 4, 0]
    assert [phase.kind for phase in phases] == [0, 4, 2, 4, 2, 0]
    assert [phase.attributes for phase in phases[1:4:2]] == [{"n": 0}, {"n": 1}]
    assert {phase.lane for phase in phases} == {f"{host}/rank1/{pid}/MainThread"}
    for phase in phases:
        assert phase.end is not None
        assert phase.begin <= phase.end
        if phase.parent:
            outer = phases[phase.parent - 1]
            assert outer.end is not None
            assert outer.begin <= phase.begin <= phase.end <= outer.end


def test_the_decorator_makes_a_phase_of_each_call(run: Runner) -> None:
    out = run("""
        import asyncio
        @corral.phase("eval", kind="compute", split="val")
        def evaluate(depth):
            "doc"
            return evaluate(depth - 1) + 1 if depth else 0
        @corral.phase("fetch", kind="wait")
        async def fetch(n):
            await asyncio.sleep(0)
            with corral.phase(f"part{n}"):
                await asyncio.sleep(0)
            return n
        async def both():
            asyncio.get_running_loop().slow_callback_duration = 60  # a busy machine has slow ones
            with corral.phase("gather"):
                return await asyncio.gather(fetch(1), fetch(2))
        print(evaluate(1), evaluate.__name__, evaluate.__doc__, asyncio.run(both()))
        try:
            @corral.phase("x")
            def generator():
                yield 1
        except TypeError as error:
            print("generator" in str(error))
    """)
    assert out == "1 evaluate doc [1, 2]\nTrue\n"
    phases = run.one().phases
    types = [phase.type for phase in phases.values()]
    assert types[:2] == ["eval", "eval/eval"]
    gather = next(phase for phase in phases.values() if phase.type == "gather")
    fetches = [phase for phase in phases.values() if phase.type == "gather/fetch"]
    assert [phase.parent for phase in fetches] == [gather.id] * 2
    for n, outer in enumerate(fetches, 1):
        part = next(phase for phase in phases.values() if phase.name == f"part{n}")
        assert part.parent == outer.id
    assert all(phase.end is not None for phase in phases.values())


def test_an_exception_ends_the_phase_and_is_passed_on(run: Runner) -> None:
    out = run("""
        try:
            with corral.phase("a"):
                raise KeyError("mine")
        except KeyError as error:
            print(error)
        with corral.phase("b"):
            pass
    """)
    assert out == "'mine'\n"
    phases = run.one().phases
    assert [(phase.type, phase.end is None) for phase in phases.values()] == [("a", False), ("b", False)]


def test_threads_have_their_own_nesting(run: Runner) -> None:
    run("""
        import threading
        def work():
            with corral.phase("outer"):
                with corral.phase("inner"):
                    corral.log("x", 1)
        with corral.phase("main"):
            threads = [threading.Thread(target=work, name=f"worker-{i}") for i in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
    """)
    session = run.one()
    inner = [phase for phase in session.phases.values() if phase.name == "inner"]
    assert {phase.lane.rsplit("/")[-1] for phase in inner} == {f"worker-{i}" for i in range(4)}
    for phase in inner:
        outer = session.phases[phase.parent]
        assert (outer.name, outer.lane, outer.parent) == ("outer", phase.lane, 0)
    assert len(session.values("x")) == 4


def test_deep_recursion_stays_within_bounds(run: Runner) -> None:
    run("""
        @corral.phase("recursive-phase")
        def down(n):
            if n: down(n - 1)
        down(200)
    """)
    phases = run.one().phases
    assert len(phases) == 201
    assert max(len(phase.type) for phase in phases.values()) <= 1000
    assert all(phase.parent == phase.id - 1 for phase in phases.values())


def test_a_child_starts_from_the_root_and_leaves_its_parents_phase_alone(run: Runner) -> None:
    run("""
        import os
        with corral.phase("train"):
            pid = os.fork()
            with corral.phase("load"):
                pass
            if pid == 0:
                pass
            else:
                os.waitpid(pid, 0)
    """)
    parent, child = run.sessions()
    assert [(phase.type, phase.parent) for phase in parent.phases.values()] == [("train", 0), ("train/load", 1)]
    assert [(phase.type, phase.parent) for phase in child.phases.values()] == [("load", 0)]
    assert all(phase.end is not None for phase in [*parent.phases.values(), *child.phases.values()])

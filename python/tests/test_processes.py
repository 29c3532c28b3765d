"""Threads, forks, spawns and sudden ends: every call that returned is there, once."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import shared_memory
from pathlib import Path

import segment_reader
from conftest import Runner


def test_threads_lose_nothing(run: Runner) -> None:
    run("""
        import threading
        def work(t):
            for i in range(5_000):
                corral.log(f"t{t}", i)
        threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    session = run.one()
    for t in range(4):
        assert session.values(f"t{t}") == list(range(5_000))


def test_forked_workers_write_sessions_of_their_own(run: Runner) -> None:
    run("""
        import multiprocessing, os
        def work(n):
            for i in range(100):
                corral.log("child", n)
            corral.tag("worker", str(n))
        if __name__ == "__main__":
            corral.log("parent", 1)
            context = multiprocessing.get_context("fork")
            children = [context.Process(target=work, args=(n,)) for n in range(4)]
            for child in children: child.start()
            for child in children: child.join()
            corral.log("parent", 2)
    """)
    parent, *children = run.sessions()
    assert parent.values("parent") == [1, 2]
    assert sorted(child.tags["worker"] for child in children) == ["0", "1", "2", "3"]
    for child in children:
        assert child.values("child") == [int(child.tags["worker"])] * 100
        assert child.values("parent") == []
    assert len({session.header["pid"] for session in (parent, *children)}) == 5


def test_the_rank_is_the_one_at_the_first_call_of_each_process(run: Runner) -> None:
    run("""
        import os
        os.environ["RANK"] = "1"
        corral.log("parent", 1)
        for rank in "23":
            if os.fork() == 0:
                os.environ["RANK"] = rank
                corral.log("child", 1)
                os._exit(0)
            os.wait()
        os.environ["RANK"] = "9"
        corral.log("parent", 2)
    """)
    parent, *children = run.sessions()
    assert parent.header["rank"] == 1
    assert parent.values("parent") == [1, 2]
    assert sorted(child.header["rank"] for child in children) == [2, 3]


def test_a_fork_while_threads_log_does_not_hang(run: Runner) -> None:
    run("""
        import os, signal, threading, time, warnings
        warnings.simplefilter("ignore")  # newer Pythons warn of forks with threads, which is what this is about
        stop = False
        def work():
            i = 0
            while not stop:
                corral.log("thread", i)
                i += 1
                if i > 5_000: time.sleep(0.001)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        bad = 0
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                for i in range(50):
                    corral.log("child", i)
                os._exit(0)
            bad += os.waitpid(pid, 0)[1] != 0
        stop = True
        for thread in threads: thread.join()
        assert bad == 0
    """)
    children = [session for session in run.sessions() if session.values("child")]
    assert [session.values("child") for session in children] == [list(range(50))] * 10


def test_spawned_processes_find_the_run(run: Runner) -> None:
    run("""
        import multiprocessing
        def work(n):
            corral.log("spawned", n)
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            child = context.Process(target=work, args=(7,))
            child.start()
            child.join()
            assert child.exitcode == 0
    """)
    assert run.one().values("spawned") == [7]


def test_os_exit_loses_nothing(run: Runner) -> None:
    run("import os\nfor i in range(1_000): corral.log('x', i)\nos._exit(5)", status=5)
    assert run.one().values("x") == list(range(1_000))


def test_kill_9_loses_no_call_that_returned(run: Runner) -> None:
    counter = shared_memory.SharedMemory(create=True, size=8)
    try:
        process = run.start(f"""
            from multiprocessing import shared_memory, resource_tracker
            memory = shared_memory.SharedMemory(name={counter.name!r})
            resource_tracker.unregister(memory._name, "shared_memory")
            view = memory.buf.cast("Q")
            i = 0
            while True:
                corral.log("x", i)
                i += 1
                view[0] = i
        """)
        assert counter.buf is not None
        returned = counter.buf.cast("Q")
        deadline = time.monotonic() + 60
        while returned[0] < 20_000 and time.monotonic() < deadline:
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        count = returned[0]
        returned.release()
    finally:
        counter.close()
        counter.unlink()
    assert count >= 20_000
    values = run.one().values("x")
    assert values == list(range(len(values)))
    assert len(values) in (count, count + 1)


def test_a_signal_in_the_middle_leaves_a_readable_segment(run: Runner) -> None:
    run("""
        import signal, warnings
        # No `with` covers a signal between the return of open() and its own first instruction.
        warnings.simplefilter("ignore", ResourceWarning)
        class Stop(Exception): pass
        def stop(*_): raise Stop
        signal.signal(signal.SIGALRM, stop)
        stopped = 0
        for i in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    corral.tag("long", "v" * 3000)
                    corral.log("x", i)
            except Stop:
                stopped += 1
            if i % 20 == 0: corral.log("marker", i)
        assert stopped == 60
    """)
    assert run.one().values("marker") == [0, 20, 40]


def test_a_handler_that_logs_in_the_middle_of_a_call_is_written_after_it(run: Runner) -> None:
    run("""
        import signal
        impl = corral._impl
        def heard(*_):
            with corral.phase("handled"):
                corral.log("heard", 7, step=1)
            corral.event("asked to stop")
            raise SystemExit
        signal.signal(signal.SIGUSR1, heard)
        def between(name):
            '''The next call of a function of the twin is interrupted: a native call never is.'''
            function = getattr(impl, name, None)
            if function is None: return signal.raise_signal(signal.SIGUSR1)
            def interrupted(*arguments):
                setattr(impl, name, function)
                heard()
            setattr(impl, name, interrupted)
        for name in ("_anchor", "_crc32c"):  # of a session, of a record
            try:
                between(name)
                corral.log("interrupted", 1)
            except SystemExit: pass
        corral.log("loss", 0.5)
    """)
    sessions = run.sessions()
    events = [event for session in sessions for event in session.events]
    phases = [phase for session in sessions for phase in session.phases.values()]
    points = [point for session in sessions for point in session.points]
    assert [event[1] for event in events] == ["asked to stop"] * 2
    assert [(phase.name, phase.end is not None) for phase in phases] == [("handled", True)] * 2
    assert [point[1] for point in points if point[0] == "heard"] == [7, 7]
    assert [point[1] for point in points if point[0] == "loss"] == [0.5]


def test_a_run_that_has_no_place_to_begin_is_a_warning(run: Runner) -> None:
    code = """
        import tempfile, warnings
        tempfile.tempdir = "/no/such/place"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            print(corral.init(), [warning.category.__name__ for warning in said])
    """
    assert run(code, CORRAL_SEGMENT_DIR="") == "None ['RuntimeWarning']\n"


def test_a_session_can_end_before_its_process_and_another_begin(run: Runner, tmp_path: Path) -> None:
    """As corral.finish() and the next corral.init() do."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "drops").write_bytes(bytes(4096))
    run(
        f"""
        import os, threading
        for i in range(20_000):
            corral.log("loss", i, step=i)
        with corral.phase("outer"):
            corral._impl.detach()
        assert not corral._impl.enabled() and corral._impl.session_key() == 0
        corral.log("loss", "between two runs nothing is looked at")
        with corral.phase("between"):
            os.environ["CORRAL_SEGMENT_DIR"] = {str(other)!r}
            corral._impl.attach()
        threads = [threading.Thread(target=corral.log, args=("loss", -1)) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    )
    session = run.one()
    assert session.values("loss") == list(range(20_000))
    assert [(phase.name, phase.end) for phase in session.phases.values()] == [("outer", None)]
    segments = sorted(run.directory.glob("*.seg"))
    used = [int.from_bytes(path.read_bytes()[1024:1032], "little") for path in segments]
    assert [value >> 63 for value in used] == [0] * (len(used) - 1) + [1], "the last says that none follows"
    (second,) = segment_reader.read(other)
    assert (second.values("loss"), second.phases) == ([-1] * 4, {})
    assert second.header["session"] != session.header["session"]

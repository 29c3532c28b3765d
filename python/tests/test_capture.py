"""Training loops that do not know of Corral, seen from outside: real PyTorch, and a stand-in for a newer one."""

from __future__ import annotations

import importlib.util
import textwrap
from collections import Counter

import pytest
from training import Training, loop, types

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@needs_torch
def test_epochs_steps_waits_evaluations_and_checkpoints(training: Training) -> None:
    training.torch("""
        for _ in range(3):
            for batch in loader:
                train(batch)
            with torch.no_grad():
                for batch in held_out:
                    loss_of(batch)
            torch.save(model.state_dict(), sys.argv[0] + ".pt")
    """)
    session = training.one()
    once = {"evaluation": 3, "evaluation/data wait": 6, "checkpoint": 3}
    assert types(session) == loop(3, 21) + Counter(once)
    phases = session.phases.values()
    assert [phase.attributes for phase in phases if phase.name == "epoch"] == [{"index": n} for n in range(3)]
    assert {phase.name: phase.kind for phase in phases} == {
        **{"epoch": 4, "step": 0, "data wait": 1, "backward": 0, "optimizer": 0, "evaluation": 0, "checkpoint": 2}
    }
    (path,) = {phase.attributes["path"] for phase in phases if phase.name == "checkpoint"}
    assert path.endswith("train.py.pt")
    for name in ("samples_per_second", "data_wait_share"):
        points = [point for point in session.points if point[0] == name]
        assert [step for _, _, step, _ in points] == list(range(21))
    steps = [phase for phase in phases if phase.name == "step"]
    for n, (step, rate) in enumerate(zip(steps, session.values("samples_per_second"), strict=True)):
        samples = 4 if n % 7 == 6 else 16
        assert step.end is not None
        assert rate * (step.end - step.begin) / 1e9 == pytest.approx(samples)
    assert all(0 < share < 1 for share in session.values("data_wait_share"))


@needs_torch
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(
            """
            for n, batch in enumerate(loader):
                loss_of(batch).backward()
                if n % 3 == 2: optimizer.step()
            """,
            # The seventh batch has no optimizer step: its step ends with the epoch.
            Counter({"epoch": 1, "epoch/step": 3, "epoch/step/optimizer": 2})
            + Counter({"epoch/step/data wait": 7, "epoch/step/backward": 7}),
            id="accumulation",
        ),
        pytest.param(
            """
            other = torch.optim.Adam(model.parameters())
            for batch in loader:
                train(batch)
                loss_of(batch).backward()
                other.step()
            """,
            loop(1, 7, data_wait=1, backward=2, optimizer=2),
            id="two optimizers",
        ),
        pytest.param(
            """
            for _ in range(2):
                for n, batch in enumerate(loader):
                    train(batch)
                    if n == 3: break
                with torch.no_grad():
                    for batch in held_out: break
            """,
            loop(2, 8) + Counter({"evaluation": 2, "evaluation/data wait": 2}),
            id="break",
        ),
        pytest.param(
            """
            for _ in range(2):
                batches = iter(loader)
                for _ in range(4): train(next(batches))
            """,
            loop(2, 8),
            id="new pass before the old one's end",
        ),
        pytest.param(
            """
            for a, b in zip(loader, DataLoader(data, batch_size=16)): train(a)
            """,
            loop(1, 7, data_wait=2, backward=1, optimizer=1),
            id="two loaders in step",
        ),
        pytest.param(
            """
            for _ in range(2):
                for batch in loader: train(batch)
                for batch in held_out: loss_of(batch)
            """,
            loop(2, 14) + Counter({"evaluation": 2, "evaluation/data wait": 4}),
            id="evaluation with gradients",
        ),
        pytest.param(
            """
            for batch in loader:
                train(batch)
                with torch.no_grad():
                    for batch in held_out: loss_of(batch)
            """,
            loop(1, 7) + Counter({"epoch/evaluation": 7, "epoch/evaluation/data wait": 14}),
            id="evaluation between steps",
        ),
        pytest.param(
            """
            for batch in loader:
                train(batch)
                for batch in held_out:
                    with torch.no_grad(): loss_of(batch)
            """,
            loop(1, 7) + Counter({"epoch/evaluation": 7, "epoch/evaluation/data wait": 14}),
            id="evaluation that fetches with gradients",
        ),
        pytest.param(
            """
            def ahead():  # as Lightning and Accelerate fetch
                batches = iter(loader)
                held = next(batches)
                for batch in batches:
                    yield held
                    held = batch
                yield held
            for _ in range(2):
                for batch in ahead(): train(batch)
            """,
            Counter({"epoch": 2, "epoch/step": 14, "epoch/step/data wait": 14})
            + Counter({"epoch/step/backward": 14, "epoch/step/optimizer": 14}),
            id="one batch ahead",
        ),
        pytest.param(
            """
            for n, batch in enumerate(loader):
                train(batch)
                if n % 3 == 2: torch.save(1, sys.argv[0] + ".pt")
            """,
            loop(1, 7) + Counter({"epoch/checkpoint": 2}),
            id="checkpoints between steps",
        ),
        pytest.param(
            """
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=1)
            for batch in loader:
                def closure():
                    optimizer.zero_grad()
                    loss = loss_of(batch)
                    loss.backward()
                    return loss
                optimizer.step(closure)
            """,
            loop(1, 7, data_wait=1, optimizer=1) + Counter({"epoch/step/optimizer/backward": 7}),
            id="closure",
        ),
        pytest.param(
            """
            class Mine(torch.optim.SGD):
                def step(self, closure=None): return super().step(closure)
            optimizer = Mine(model.parameters(), lr=0.01)
            for batch in loader: train(batch)
            """,
            loop(1, 7),
            id="optimizer of one's own",
        ),
        pytest.param(
            """
            scaler = torch.cuda.amp.GradScaler(enabled=False)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
            for batch in loader:
                scaler.scale(loss_of(batch)).backward()
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
            """,
            loop(1, 7),
            id="scaler and schedule",
        ),
        pytest.param(
            """
            for _ in range(5): train(data[:])
            """,
            # Nothing is known of this loop before its first optimizer step.
            Counter({"step": 5, "step/optimizer": 5, "step/backward": 4}),
            id="no loader",
        ),
        pytest.param(
            """
            for batch in loader:
                train(batch)
                train(batch)
            """,
            Counter({"epoch": 1, "epoch/step": 14, "epoch/step/data wait": 7})
            + Counter({"epoch/step/backward": 14, "epoch/step/optimizer": 14}),
            id="two steps with a batch",
        ),
        pytest.param(
            """
            if __name__ == "__main__":
                for keep in (False, True):
                    workers = DataLoader(data, batch_size=16, num_workers=2, persistent_workers=keep)
                    for _ in range(2):
                        for batch in workers: train(batch)
                spawned = DataLoader(data, batch_size=16, num_workers=1, multiprocessing_context="spawn")
                for batch in spawned: train(batch)
            """,
            # The start of the workers is a wait of its own.
            loop(5, 35) + Counter({"epoch/step/data wait": 5}),
            id="workers",
        ),
    ],
)
def test_loops_of_many_kinds(training: Training, code: str, expected: Counter[str]) -> None:
    training.torch(code)
    assert types(training.one()) == expected


@needs_torch
def test_phases_of_the_script_are_taken_in(training: Training) -> None:
    training.torch("""
        import corral
        for n in range(2):
            with corral.phase("epoch", n=n):
                for batch in loader:
                    with corral.phase("forward"):
                        loss = loss_of(batch)
                    loss.backward()
                    optimizer.step()
            with corral.phase("evaluation"), torch.no_grad():
                for batch in held_out:
                    loss_of(batch)
    """)
    # The first forward was over before anything said that a training is under way.
    forward = Counter({"epoch/forward": 1, "epoch/step/forward": 13})
    assert types(training.one()) == loop(2, 14) + forward + Counter({"evaluation": 2, "evaluation/data wait": 4})


@needs_torch
def test_phases_that_cross_steps_keep_their_nesting(training: Training) -> None:
    training.torch("""
        import corral
        batches = iter(loader)
        for _ in range(7):
            with corral.phase("fetch"):
                batch = next(batches)
            with corral.phase("work"):
                train(batch)
    """)
    session = training.one()
    counts = types(session)
    assert counts["fetch"] == counts["work"] == counts["work/optimizer"] == counts["work/backward"] == 7
    assert not any("step" in path or "epoch" in path for path in counts)
    assert len(session.values("data_wait_share")) >= 6


@needs_torch
def test_nothing_that_is_computed_changes(training: Training) -> None:
    code = """
        import hashlib
        values = []
        for epoch in range(2):
            for batch in DataLoader(data, batch_size=16, shuffle=True, num_workers=epoch): values.append(train(batch))
            with torch.no_grad():
                for batch in held_out: values.append(loss_of(batch).item())
        state = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
        state.update(torch.get_rng_state().numpy().tobytes())
        print([v.hex() for v in values], state.hexdigest())
    """
    assert training.torch(code) == training.torch(code, CORRAL_CAPTURE="0")
    (session,) = training.sessions()
    assert len(session.values("samples_per_second")) == 14


@needs_torch
def test_exceptions_of_the_script_pass_unchanged(training: Training) -> None:
    out = training.torch("""
        class Mine(Exception): pass
        def fail(*_): raise Mine("text", 3)
        class Broken(torch.utils.data.Dataset):
            def __len__(self): return 40
            def __getitem__(self, n):
                if n == 20: fail()
                return data[n]
        class Angry(torch.optim.SGD):
            def step(self, closure=None): fail()
        def saved(value): torch.save(value, sys.argv[0] + ".pt")
        def left():
            for batch in loader:
                train(batch)
                fail()
        angry = Angry(model.parameters(), lr=0.1)
        for call in (
            lambda: [train(b) for b in DataLoader(Broken(), batch_size=4)], lambda: angry.step(), left,
            lambda: saved(type("Unpicklable", (), {"__reduce__": fail})()),
            lambda: train(next(iter(DataLoader(data, batch_size=2, collate_fn=fail)))),
        ):
            try:
                call()
            except Mine as error:
                print(error.args == ("text", 3) and error.__cause__ is None and error.__context__ is None)
        try:
            torch.zeros(2, requires_grad=True).backward()
        except RuntimeError as error:
            print("scalar" in str(error))
        for batch in loader: train(batch)
    """)
    assert out.split() == ["True"] * 6
    counts = types(training.one())
    assert counts["epoch/step/optimizer"] == counts["epoch/step"] == 5 + 1 + 7


@needs_torch
def test_a_checkpoint_whose_name_is_no_utf8_is_one(training: Training) -> None:
    training.torch(r"""
        import os
        for batch in loader: train(batch)
        with open(os.fsdecode(os.fsencode(sys.argv[0]) + b"\xff.pt"), "wb") as file: torch.save(1, file)
        for batch in loader: train(batch)
    """)
    session = training.one()
    assert types(session) == loop(2, 14) + Counter({"checkpoint": 1})
    (path,) = (phase.attributes["path"] for phase in session.phases.values() if phase.name == "checkpoint")
    assert path.endswith("train.py?.pt")


@needs_torch
def test_a_forked_training_has_phases_of_its_own(training: Training) -> None:
    training.torch("""
        import os
        for n, batch in enumerate(loader):
            train(batch)
            if n == 2:
                pid = os.fork()
                if pid == 0:
                    for batch in loader: train(batch)
                    sys.exit(0)
                assert os.waitpid(pid, 0)[1] == 0
    """)
    assert [types(session) for session in training.sessions()] == [loop(1, 7), loop(1, 7)]


@needs_torch
def test_the_twin_in_plain_python_sees_the_same(training: Training) -> None:
    training.torch(
        """
        for batch in loader: train(batch)
        with torch.no_grad():
            for batch in held_out: loss_of(batch)
        """,
        CORRAL_PURE_PYTHON="1",
        RANK="3",
    )
    session = training.one()
    assert types(session) == loop(1, 7) + Counter({"evaluation": 1, "evaluation/data wait": 2})
    assert session.header["rank"] == 3
    assert all("/rank3/" in phase.lane for phase in session.phases.values())
    assert len(session.values("samples_per_second")) == 7


@needs_torch
def test_what_is_imported_already_can_be_captured(training: Training) -> None:
    training.torch(
        """
        from corral import _watch
        _watch.begin()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for batch in loader: train(batch)
        torch.save(1, sys.argv[0] + ".pt")
        """,
        CORRAL_CAPTURE="0",
    )
    assert types(training.one()) == loop(1, 7) + Counter({"checkpoint": 1})


# A stand-in with the interfaces of PyTorch 2, where its own hooks are used.
STAND_IN = {
    "__init__": """
        import torch.autograd, torch.compiler, torch.optim.optimizer, torch.utils.data.dataloader
        def is_grad_enabled(): return True
    """,
    "autograd/__init__": "def backward(loss): pass",
    "compiler/__init__": """
        compiling = False
        def is_compiling(): return compiling
    """,
    "optim/__init__": "",
    "optim/optimizer": """
        before, after = [], []
        def register_optimizer_step_pre_hook(hook): before.append(hook)
        def register_optimizer_step_post_hook(hook): after.append(hook)
        class Optimizer:
            def step(self):
                for hook in before: assert hook(self, (), {}) is None
                for hook in after: assert hook(self, (), {}) is None
    """,
    "utils/__init__": "",
    "utils/data/__init__": "",
    "utils/data/dataloader": """
        class _BaseDataLoaderIter:
            def __init__(self, loader): self.batches = iter(loader.batches)
            def __iter__(self): return self
            def __next__(self): return next(self.batches)
        class DataLoader:
            batch_size = 2
            def __init__(self, batches): self.batches = batches
            def __iter__(self): return _BaseDataLoaderIter(self)
    """,
}


def stand_in(training: Training, package: str, modules: dict[str, str]) -> None:
    for name, code in modules.items():
        path = training.folder / "theirs" / package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))


def test_hooks_of_newer_versions_are_used_and_left_out_of_what_is_compiled(training: Training) -> None:
    stand_in(training, "torch", STAND_IN)
    training(
        """
        import torch
        from torch.utils.data.dataloader import DataLoader
        loader, optimizer = DataLoader([[1, 2], [3, 4], [5]]), torch.optim.optimizer.Optimizer()
        for torch.compiler.compiling in (False, True):
            for batch in loader:
                torch.autograd.backward(batch)
                optimizer.step()
        """,
        path=str(training.folder / "theirs"),
        PYTHONSAFEPATH="1",
    )
    counts = types(training.one())
    assert counts == loop(1, 3) + Counter({"epoch": 1, "epoch/step": 1, "epoch/step/data wait": 3})


# A stand-in with what is used of Keras 3.
KERAS = {
    "__init__": """
        from keras.src.callbacks.callback_list import CallbackList
        from keras.src.trainers.epoch_iterator import EpochIterator
    """,
    "src/__init__": "",
    "src/callbacks/__init__": "",
    "src/callbacks/callback_list": """
        class CallbackList:
            def __init__(self, callback): self.callback = callback
            def tell(self, *_): pass
            on_train_begin = on_train_end = on_epoch_end = on_train_batch_begin = on_train_batch_end = tell
            on_test_begin = on_test_end = tell
            def on_epoch_begin(self, epoch): self.callback()
    """,
    "src/trainers/__init__": "",
    "src/trainers/epoch_iterator": """
        class EpochIterator:
            has_partial_batch, partial_batch_size, steps_per_execution = False, None, 1
            data_adapter = property(lambda self: self)
            def __init__(self, size, batches): self.batch_size, self.num_batches = size, batches
    """,
}


def test_a_fit_that_an_exception_ends_says_nothing_about_the_next(training: Training) -> None:
    stand_in(training, "keras", KERAS)
    training(
        """
        import keras
        def fit(size, batches, failing=-1, callback=lambda: None):
            keras.EpochIterator(size, batches)
            told = keras.CallbackList(callback)
            told.on_train_begin()
            told.on_epoch_begin(0)
            for n in range(batches):
                told.on_train_batch_begin(n)
                if n == failing: raise MemoryError
                told.on_train_batch_end(n)
            keras.EpochIterator(1000, 1)  # the validation's
            told.on_test_begin()
            told.on_test_end()
            told.on_epoch_end(0)
            told.on_train_end()
        try:
            fit(64, 3, 1)
        except MemoryError:
            fit(16, 2)
        fit(32, 2, callback=lambda: fit(8, 1))
        """,
        path=str(training.folder / "theirs"),
        PYTHONSAFEPATH="1",
    )
    session = training.one()
    steps = [phase for phase in session.phases.values() if phase.name == "step"]
    assert types(session)["epoch/evaluation"] >= 2
    del steps[1]  # it failed, and has no rate
    sizes = []
    for step, rate in zip(steps, session.values("samples_per_second"), strict=True):
        assert step.end is not None
        sizes.append(round(rate * (step.end - step.begin) / 1e9))
    assert sizes == [64, 16, 16, 8, 32, 32]

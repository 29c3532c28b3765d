"""The capture tells what it sees and what it does not: never a wrong count without a word."""

from __future__ import annotations

import textwrap
from collections import Counter

import pytest
from test_capture import KERAS, needs_torch, stand_in
from training import Training, health, latest, loop, samples, types


@needs_torch
def test_hooks_in_place_are_told_once(training: Training) -> None:
    training.torch("for batch in loader: train(batch)")
    told = health(training.one())
    parts = ("dataloader", "samples", "backward", "optimizer", "save", "eval", "distributed")
    assert {(f"capture.torch.{part}", "active"): "" for part in parts} == told


@needs_torch
@pytest.mark.parametrize(
    ("broken", "part", "expected"),
    [
        ("_capture_save._path_attribute", "torch.save", loop(2, 14)),
        (
            "_capture_loader.fetched",
            "torch.dataloader",
            Counter({"step": 14, "step/backward": 13, "step/optimizer": 14, "checkpoint": 1}),
        ),
        (
            "_capture_torch.stepping",
            "torch.optimizer",
            Counter({"epoch": 1, "epoch/data wait": 7, "epoch/backward": 7, "checkpoint": 1}),
        ),
        ("_capture_torch._differentiating", "torch.backward", None),
        ("_capture_loader.index_samples", "torch.samples", loop(2, 14) + Counter({"checkpoint": 1})),
    ],
)
def test_an_error_of_ours_gives_up_one_part(
    training: Training, broken: str, part: str, expected: Counter[str] | None
) -> None:
    module, _, name = broken.partition(".")
    out = training.torch(f"""
        from corral import {module}
        def broken(*_): raise RuntimeError("ours\\nalone")
        {module}.{name} = broken
        for _ in range(2):
            for batch in loader: train(batch)
        torch.save(1, sys.argv[0] + ".pt")
        print("done")
    """)
    assert out == "done\n"
    session = training.one()
    told = health(session)
    assert [key for key in told if key[1] == "given up"] == [(f"capture.{part}", "given up")]
    assert told[f"capture.{part}", "given up"] == "RuntimeError: ours alone"
    assert latest(session)[f"capture.{part}"] == "given up", "nothing that comes later hides it"
    if expected is None:
        expected = loop(2, 14, data_wait=1, optimizer=1) + Counter({"checkpoint": 1})
    assert types(session) == expected


def test_a_part_of_several_hooks_is_as_good_as_its_worst(training: Training) -> None:
    training("""
        import corral
        from corral._capture import Part
        def broken(module): raise AttributeError("no _get_iterator")
        def fine(module): pass
        lost, misses, good = Part("lost"), Part("misses"), Part("good")
        lost.place(broken, None)
        misses.place(lambda module: misses.tell("partial", "waits"), None)
        for part in (lost, misses, good): part.place(fine, None)
        lost.tell("not captured", "it has no loop")
    """)
    assert latest(training.one()) == {"capture.lost": "given up", "capture.misses": "partial", "capture.good": "active"}


@needs_torch
def test_an_optimizer_that_nobody_knows_makes_epochs_without_steps(training: Training) -> None:
    training.torch("""
        def train(batch):
            loss_of(batch).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
        for _ in range(3):
            for batch in loader: train(batch)
            with torch.no_grad():
                for batch in held_out: loss_of(batch)
    """)
    session = training.one()
    expected = {"epoch": 3, "epoch/data wait": 21, "epoch/backward": 21, "evaluation": 3, "evaluation/data wait": 6}
    assert types(session) == expected
    assert not session.points
    assert "no steps are recorded" in health(session)["capture.torch.optimizer", "partial"]


@needs_torch
def test_such_an_optimizer_without_a_loader_is_told_at_the_end(training: Training) -> None:
    training.torch("""
        for _ in range(5):
            loss_of(data[:]).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
    """)
    session = training.one()
    assert not types(session)
    assert "no steps are recorded" in health(session)["capture.torch.optimizer", "partial"]


@needs_torch
@pytest.mark.parametrize(
    ("code", "expected", "told"),
    [
        pytest.param(
            "loader = DataLoader(data, batch_size=16, collate_fn=sideways)", [16] * 6 + [4], False, id="sequence first"
        ),
        pytest.param("loader = DataLoader(TensorDataset(*data[:9]), batch_size=2)", [2] * 4 + [1], False, id="nine"),
        pytest.param(
            "loader = DataLoader(TensorDataset(*data[:9]), batch_size=2, num_workers=2)", [2] * 4 + [1], False
        ),
        pytest.param(
            "loader = DataLoader(data, batch_sampler=[[1, 2, 3], [4], [5, 6]])", [3, 1, 2], False, id="batch sampler"
        ),
        pytest.param(
            "loader = DataLoader(data, sampler=[[1, 2, 3], [4], [5, 6]], batch_size=None)", [3, 1, 2], False, id="rows"
        ),
        pytest.param("loader = DataLoader(data, batch_size=None)", [], True, id="batches of the data set"),
        pytest.param("loader = DataLoader(Stream(), batch_size=4)", [4, 4, 2], False, id="stream"),
        pytest.param("loader = DataLoader(Stream(), batch_size=4, num_workers=1)", [4, 4, 2], False, id="from afar"),
        pytest.param(
            "loader = DataLoader(Stream(), batch_size=4, collate_fn=mine)", [4, 4], True, id="stream with a collate"
        ),
        pytest.param(
            "loader = DataLoader(Stream(), batch_size=4, collate_fn=mine, num_workers=1)", [], True, id="both"
        ),
        pytest.param(
            "loader = DataLoader(Stream(), batch_size=4, drop_last=True, collate_fn=mine, num_workers=1)", [4, 4], False
        ),
    ],
)
def test_samples_are_counted_or_not_told(training: Training, code: str, expected: list[int], told: bool) -> None:
    training.torch(f"""
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self): return iter([data[n] for n in range(10)])
        def mine(items): return torch.utils.data.default_collate(items)
        def sideways(items): return [torch.stack([item[n] for item in items], 1) for n in (0, 1)]
        def loss_of(batch): return ((model(batch[0].reshape(-1, 4)) - batch[1].reshape(-1, 1)) ** 2).mean()
        {code.strip()}
        for batch in loader: train(batch)
    """)
    session = training.one()
    assert samples(session) == expected
    assert (("capture.torch.samples", "partial") in health(session)) is told


PREFETCHED = """
    import queue, threading
    def prefetched(loader):
        batches = queue.Queue(2)
        def read():
            for batch in loader: batches.put(batch)
            batches.put(None)
        threading.Thread(target=read, name="reader").start()
        return iter(batches.get, None)
"""


@needs_torch
@pytest.mark.parametrize("depth", [1, 2, 99])
def test_a_loader_that_another_thread_reads(training: Training, depth: int) -> None:
    training.torch(
        PREFETCHED.replace("Queue(2)", f"Queue({depth})").replace("\n    ", "\n        ")
        + """
        for _ in range(2):
            for batch in prefetched(loader): train(batch)
            with torch.no_grad():
                for batch in prefetched(held_out): loss_of(batch)
    """
    )
    session = training.one()
    counts = types(session)
    assert counts["step"] == counts["step/optimizer"] == 14
    assert (counts["epoch"], counts["epoch/data wait"]) == (2, 14)
    assert (counts["evaluation"], counts["evaluation/data wait"]) == (2, 4)
    assert [p.attributes for p in session.phases.values() if p.name == "epoch"] == [{"index": n} for n in range(2)]
    assert "waits for their data" in health(session)["capture.torch.dataloader", "partial"]


@needs_torch
def test_a_loop_with_batches_of_its_own(training: Training) -> None:
    training.torch("""
        import time
        def get_batch():
            rows = torch.randint(100, (8,))
            return data[rows]
        @torch.no_grad()
        def estimate_loss():
            model.eval()
            for _ in range(3): loss_of(get_batch())
            model.train()
        batch = get_batch()
        for n in range(9):
            if n % 4 == 0:
                estimate_loss()
                torch.save(model.state_dict(), sys.argv[0] + ".pt")
            for _ in range(2):
                loss = loss_of(batch)
                batch = get_batch()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    """)
    session = training.one()
    assert types(session) == {
        **{"evaluation": 3, "checkpoint": 3, "step": 9, "step/optimizer": 9},
        "step/backward": 18,
    }
    assert "waits for their data" in health(session)["capture.torch.dataloader", "partial"]


@needs_torch
def test_models_that_are_set_to_evaluation_and_not_back(training: Training) -> None:
    training.torch("""
        teacher = torch.nn.Linear(4, 1).eval()
        class Frozen(torch.nn.Sequential):
            def train(self, mode=True):
                super().train(mode)
                self[0].eval()
                return self
        model = Frozen(torch.nn.Dropout(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            model.train()
            for batch in loader:
                train(batch)
            model.eval()
            with torch.no_grad():
                for batch in held_out: loss_of(batch)
        model.eval()
    """)
    assert types(training.one()) == loop(2, 14) + Counter({"evaluation": 2, "evaluation/data wait": 4})


@needs_torch
def test_the_start_of_workers_is_a_data_wait(training: Training) -> None:
    training.torch("""
        import pathlib, time
        started = torch.utils.data.dataloader._MultiProcessingDataLoaderIter.__init__
        slept = pathlib.Path(__file__).with_name("slept")
        def slow(*args):
            began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            time.sleep(0.01)
            with slept.open("a") as file: print(began, time.clock_gettime_ns(time.CLOCK_BOOTTIME), file=file)
            started(*args)
        torch.utils.data.dataloader._MultiProcessingDataLoaderIter.__init__ = slow
        loader = DataLoader(data, batch_size=50, num_workers=1)
        for _ in range(2):
            for batch in loader: train(batch)
        batches = iter(loader)
        with torch.no_grad(): [loss_of(batch) for batch in held_out]
        for batch in batches: train(batch)
    """)
    session = training.one()
    # The workers of the third pass started before the evaluation: no step holds that.
    assert types(session)["epoch/step/data wait"] == loop(3, 6)["epoch/step/data wait"] + 2
    waits = [(p.begin, p.end or 0) for p in session.phases.values() if p.name == "data wait"]
    slept = [[int(time) for time in line.split()] for line in (training.folder / "slept").read_text().splitlines()]
    assert len(slept) == 3
    assert sum(any(begin <= began and ended <= end for begin, end in waits) for began, ended in slept) == 2
    assert types(session)["epoch/step"] == 6


@needs_torch
def test_workers_have_no_part_in_the_training(training: Training) -> None:
    training.torch("""
        def start(_):
            torch.nn.Linear(1, 1).eval()
            for batch in DataLoader(data, batch_size=50): pass
            torch.save(1, sys.argv[0] + ".pt")
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                workers = DataLoader(
                    data, batch_size=16, num_workers=1, worker_init_fn=start, multiprocessing_context=method
                )
                for batch in workers: train(batch)
    """)
    assert types(training.one()) == loop(2, 14) + Counter({"epoch/step/data wait": 2})


@needs_torch
def test_pickled_tensors_are_no_checkpoints(training: Training) -> None:
    training.torch("""
        import copy, io, pickle
        pickle.loads(pickle.dumps(model))
        copy.deepcopy(model)
        torch.save(model, io.BytesIO())
    """)
    assert types(training.one()) == {"checkpoint": 1}


@needs_torch
def test_a_forked_training_tells_its_health(training: Training) -> None:
    training.torch("""
        import os
        for batch in loader: train(batch)
        if os.fork() == 0:
            for batch in loader: train(batch)
            sys.exit(0)
        assert os.wait()[1] == 0
    """)
    told = [health(session) for session in training.sessions()]
    assert len(told) == 2
    assert told[0] == told[1]


def test_scikit_learn(training: Training) -> None:
    pytest.importorskip("sklearn")
    training("""
        import numpy as np
        from sklearn.linear_model import SGDClassifier
        from sklearn.preprocessing import StandardScaler
        from sklearn.ensemble import RandomForestClassifier
        x, y = np.random.randn(40, 3), np.arange(40) % 2
        model = SGDClassifier()
        for n in range(4): model.partial_fit(x[10 * n : 10 * n + 10], y[10 * n : 10 * n + 10], classes=[0, 1])
        forest = RandomForestClassifier(n_estimators=2, warm_start=True)
        for n in range(3):
            forest.n_estimators += 2
            forest.fit(x, y)
        RandomForestClassifier(n_estimators=2).fit(x, y)
        StandardScaler().fit(x)  # calls its own partial_fit
        try:
            model.partial_fit(x[:, :2], y)
        except ValueError:
            print("refused")
    """)
    session = training.one()
    assert types(session) == {"step": 4 + 3 + 1}
    assert samples(session) == [10] * 4 + [40] * 3
    assert ("capture.sklearn.fit", "active") in health(session)


# Stand-ins with what is used of frameworks that are not installed here; each may be imported before PyTorch.
FRAMEWORKS = {
    "accelerate": """
        import torch
        class Accelerator:
            def save_state(self, output_dir):
                for name in "ab": torch.save(1, f"{output_dir}/{name}")
    """,
    "fastai": """
        class Optimizer:
            def step(self): pass
    """,
    "transformers": """
        import torch
        from types import SimpleNamespace
        class Trainer:
            args, state = SimpleNamespace(output_dir="/out"), SimpleNamespace(global_step=5)
            def _save_checkpoint(self, model, trial):
                for name in "ab": torch.save(1, f"{model}/{name}")
    """,
}


@needs_torch
def test_a_checkpoint_of_many_files_is_one(training: Training) -> None:
    stand_in(training, "accelerate", {"__init__": "", "accelerator": FRAMEWORKS["accelerate"]})
    stand_in(training, "transformers", {"__init__": "", "trainer": FRAMEWORKS["transformers"]})
    training(
        f"""
        import accelerate.accelerator, transformers.trainer
        accelerate.accelerator.Accelerator().save_state({str(training.folder)!r})
        transformers.trainer.Trainer()._save_checkpoint({str(training.folder)!r}, None)
        """,
        path=str(training.folder / "theirs"),
        PYTHONSAFEPATH="1",
    )
    session = training.one()
    paths = [phase.attributes["path"] for phase in session.phases.values() if phase.name == "checkpoint"]
    assert paths == [str(training.folder), "/out/checkpoint-5"]
    assert types(session) == {"checkpoint": 2}


@needs_torch
def test_an_optimizer_of_fastai(training: Training) -> None:
    stand_in(training, "fastai", {"__init__": "", "optimizer": FRAMEWORKS["fastai"]})
    training.torch(
        """
        from fastai.optimizer import Optimizer
        optimizer = Optimizer()
        optimizer.zero_grad = lambda: None
        for batch in loader: train(batch)
        """,
        path=str(training.folder / "theirs"),
    )
    assert types(training.one()) == loop(1, 7)


BOOSTERS = {
    "xgboost": """
        class Booster:
            def update(self, data, iteration, fobj=None):
                if fobj: self.boost(data)
            def boost(self, data): pass
            def eval_set(self, evals, iteration=0): return ""
            def save_model(self, fname): pass
    """,
    "lightgbm": """
        class Booster:
            def update(self, train_set=None, fobj=None): return False
            def eval_valid(self, feval=None): return [1] if feval else []
            def save_model(self, filename): pass
    """,
}


@pytest.mark.parametrize(
    ("name", "module", "code"),
    [
        (
            "xgboost",
            "core",
            """
            for n in range(5):
                booster.update(1, n, fobj=len if n % 2 else None)
                booster.eval_set([1] if n < 2 else [], n)
            booster.eval_set(evals=[1])
            """,
        ),
        (
            "lightgbm",
            "basic",
            """
            for n in range(5):
                booster.update()
                booster.eval_valid(n < 3)
            """,
        ),
    ],
)
def test_rounds_of_boosters_are_steps(training: Training, name: str, module: str, code: str) -> None:
    stand_in(training, name, {"__init__": "", module: BOOSTERS[name]})
    code = f"from {name}.{module} import Booster\nbooster = Booster()\n{textwrap.dedent(code)}booster.save_model('m')"
    training(code, path=str(training.folder / "theirs"), PYTHONSAFEPATH="1")
    session = training.one()
    assert types(session) == {"step": 5, "evaluation": 3, "checkpoint": 1}
    assert health(session) == {(f"capture.{name}.train", "active"): ""}


def test_a_module_without_what_is_hooked_is_told(training: Training) -> None:
    stand_in(training, "xgboost", {"__init__": "", "core": "class Booster: pass"})
    training("import xgboost.core", path=str(training.folder / "theirs"), PYTHONSAFEPATH="1")
    told = health(training.one())
    assert list(told) == [("capture.xgboost.train", "given up")]
    assert "AttributeError" in told["capture.xgboost.train", "given up"]


def test_keras_with_data_whose_size_nobody_says(training: Training) -> None:
    unsized = """
        class Adapter:
            batch_size = None
            @property
            def has_partial_batch(self): raise NotImplementedError
        class EpochIterator:
            steps_per_execution, num_batches = 1, None
            def __init__(self, batches): self.data_adapter, self.batches = Adapter(), batches
        class TorchEpochIterator(EpochIterator):
            def _get_iterator(self): return self.batches
    """
    trainer = "from keras.src.trainers.epoch_iterator import TorchEpochIterator"
    folders = {"src/backend/__init__": "", "src/backend/torch/__init__": "", "src/backend/torch/trainer": trainer}
    stand_in(training, "keras", KERAS | folders | {"src/trainers/epoch_iterator": unsized})
    training(
        """
        from types import SimpleNamespace
        import keras.src.callbacks.callback_list
        from keras.src.backend.torch.trainer import TorchEpochIterator
        batches = [{"x": SimpleNamespace(shape=(n, 5))} for n in (16, 16, 4)]
        batches = TorchEpochIterator(batches)
        told = keras.CallbackList(lambda: None)
        told.on_train_begin()
        told.on_epoch_begin(0)
        for n, batch in enumerate(iter(batches._get_iterator())):
            told.on_train_batch_begin(n)
            told.on_train_batch_end(n)
        told.on_epoch_end(0)
        told.on_train_end()
        """,
        path=str(training.folder / "theirs"),
        PYTHONSAFEPATH="1",
    )
    session = training.one()
    assert types(session)["epoch/step"] == 3
    assert samples(session) == [16, 16, 4]
    assert not any(state == "given up" for _, state in health(session))

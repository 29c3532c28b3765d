"""Ray Train with two workers, in a cluster that knows nothing of the run."""

import os
import socket
import subprocess
import sys
import tempfile

os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}  # before Ray reads them

import ray
import ray.train
import truth
from corral.ray import CorralCallback, runtime_env
from ray.train.torch import TorchTrainer

STEPS = 5


def train():
    import corral
    import torch

    rank = ray.train.get_context().get_world_rank()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.ones(STEPS, 4))
    for step, (x,) in enumerate(torch.utils.data.DataLoader(data)):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        corral.log("own", 10 * rank + step, step=step)
        ray.train.report({"loss": 1 / (1 + step) + rank, "note": "no number", "nested": {"value": step}})


def start(folder):
    """Starts a cluster without the run's variables; returns it and its address."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CORRAL_", "PYTHONPATH"))}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = os.path.join(os.path.dirname(sys.executable), "ray")
    options = [f"--port={port}", "--include-dashboard=false", "--num-cpus=3", f"--temp-dir={folder}"]
    command = [program, "start", "--head", "--block", *options]
    cluster = subprocess.Popen(command, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cluster, f"127.0.0.1:{port}"


def fit(folder):
    trainer = TorchTrainer(
        train,
        scaling_config=ray.train.ScalingConfig(num_workers=2),
        run_config=ray.train.RunConfig(storage_path=folder, callbacks=[CorralCallback()]),
    )
    try:
        trainer.fit()
    finally:
        ray.shutdown()


with tempfile.TemporaryDirectory(prefix="ray-") as folder:
    if sys.argv[1] == "cluster":
        cluster, address = start(folder)
        try:
            ray.init(address, runtime_env=runtime_env())
            fit(folder)
        finally:
            cluster.terminate()  # and all that it started
            cluster.wait()
    else:
        ray.init(num_cpus=3, include_dashboard=False)
        fit(folder)

for step in range(STEPS):
    truth.logged("loss", step, 1 / (1 + step))
    truth.logged("nested/value", step, step)
    for rank in range(2):
        truth.logged(f"rank{rank}:own", step, 10 * rank + step)
    truth.counts["steps"] += 2

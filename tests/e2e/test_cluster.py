"""The launchers of cluster.py start what the other tests take for granted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import NODES, Slurm, mpirun, slurm
from support import PATIENCE


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def test_srun_starts_two_tasks_on_each_node(cluster: Slurm) -> None:
    said = cluster.run(["srun", "-N2", "-n4", "sh", "-c", "echo $(hostname) $(cat /etc/machine-id)"]).stdout
    ids = {node: (cluster.machines[node].root / "machine-id").read_text().strip() for node in NODES}
    assert sorted(said.splitlines()) == [f"{node} {ids[node]}" for node in NODES for _ in range(2)]


def test_mpirun_numbers_its_processes(tmp_path: Path) -> None:
    done = subprocess.run(
        mpirun(3, "sh", "-c", "echo $OMPI_COMM_WORLD_RANK"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert sorted(done.stdout.split()) == ["0", "1", "2"], done.stderr

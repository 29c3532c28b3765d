"""Real launchers on one machine: a Slurm cluster of two nodes, and Open MPI's mpirun.

A node is a slurmd with a hostname, machine id, boot id and process table of its own, and with its own directory
mounted at DISK. Network, users, /tmp, processors and all other files are those of this machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support import PATIENCE, free_ports, until

NODES = ("node1", "node2")
CONTROL = "control"
DISK = Path("/var/lib/slurm")  # made by Debian's packages, and short: names of Unix sockets are
LOCAL = DISK / "local"  # in a task: a directory that its node shares with no other
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo", "unshare")

# A job of `main` and `urgent` has its nodes for itself, so that `-N2 -n4` is two tasks on each; those of `shared` may
# meet on one. Jobs of `urgent` requeue the others. A requeued job waits for cred_expire, in seconds, before its next
# start. KillWait is the time from SIGTERM to SIGKILL. Limits of time are checked twice a minute.
CONFIG = """
ClusterName=test
SlurmctldHost={control}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
StateSaveLocation={disk}/state
SlurmdSpoolDir={disk}/spool
TmpFS={local}
SlurmctldPidFile={disk}/slurmctld.pid
SlurmdPidFile={disk}/slurmd.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
ReturnToService=2
KillWait=60
SchedulerParameters=bf_interval=1,sched_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE PriorityTier=1
PartitionName=shared Nodes=ALL PriorityTier=1
PartitionName=urgent Nodes=ALL OverSubscribe=EXCLUSIVE PriorityTier=2 PreemptMode=OFF
"""

# The first process of a machine: it ends with the daemon or with its standard input, and takes all others with it.
FIRST_PROCESS = """
set -e
hostname "$1"
mount --bind machine-id /etc/machine-id
mount --bind boot-id /proc/sys/kernel/random/boot_id
mount --bind disk "$2"
shift 2
exec 3<&0 </dev/null
cat <&3 >/dev/null &
"$@" 3<&- &
set +e
wait -n
"""


class Machine:
    """A daemon and all that it starts, in namespaces of their own; ends with close() or with this process."""

    def __init__(self, root: Path, name: str, daemon: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.root = root / name
        self.disk = self.root / "disk"
        for directory in ("state", "spool", LOCAL.name):
            (self.disk / directory).mkdir(parents=True)
        (self.root / "machine-id").write_text(uuid.uuid4().hex + "\n")
        (self.root / "boot-id").write_text(f"{uuid.uuid4()}\n")
        namespaces = ["--uts", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
        first = ["bash", "-c", FIRST_PROCESS, "bash"]
        with (self.root / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["unshare", *namespaces, *first, name, DISK, *daemon],
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        return (self.root / "log").read_text(errors="replace")

    def close(self) -> None:
        """Returns when the last process of the machine is gone: the kernel ends its first process after all others."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Slurm:
    """A controller, two nodes of eight processors that this machine need not have, and commands that use them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        config = root / "slurm.conf"
        control, *ports = free_ports(1 + len(NODES))
        lines = [CONFIG.format(control=CONTROL, port=control, disk=DISK, local=LOCAL)]
        for node, port in zip(NODES, ports, strict=True):
            lines.append(f"NodeName={node} NodeHostname={node} NodeAddr=127.0.0.1 Port={port} CPUs=8\n")
        config.write_text("".join(lines))
        self.environment = {"PATH": SEARCHED, "LANG": "C.UTF-8", "HOME": str(root), "SLURM_CONF": str(config)}
        self.machines: dict[str, Machine] = {}
        try:
            self._start(CONTROL, "slurmctld", "-D")
            for node in NODES:
                self._start(node, "slurmd", "-D", "-N", node)
            until(self._idle, "both nodes are idle")
        except BaseException:
            self.close()
            raise

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: dict[str, str] | None = None,
        timeout: float = PATIENCE,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command of Slurm on this machine; `env` comes on top of the cluster's, and tasks inherit both."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def submit(self, script: str, *options: str, env: dict[str, str] | None = None) -> int:
        """Returns the id of a batch job that runs a script for sh; its output is ID.out in the cluster's directory."""
        path = self.root / f"{uuid.uuid4().hex}.sh"
        path.write_text("#!/bin/sh\n" + script)
        done = self.run(["sbatch", "--parsable", "--output=%j.out", *options, path], env=env)
        return int(done.stdout)

    def job(self, job: int) -> dict[str, str]:
        """The answer of `scontrol show job`: JobState, Reason, Restarts, EndTime, ExitCode and many more."""
        said = self.run(["scontrol", "show", "job", "--oneliner", str(job)]).stdout
        return dict(re.findall(r"(?:^|\s)([A-Z][\w:/]*)=(\S*)", said))

    def until_state(self, job: int, state: str) -> dict[str, str]:
        def in_state() -> dict[str, str] | None:
            said = self.job(job)
            return said if said["JobState"] == state else None

        return until(in_state, f"job {job} is {state}")

    def local(self, node: str) -> Path:
        """The directory that tasks on this node see as LOCAL."""
        return self.machines[node].disk / LOCAL.name

    def close(self) -> None:
        for machine in reversed(self.machines.values()):
            machine.close()

    def _start(self, name: str, *daemon: str) -> None:
        self.machines[name] = Machine(self.root, name, list(daemon), self.environment)

    def _idle(self) -> bool:
        for machine in self.machines.values():
            assert machine.process.poll() is None, f"{machine.name} ended: {machine.log()[-2000:]}"
        said = self.run(["sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T"], check=False).stdout
        return said.split("\n")[:-1] == [f"{node} idle" for node in NODES]


@contextlib.contextmanager
def slurm(root: Path) -> Iterator[Slurm]:
    """A cluster with all its files below `root`; its processes end with the block. Skips where none can be started."""
    for program in PROGRAMS:
        if shutil.which(program, path=SEARCHED) is None:
            pytest.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        pytest.skip("only root can give Slurm's nodes hostnames of their own")
    tried = subprocess.run(
        ["unshare", "--uts", "--mount", "--pid", "--mount-proc", "--fork", "mount", "--bind", "/etc", "/etc"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if tried.returncode != 0:
        pytest.skip(f"Slurm's nodes cannot have namespaces of their own here: {tried.stderr.strip()}")
    for path in (DISK, Path("/etc/machine-id")):
        if not path.exists():
            pytest.skip(f"each of Slurm's nodes needs a {path} of its own, and this machine has none to mount it at")
    directory = root / "slurm"
    directory.mkdir()
    with contextlib.closing(Slurm(directory)) as cluster:
        yield cluster


def open_mpi() -> str:
    """The path of Open MPI's mpirun; skips where there is none."""
    path = shutil.which("mpirun", path=SEARCHED)
    if path is None:
        pytest.skip("mpirun is not installed")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if "Open MPI" not in said.stdout:
        pytest.skip(f"{path} is not Open MPI's")
    return path


def mpirun(count: int, *command: str | Path) -> list[str]:
    """A command that starts `count` processes, as root and beyond the number of processors, too."""
    return [open_mpi(), "--allow-run-as-root", "--oversubscribe", "-n", str(count), *map(str, command)]

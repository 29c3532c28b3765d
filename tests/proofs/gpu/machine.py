"""The machine under proof: its libraries and tools, an isolated home for Corral, and loads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _build import BUILD, built, corral

from gpu.record import Record

HERE = Path(__file__).resolve().parent
PROOFS = HERE.parent
TOOLS = (
    "nvidia-smi", "nsys", "ncu", "nvidia-cuda-mps-control", "dcgmi", "nv-hostengine", "nvcc",
)  # fmt: skip
HOST_NAMESPACE = "pid:[4026531836]"  # the kernel's constant


@dataclass
class Machine:
    record: Record
    nvml: str  # the library's path or name
    corral: Path
    fake: bool
    settings: bool = False  # settings of the GPU may be changed

    @property
    def loads(self) -> bool:
        """True if loads run; on a fake driver its timeline is the load."""
        return not self.fake

    @contextmanager
    def load(self, kind: str, seconds: float, mib: int = 256) -> Iterator[subprocess.Popen[str] | None]:
        if not self.loads:
            yield None
            return
        command = [sys.executable, "-m", "gpu.load", kind, str(seconds), str(mib)]
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(PROOFS)}, stdout=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            elif process.returncode != 0:
                self.record.check(f"a load of kind {kind} runs", False, process.returncode)
            process.wait()


def home(record: Record) -> None:
    """Corral of this proof sees no store, configuration or spool but the proof's own."""
    at = record.folder / "home"
    runtime = record.folder / "run"
    for path in (at, runtime):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    record.environment |= {
        "HOME": str(at),
        "XDG_DATA_HOME": str(at / "data"),
        "XDG_STATE_HOME": str(at / "state"),
        "XDG_CONFIG_HOME": str(at / "config"),
        "XDG_RUNTIME_DIR": str(runtime),
        "CORRAL_STORE": str(at / "store"),
        "CORRAL_SPOOL": str(at / "spool"),
        "CORRAL_LOCKS": str(at / "locks"),
    }


def real(record: Record) -> Machine:
    home(record)
    return Machine(record, "libnvidia-ml.so.1", corral(), fake=False)


def fake(record: Record) -> Machine:
    """The project's fake driver, a fake nvidia-smi that agrees with it, and the fake MPS daemon."""
    home(record)
    binary = corral()
    library = built("fakes/libnvidia-ml.so.1", "corral_fake_nvml")
    built("fakes/gpu/libnvidia-ml.so.1", "corral_fake_gpu")
    built("fakes/gpu/nvidia-cuda-mps-control", "corral_fake_mps_control")
    timeline = record.keep("fake.timeline", (HERE / "fake.timeline").read_text())
    tools = record.folder / "bin"
    tools.mkdir()
    shutil.copy(HERE / "fake_nvidia_smi.py", tools / "nvidia-smi")
    (tools / "nvidia-smi").chmod(0o755)
    record.environment |= {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "CORRAL_NVML_LIBRARY": str(library),
        "CORRAL_FAKE_NVML": str(timeline),
    }
    os.environ["CORRAL_FAKE_NVML"] = str(timeline)
    return Machine(record, str(library), binary, fake=True)


def changing(machine: Machine) -> dict[str, str]:
    """The environment of commands that change a GPU: on a fake the driver that keeps its state in a file."""
    if not machine.fake:
        return {}
    state = machine.record.folder / "home" / "gpu"
    if not state.exists():
        state.write_text("gpus 2\nmodel h200\n")
    folder = BUILD / "fakes" / "gpu"
    return {
        "CORRAL_NVML_LIBRARY": str(folder / "libnvidia-ml.so.1"),
        "CORRAL_MPS_CONTROL": str(folder / "nvidia-cuda-mps-control"),
        "FAKE_NVML_STATE": str(state),
    }

"""Determines the rank of this process in a distributed training, from the environment that its launcher sets.

The launcher that is nearest to the process counts: in a batch job Slurm numbers the processes that mpirun or torchrun
are started by, and those number the training's. src/spool/segment_identity.h says the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 2**31  # some launchers say "none" by a larger number


def rank_of(environment: Mapping[str, str]) -> int:
    """-1: no launcher says."""

    def number(name: str) -> int:
        text = environment.get(name, "")
        value = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
        return value if value < _MOST else -1

    alone = number("RANK")
    if 0 <= alone < number("WORLD_SIZE"):  # torchrun and those like it
        return alone
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID"):
        if (rank := number(name)) >= 0:
            return rank
    # srun's steps are numbered; a batch script has no step, or one whose number is above all others.
    if (number("SLURM_STEP_ID") >= 0 or number("SLURM_STEPID") >= 0) and number("SLURM_PROCID") >= 0:
        return number("SLURM_PROCID")
    return alone

"""Suffers from one of two ranks that computes longer, so that the other waits. Cured, both take as long.

Required: the phases of each rank. Expected: waits for other ranks; rank 1 is late, cured none.
"""

from __future__ import annotations

import os
import subprocess
import sys

import common
import torch
import torch.distributed as dist

EXPECTED = ("ranks", "unknown")
SLOW_RANK = 1


def main() -> None:
    chosen = common.options(__doc__)
    if "RANK" not in os.environ:
        shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
        ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**shared, "RANK": str(r)}) for r in range(2)]
        sys.exit(max(rank.wait() for rank in ranks))
    dist.init_process_group("gloo")
    slow = dist.get_rank() == 1 or chosen.cure
    net = common.model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(int(chosen.seconds / 0.05)):
        common.burn(0.04 if slow else 0.01)
        net(torch.rand(16, common.WIDTH)).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

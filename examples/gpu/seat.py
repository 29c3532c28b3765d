"""Says which part of which GPU this run was given, then computes a little on the CPU: also for machines without one."""

from __future__ import annotations

import argparse
import os

try:
    import corral
except ImportError:  # not run by Corral
    corral = None  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    for name in sorted(os.environ):
        if name.startswith("CUDA_"):
            print(f"{name}={os.environ[name]}")
    for step in range(options.steps):
        total = sum(i * i for i in range(50_000))
        if corral is not None:
            corral.log("total", total, step=step)


if __name__ == "__main__":
    main()

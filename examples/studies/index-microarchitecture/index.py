"""Looks keys up in one of the indexes of index.cpp, in rounds of four phases: build, look up, look up popular, scan.

Every index gets the same keys and the same questions; its answers are checked. Needs a C++ compiler (`$CXX`, `c++`).
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import corral
import numpy as np

INDEXES = ("binary", "btree", "hash", "learned")
SCAN = 100  # keys
POPULAR = 1000  # keys, anywhere, that three of four questions are about


def compiled(folder: Path) -> ctypes.CDLL:
    library = folder / "index.so"
    source = Path(__file__).with_name("index.cpp")
    compiler = os.environ.get("CXX", "c++")
    try:
        subprocess.run([compiler, "-std=c++20", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"index.cpp needs a C++20 compiler; $CXX names one: {error}")
    made = ctypes.CDLL(str(library))
    made.data_new.restype = ctypes.c_void_p
    made.look_up.restype = made.scan.restype = ctypes.c_uint64
    return made


class Index:
    def __init__(self, library: ctypes.CDLL, name: str, keys: np.ndarray) -> None:
        self.library, self.name = library, name
        self.data = ctypes.c_void_p(library.data_new(ctypes.c_void_p(keys.ctypes.data), ctypes.c_size_t(len(keys))))

    def build(self) -> None:
        if not self.library.build(self.data, self.name.encode()):
            sys.exit(f"index.cpp has no index {self.name}")

    def look_up(self, probes: np.ndarray) -> int:
        return int(self.library.look_up(self.data, ctypes.c_void_p(probes.ctypes.data), ctypes.c_size_t(len(probes))))

    def scan(self, probes: np.ndarray) -> int:
        pointer, count = ctypes.c_void_p(probes.ctypes.data), ctypes.c_size_t(len(probes))
        return int(self.library.scan(self.data, pointer, count, ctypes.c_size_t(SCAN)))


def draw_keys(count: int, distribution: str, draw: np.random.Generator) -> np.ndarray:
    if distribution == "uniform":
        drawn = draw.integers(0, 2**62, 2 * count, dtype=np.uint64)
    else:
        drawn = (draw.lognormal(0, 2, 2 * count) * 2**40).astype(np.uint64)
    keys = np.unique(drawn)
    if len(keys) < count:
        sys.exit(f"{len(keys):,} different keys were drawn, fewer than {count:,}")
    return np.sort(draw.choice(keys, count, replace=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", choices=INDEXES, required=True)
    parser.add_argument("--keys", type=int, default=4_000_000)
    parser.add_argument("--lookups", type=int, default=1_000_000, help="of each phase in a round")
    parser.add_argument("--distribution", choices=("uniform", "lognormal"), default="uniform")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    keys = draw_keys(options.keys, options.distribution, draw)
    asked = draw.integers(0, len(keys), options.lookups)
    known = draw.integers(0, len(keys), POPULAR)
    favourites = np.where(draw.random(options.lookups) < 0.75, known[asked % POPULAR], asked)
    probes, popular, begins = keys[asked], keys[favourites], asked[: options.lookups // 20]
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys)])  # sums of 64 bits, as index.cpp has them
    scanned = int((before[np.minimum(begins + SCAN, len(keys))] - before[begins]).sum())
    with tempfile.TemporaryDirectory() as folder:
        index = Index(compiled(Path(folder)), options.index, keys)
    for number in range(options.rounds):
        with corral.phase("epoch", index=number):
            with corral.phase("build"):
                index.build()
            with corral.phase("look up"):
                right = index.look_up(probes) == int(asked.sum())
            with corral.phase("look up popular"):
                right &= index.look_up(popular) == int(favourites.sum())
            with corral.phase("scan"):
                right &= index.scan(keys[begins]) == scanned
        if not right:
            sys.exit(f"{options.index} found keys at wrong places")
    print(f"{options.rounds} rounds of {options.lookups:,} keys in {len(keys):,}")


if __name__ == "__main__":
    main()

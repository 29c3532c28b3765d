"""Suffers from other programs on its CPUs: an autoencoder that computes in one thread gets half of one.

Required counter: run.thread.run_delay. Expected: the steps, by other programs. Needs a burner for each CPU beside it.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn

EXPECTED = ("work", "other programs")
NEEDS = "burners"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds

    torch.manual_seed(1)
    encoder = nn.Sequential(nn.Linear(196, 96), nn.ReLU(), nn.Linear(96, 12))
    decoder = nn.Sequential(nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 196), nn.Sigmoid())
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    digits = torch.rand(4096, 196)
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        for chosen in torch.randperm(len(digits)).split(256):
            clean = digits[chosen]
            noisy = clean + 0.1 * torch.randn_like(clean)
            loss = nn.functional.binary_cross_entropy(decoder(encoder(noisy)), clean)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

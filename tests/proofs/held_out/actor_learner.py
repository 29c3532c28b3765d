"""Suffers from an actor and a learner that wait for each other: one thread plays while the other one learns.

Required counter: run.thread.waited.lock. Expected: the steps, by threads in turn: each computes about half of the time,
and never both.
"""

from __future__ import annotations

import argparse
import queue
import threading
import time

import numpy as np
import torch
from torch import nn

EXPECTED = ("work", "threads in turn")
POLES, MOVES, ROUNDS = 160, 100, 8
Episode = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def play(policy: nn.Module, generator: np.random.Generator) -> Episode:
    """POLES of them at once, each pushed left or right MOVES times; the reward is how upright they stand."""
    angle, speed = generator.normal(0, 0.05, POLES), np.zeros(POLES)
    seen, pushed, rewards = [], [], []
    for _ in range(MOVES):
        state = torch.from_numpy(np.stack([angle, speed], 1).astype(np.float32))
        with torch.no_grad():
            push = torch.bernoulli(torch.sigmoid(policy(state)[:, 0]))
        speed += 0.02 * (9.8 * np.sin(angle) + 4 * (2 * push.numpy() - 1))
        angle = np.clip(angle + 0.02 * speed, -1.5, 1.5)
        seen.append(state)
        pushed.append(push)
        rewards.append(torch.from_numpy(np.cos(angle).astype(np.float32)))
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    return torch.stack(seen), torch.stack(pushed), (returns - returns.mean(1, keepdim=True)) / (returns.std() + 1e-6)


def act(policy: nn.Module, orders: queue.Queue[bool], episodes: queue.Queue[Episode]) -> None:
    generator = np.random.default_rng(0)
    while orders.get():
        episodes.put(play(policy, generator))


def learn(policy: nn.Module, optimizer: torch.optim.Optimizer, episode: Episode) -> None:
    states, pushed, advantage = episode
    for part in range(ROUNDS):
        logits = policy(states[part::ROUNDS]).squeeze(-1)
        likely = -nn.functional.binary_cross_entropy_with_logits(logits, pushed[part::ROUNDS], reduction="none")
        (-(likely * advantage[part::ROUNDS]).mean() / ROUNDS).backward()
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    end = time.monotonic() + parser.parse_args().seconds

    policy = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    orders: queue.Queue[bool] = queue.Queue()
    episodes: queue.Queue[Episode] = queue.Queue()
    actor = threading.Thread(target=act, args=(policy, orders, episodes))
    actor.start()
    played = 0
    while time.monotonic() < end:
        orders.put(True)  # on-policy: the next episode is played with what was learnt from the last one
        learn(policy, optimizer, episodes.get())
        played += 1
    orders.put(False)
    actor.join()
    print(f"{played} episodes")


if __name__ == "__main__":
    main()

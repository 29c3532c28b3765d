"""Proves that a lab of 200 people works on one server, and that nobody sees or changes what is another team's.

    ./dev proof lab                  200 people for 30 minutes, and 10^5 random requests as each of four roles
    ./dev proof lab --minutes 5 --requests 20000
    ./dev proof lab --smoke          20 people for 10 seconds

Ten teams have a space each. Their people look at the page, train by MLflow's interface and under `corral run`, sweep,
work in notebooks, or scrape. A reader, a writer, an owner and an admin who are members of no team's space ask random
questions. Passed: nothing of a foreign space was in any answer or event, what lay in a vault is as before, no request
failed, and every acknowledged point is stored. The server's memory in the last third of the time exceeds that in the
second by at most a quarter and 32 MiB.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import _build

sys.path.insert(0, str(_build.ROOT / "tests" / "e2e"))

from lab.people import Analyst, Person, Reader, Scraper, Sweeper, Tidier, Trainer, Writer
from lab.place import Client, Lab, content, fill
from lab.strangers import Stranger
from support import Corral

ROLES = ("reader", "writer", "owner", "admin")
# For each 20 people.
KINDS: list[type[Person]] = [Reader] * 8 + [Writer] * 5 + [Sweeper] * 2 + [Analyst] * 4 + [Scraper]
TRAINERS = 4
QUESTIONS_OF_THE_TRAITOR = 800
LEAST_CAUGHT = 40
MEMORY_MAY_GROW = 1.25
SLACK = 32 << 20


@contextmanager
def opened() -> Iterator[Lab]:
    """A lab on a disk, in a folder of its own below build/."""
    place = _build.BUILD.parent / "proofs"
    place.mkdir(parents=True, exist_ok=True)
    home, runtime = Path(tempfile.mkdtemp(prefix="lab-", dir=place)), Path(tempfile.mkdtemp(prefix="corral-"))
    corral = Corral(home, runtime)
    try:
        yield Lab(corral)
    finally:
        corral.close()
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(runtime, ignore_errors=True)


def settle(lab: Lab, people: int, seconds: float) -> list[Person]:
    """Spaces with something in them, and their people."""
    spaces = [lab.add_space(name) for name in ("", "guests", *(f"team{i}" for i in range(10)))]
    for i, space in enumerate(spaces):
        fill(lab, lab.add_user(f"founder{i}", "writer", space), space)
    teams = spaces[2:]
    settled: list[Person] = []
    for i in range(people):
        settled.append(KINDS[i * len(KINDS) // people](lab, f"person{i}", teams[i % 10]))
    settled += [Tidier(lab, f"tidier{i}", teams[i]) for i in (0, 1)]
    return settled + [Trainer(lab, f"trainer{i}", teams[i], min(60.0, seconds / 2)) for i in range(TRAINERS)]


def strangers(lab: Lab, requests: int, seconds: float) -> list[Stranger]:
    """Two for each role: one of no space, one of a space that is nobody's in the lab."""
    guests = next(space for space in lab.spaces if space.name == "guests")
    asking = [
        Stranger(lab, lab.add_user(f"stranger-{role}-{i}", role, *spaces), role, requests // 2, seconds)
        for role in ROLES
        for i, spaces in enumerate(([], [guests]))
    ]
    for one in asking:
        one.client.sees.add(id(guests))  # its members show it: they link its runs to open models
    return asking


def check_the_looking(lab: Lab) -> None:
    """A stranger who sees two spaces in truth, but should not, is caught in most routes and calls."""
    spaces = [lab.add_space(f"lost{i}") for i in range(3)]
    for one in spaces:
        fill(lab, lab.add_user(f"loser-{one.name}", "writer", one), one)
    client = lab.add_user("traitor", "writer", *spaces)
    client.sees = {id(spaces[0])}
    traitor = Stranger(lab, client, "traitor", QUESTIONS_OF_THE_TRAITOR, 1)
    traitor.spaces = spaces
    before = len(lab.seen.leaks)
    for _ in range(QUESTIONS_OF_THE_TRAITOR):
        traitor.ask()
    print(f"the looking works: a stranger who sees too much is caught in {len(traitor.caught)} routes and calls")
    if len(traitor.caught) < LEAST_CAUGHT:
        raise AssertionError(f"too few: {sorted(traitor.caught)}")
    del lab.seen.leaks[before:]
    lab.seen.statuses.clear()


def work(lab: Lab, people: list[Person], asking: list[Stranger], seconds: float) -> list[int]:
    """The server's memory, each second. Strangers may take half as long again."""
    memory, began = [], time.monotonic()
    for thread in (*people, *asking):
        thread.start()
    told = 0
    while True:
        passed = time.monotonic() - began
        if passed > 1.5 * seconds or (passed > seconds and not any(one.is_alive() for one in asking)):
            break
        memory.append(lab.memory())
        if passed // 60 > told:
            told = int(passed // 60)
            asked = " ".join(f"{role} {lab.seen.asked[role]}" for role in ROLES)
            print(f"{told:3} min, {memory[-1] >> 20} MiB, asked as: {asked}", flush=True)
        lab.stop.wait(1)
    lab.stop.set()
    for thread in (*people, *asking):
        thread.join(timeout=180)
        if thread.is_alive():
            lab.seen.failures["a thread does not end"] += 1
    return memory


def print_figures(lab: Lab, seconds: float) -> None:
    print(f"\n{'what':24} {'asked':>8} {'per s':>7} {'p50 ms':>8} {'p99 ms':>8} {'most ms':>8}")
    for what, times in sorted(lab.seen.seconds.items()):
        ordered = sorted(times)
        middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        figures = f"{len(ordered) / seconds:7.1f} {middle * 1e3:8.1f} {late * 1e3:8.1f} {ordered[-1] * 1e3:8.1f}"
        print(f"{what:24} {len(ordered):8} {figures}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--requests", type=int, default=100_000, help="random requests as each role (default: 100000)")
    parser.add_argument("--smoke", action="store_true")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.minutes, chosen.people, chosen.requests = 1 / 6, 20, 400
    seconds = chosen.minutes * 60
    _build.corral()
    with opened() as lab:
        people = settle(lab, chosen.people, seconds)
        vault = lab.add_space("vault")
        keeper = lab.add_user("keeper", "writer", vault)
        fill(lab, keeper, vault)
        before = content(keeper, vault)
        check_the_looking(lab)
        began = time.monotonic()
        memory = work(lab, people, strangers(lab, chosen.requests, seconds), seconds)
        passed = time.monotonic() - began
        lab.corral.wait_spool_empty()
        lost = sum(one.lost() for one in people if isinstance(one, Writer | Trainer))
        points = sum(sum(one.acknowledged.values()) for one in people if isinstance(one, Writer))
        # The server has closed the other connection, which was idle.
        keeper = Client(lab, keeper.token, [vault, lab.spaces[0]])
        changed = [(a, b) for a, b in zip(before, content(keeper, vault), strict=True) if a != b]
    print_figures(lab, passed)
    third = max(1, len(memory) // 3)
    middle, last = statistics.median(memory[third : 2 * third] or memory), statistics.median(memory[-third:])
    seen = lab.seen
    print("strangers were answered", ", ".join(f"{status}: {n}" for status, n in sorted(seen.statuses.items())))
    for leak, times in Counter(re.sub(r"[0-9a-f]{8,}|\d+", "N", one)[:400] for one in seen.leaks).most_common(20):
        print(f"seen {times} times: {leak}")
    for was, now in changed:
        at = next(i for i, (a, b) in enumerate(zip(was + b" ", now + b" ", strict=False)) if a != b)
        print(f"changed: {was[:80]!r}: {was[max(0, at - 80) : at + 80]!r} is {now[max(0, at - 80) : at + 80]!r}")
    for failure, times in seen.failures.most_common(20):
        print(f"failed {times} times: {failure}")
    told = [f"{chosen.people} people and {TRAINERS} trainings for {passed / 60:.1f} min"]
    told += [f"{min(seen.asked[role] for role in ROLES)} random requests as each role"]
    told += [f"{len(seen.leaks)} foreign data seen, {len(changed)} changed, {sum(seen.failures.values())} failed"]
    told += [f"{lost} of {points} acknowledged points lost, {max(memory) >> 20} MiB at most"]
    grew = last > MEMORY_MAY_GROW * middle + SLACK
    if grew:
        told.append(f"memory grew from {middle / (1 << 20):.0f} to {last / (1 << 20):.0f} MiB")
    print("; ".join(told))
    enough = chosen.smoke or all(seen.asked[role] >= chosen.requests // 2 * 2 for role in ROLES)
    return 0 if enough and not (seen.leaks or changed or seen.failures or lost or grew) else 1


if __name__ == "__main__":
    sys.exit(main())

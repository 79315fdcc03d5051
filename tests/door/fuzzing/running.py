"""Throwing things at a door for a while: no unexpected answer, no crash, no growing memory."""

import os
import random
import time
from pathlib import Path
from typing import Final

import httpx

from tests.door.fuzzing.described import Requests, fire
from tests.door.fuzzing.hostile import ATTACKS, SlowLoris, judge
from tests.door.fuzzing.serving import served

# What the door may hold more at the end than after a fifth of the time: replay frames, tasks that
# ended and can still be read, and what Python's allocator keeps.
MAY_GROW_BYTES: Final = 48 << 20


def seed() -> int:
    return int(os.environ.get("FUZZ_SEED", str(time.time_ns())))


def throw_requests(work: Path, seconds: float, start: int) -> str:
    """Schema-driven requests; what was done, in a line."""
    requests = Requests(start)
    statuses: dict[int, int] = {}
    with served(work) as door, httpx.Client(timeout=30) as client:
        door.works()
        began = time.monotonic()
        settled = 0
        while (elapsed := time.monotonic() - began) < seconds:
            status = fire(client, door.url, requests)
            statuses[status] = statuses.get(status, 0) + 1
            if not settled and elapsed > seconds / 5:
                settled = door.resident_bytes()
        door.works()
        grown = door.resident_bytes() - settled
        assert grown < MAY_GROW_BYTES, grown
    return f"seed {start}: {sum(statuses.values())} requests {statuses}, grew {grown >> 10} KiB"


def throw_bytes(work: Path, seconds: float, start: int, loris: int = 50) -> str:
    """Hostile sockets beside slow ones, the session answering all the while."""
    chance = random.Random(start)
    counts = {attack.__name__: 0 for attack in ATTACKS}
    slowest = 0.0
    with served(work) as door:
        door.works()
        slow = SlowLoris(door.port, loris)
        began = time.monotonic()
        settled = 0
        while (elapsed := time.monotonic() - began) < seconds:
            attack = chance.choice(ATTACKS)
            judge(attack(door.port, chance))
            counts[attack.__name__] += 1
            asked = time.monotonic()
            door.call("ListTasks", {"pageSize": 1})
            slowest = max(slowest, time.monotonic() - asked)
            if slow.drip() == 0:
                # Thirty seconds are all that a request may take to arrive.
                assert time.monotonic() - slow.opened > 25
                slow = SlowLoris(door.port, loris)
            if not settled and elapsed > seconds / 5:
                settled = door.resident_bytes()
        slow.close()
        door.works()
        grown = door.resident_bytes() - settled
        assert grown < MAY_GROW_BYTES, grown
    return f"seed {start}: {counts}, slowest {slowest:.3f} s beside, grew {grown >> 10} KiB"

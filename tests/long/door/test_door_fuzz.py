"""Ten minutes each of requests made from the door's description, and of hostile sockets.

`FUZZ_SECONDS` and `FUZZ_SEED` change length and start.
"""

import os
from pathlib import Path

from tests.door.fuzzing.running import seed, throw_bytes, throw_requests

SECONDS = float(os.environ.get("FUZZ_SECONDS", "600"))


def test_ten_minutes_of_requests(tmp_path: Path) -> None:
    print(throw_requests(tmp_path, SECONDS, seed()))


def test_ten_minutes_of_hostile_sockets(tmp_path: Path) -> None:
    print(throw_bytes(tmp_path, SECONDS, seed(), loris=200))

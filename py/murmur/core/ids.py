"""Identifiers: a prefix, an underscore and a UUID version 7 without dashes.

Ids of one prefix sort by the moment they were made. spec/sessions.md 1.
"""

import os
import re
import threading
import time
from typing import Final

_ID: Final = re.compile(r"^[a-z]{3}_[0-9a-f]{32}$")

_lock = threading.Lock()
_last_ms = 0
_last_sequence = 0


def _uuid7() -> int:
    """A UUID version 7 as a number; ids made by one process strictly ascend.

    The 12 bits after the timestamp count up within a millisecond; when they run out the
    timestamp borrows the next millisecond, so that order never depends on chance.
    """
    global _last_ms, _last_sequence
    random_bits = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    with _lock:
        now_ms = time.time_ns() // 1_000_000
        if now_ms > _last_ms:
            _last_ms, _last_sequence = now_ms, int.from_bytes(os.urandom(1), "big")
        elif _last_sequence == 0xFFF:
            _last_ms, _last_sequence = _last_ms + 1, 0
        else:
            _last_sequence += 1
        ms, sequence = _last_ms, _last_sequence
    return (ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | sequence << 64 | 0b10 << 62 | random_bits


def new_id(prefix: str) -> str:
    """A new id with the given three-letter prefix, for example `ses` or `tsk`."""
    return f"{prefix}_{_uuid7():032x}"


def is_id(text: str, prefix: str) -> bool:
    """Whether `text` is a whole id with that prefix."""
    return text.startswith(prefix + "_") and _ID.match(text) is not None


def id_time_ms(identifier: str) -> int:
    """The Unix milliseconds held in an id; a session's start time is read here.

    Raises ValueError when `identifier` is no id.
    """
    if not _ID.match(identifier):
        raise ValueError(f"not an id: {identifier!r}")
    return int(identifier[4:16], 16)

"""Records in `~/.murmur/host_facts`: what was worked out of this host's binaries. registry.md 16.

A record counts only whole and unchanged, and each of its facts only as long as the file it is about
looks as it did. Anything else costs working it out again, and not a word.
"""

import hashlib
import json
import os
from typing import Any, Final

from murmur.core.safefs import Root

_FORMAT: Final = 3
_LIMIT: Final = 1 << 23

Stamp = list[int]


def stamp(path: str) -> Stamp | None:
    """Device, inode, size, times of change in nanoseconds, and mode; None for what is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    ]


def load(root: Root, name: str) -> Any:
    """The facts of a record; None for one that is missing, damaged or of another format."""
    try:
        record: Any = json.loads(root.read_bytes(name, limit=_LIMIT))
        if record["format"] != _FORMAT or record["sha256"] != _digest(record["facts"]):
            return None
        return record["facts"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def store(root: Root, name: str, facts: Any) -> None:
    """Keeps facts (JSON values); best effort, since without them the next session asks again."""
    record = {"format": _FORMAT, "sha256": _digest(facts), "facts": facts}
    try:
        root.write_atomic(name, json.dumps(record).encode("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        pass


def _digest(facts: Any) -> str:
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

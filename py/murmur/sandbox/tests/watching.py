"""Watching processes of the host from outside any session."""

import os
import time
from pathlib import Path

from murmur.sandbox.hierarchy import members


def alive(marker: str) -> list[int]:
    """The pids of host processes whose command line holds the marker."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            line = Path("/proc", entry, "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in line.split(b"\0"):
            found.append(int(entry))
    return found


def gone(marker: str, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while alive(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def emptied(scope: Path, seconds: float = 5.0) -> bool:
    """Whether the last process leaves the scope in time; a dying one is listed for a moment."""
    deadline = time.monotonic() + seconds
    while members(scope):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def until_alive(marker: str, count: int) -> None:
    deadline = time.monotonic() + 10
    while len(alive(marker)) < count:
        assert time.monotonic() < deadline, f"{marker} never started"
        time.sleep(0.02)

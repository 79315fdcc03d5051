"""Whether a recorded process is still the one that runs: layers 1 and 2 of a record's reading.

CLI reference, *A record is a hint*. A process that has ended and whom nobody has reaped yet holds
its id no longer.
"""

import contextlib
import enum
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path


class Standing(enum.Enum):
    """What became of a recorded process."""

    RUNS = "runs"
    GONE = "gone"
    REUSED = "reused"
    UNKNOWN = "unknown"
    """A process holds the id, and when it started cannot be read."""


def process_start(pid: int) -> str:
    """The start time of a process as an opaque string (field 22 of /proc/<pid>/stat).

    Raises OSError when it cannot be read.
    """
    return _stat_fields(pid)[19]


def _stat_fields(pid: int) -> list[str]:
    """The fields after the name; the name itself may hold anything."""
    text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    return text.rpartition(")")[2].split()


def standing(pid: int, started: str) -> Standing:
    """What is known of the process that held `pid` and started at `started`."""
    if not _exists(pid):
        return Standing.GONE
    try:
        fields = _stat_fields(pid)
        state, found = fields[0], fields[19]
    except (OSError, IndexError):
        return Standing.UNKNOWN if _exists(pid) else Standing.GONE
    if found != started:
        return Standing.REUSED
    return Standing.GONE if state in ("Z", "X") else Standing.RUNS


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


class HeldProcess:
    """A process that was found to be the recorded one, held so that its id cannot change hands."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, number: signal.Signals) -> None:
        """Signals it; nothing happens when it is gone. Raises PermissionError."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def gone_within(self, seconds: float) -> bool:
        """Waits for its end, at most so long; whether it has ended."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(max(0, int(seconds * 1000))))


@contextlib.contextmanager
def held(pid: int, started: str) -> Iterator[tuple[Standing, HeldProcess | None]]:
    """The process with its standing, looked at again once it is held; None unless it runs."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        found = standing(pid, started)
        yield (Standing.UNKNOWN if found is Standing.RUNS else found), None
        return
    try:
        found = standing(pid, started)
        yield found, HeldProcess(descriptor) if found is Standing.RUNS else None
    finally:
        os.close(descriptor)

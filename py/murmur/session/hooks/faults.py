"""What went wrong with hooks: a line in the hook's own log, and an event at the session's end.

spec/artifacts.md 15.2 and 15.7; spec/observability.md 5.7 and 14.
"""

import contextlib
import threading
import time

from murmur.core.durations import rfc3339
from murmur.core.safefs import Root
from murmur.trace.writer import TraceWriter

DRAIN = "drain"


class Faults:
    """Collects faults; threads may share it. A log that cannot be written loses its line."""

    def __init__(self, records: Root) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, str, str]] = []

    def note(self, hook: str, where: str, text: str) -> None:
        """A line in `logs/hook-<name>.log`, appended and flushed at once."""
        line = " ".join(f"{rfc3339(time.time())} {where}: {text}".split())
        with contextlib.suppress(OSError):
            self._records.append(f"logs/hook-{hook}.log", line.encode("utf-8", "replace") + b"\n")

    def fault(self, hook: str, event: str, arm: str, text: str) -> None:
        """A line, and a `hook_dispatch_error` when the session ends."""
        self.note(hook, event, text)
        with self._lock:
            self._waiting.append((hook, event, arm))

    def flush(self, trace: TraceWriter) -> None:
        """Writes the events that have waited, just before `session_end`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for hook, event, arm in waiting:
            trace.write_aside("hook_dispatch_error", hook_name=hook, event=event, arm=arm)

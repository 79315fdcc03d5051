"""What a run's worker thread is told: lines of output, calls of tools, the harness's end.

Written by the thread that reads the harness's output and by the event loop, read by the worker.
"""

import dataclasses
import threading
from collections import deque
from typing import Final

from murmur.sandbox.results import CommandResult
from murmur.session.harness.bridge import BridgeCall

LONGEST_LINE: Final = 16 << 20
"""In bytes. A longer line is cut there; the driver is given its beginning."""

_HELD_BYTES: Final = 32 << 20
_LINE_BYTES: Final = 64
"""What keeping a line costs beside its bytes: one that holds none is not free."""
_BATCH_LINES: Final = 256
_BATCH_BYTES: Final = 16 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Lines:
    """Complete lines of standard output, without their ends."""

    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """The harness is gone; whatever it wrote has come before."""

    result: CommandResult


Item = Lines | BridgeCall | Ended


class Inbox:
    """A queue of one run. A harness that writes faster than its driver reads has to wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[bytes | BridgeCall | Ended] = deque()
        self._bytes = 0
        self._closed = False

    def put_lines(self, lines: list[bytes]) -> None:
        """Waits while too much lies here unread."""
        with self._changed:
            for line in lines:
                self._changed.wait_for(lambda: self._bytes < _HELD_BYTES or self._closed)
                if self._closed:
                    return
                self._items.append(line)
                self._bytes += len(line) + _LINE_BYTES
            self._changed.notify_all()

    def post(self, item: BridgeCall | Ended) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def take(self, seconds: float) -> Item | None:
        """The next item, lines as many as lie here together and one call takes; None when none
        came in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._items), seconds):
                return None
            first = self._items.popleft()
            if not isinstance(first, bytes):
                return first
            lines, size = [first], len(first)
            while self._items and len(lines) < _BATCH_LINES:
                following = self._items[0]
                if not isinstance(following, bytes) or size + len(following) > _BATCH_BYTES:
                    break
                self._items.popleft()
                lines.append(following)
                size += len(following)
            self._bytes -= sum(map(len, lines)) + _LINE_BYTES * len(lines)
            self._changed.notify_all()
        return Lines(tuple(line.decode("utf-8", "replace") for line in lines))

    def close(self) -> None:
        """Nobody reads any more: whoever waits to write goes on, into nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class LineSplitter:
    """Cuts a stream of bytes into lines."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes."""
        *whole, rest = data.split(b"\n")
        lines = []
        for part in whole:
            self._grow(part)
            lines.append(bytes(self._begun).removesuffix(b"\r"))
            self._begun.clear()
        self._grow(rest)
        return lines

    def rest(self) -> list[bytes]:
        """The line that nothing ended, at the stream's end."""
        return [bytes(self._begun)] if self._begun else []

    def _grow(self, part: bytes) -> None:
        self._begun += part[: LONGEST_LINE - len(self._begun)]

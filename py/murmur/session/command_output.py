"""A command's output in the order it was read: in memory, and after its demotion in a log.

spec/sessions.md 14.4: the log of a command in the background is written while it runs.
"""

import os
import threading
from typing import Final

from murmur.core.safefs import Root
from murmur.sandbox.running import Stream

TAIL_BYTES: Final = 16384
_IN_MEMORY: Final = 64 << 20


class CommandOutput:
    """Takes output from whichever thread reads it. `limit` bounds the log, in bytes.

    A log that cannot be written, or is full, loses what comes after; `lost` says why.
    """

    def __init__(self, records: Root, limit: int) -> None:
        self._records = records
        self._limit = limit
        self._lock = threading.Lock()
        self._pieces: list[bytes] = []
        self._held = 0
        self._descriptor = -1
        self._in_log = False
        self._written = 0
        self._tail = b""
        self.lost: str | None = None

    @property
    def written(self) -> int:
        """Bytes in the log."""
        with self._lock:
            return self._written

    @property
    def tail(self) -> bytes:
        """The last bytes read, at most `TAIL_BYTES`."""
        with self._lock:
            return self._tail

    def take(self, stream: Stream, data: bytes) -> None:
        """One piece, as it was read."""
        with self._lock:
            self._tail = (self._tail + data)[-TAIL_BYTES:]
            if self._in_log:
                self._append(data)
            elif self._held + len(data) <= _IN_MEMORY:
                self._pieces.append(data)
                self._held += len(data)
            else:
                self.lost = f"more than {_IN_MEMORY} bytes came before it was moved"

    def move_to_log(self, name: str) -> None:
        """Writes what has been read to `name` in the records directory, and the rest as it comes.

        A log that cannot be made is said in `lost`, and ends nothing.
        """
        with self._lock:
            pieces, self._pieces = self._pieces, []
            self._in_log = True
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                self._descriptor = self._records.open_file(name, flags)
            except OSError as failure:
                self.lost = failure.strerror or str(failure)
                return
            for piece in pieces:
                self._append(piece)

    def _append(self, data: bytes) -> None:
        if self._descriptor < 0:
            return
        room = self._limit - self._written
        if len(data) > room:
            self.lost = f"the log may hold {self._limit} bytes (workdir_max_bytes)"
            data = data[:room]
        try:
            while data:
                count = os.write(self._descriptor, data)
                self._written += count
                data = data[count:]
        except OSError as failure:
            self.lost = failure.strerror or str(failure)
        if self.lost is not None:
            self._close()

    def close(self) -> None:
        """Doing it again does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

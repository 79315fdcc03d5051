"""The bytes of one archive, held so that nobody can change them between two looks at them.

What is verified must be what is read afterwards. A small archive is held in memory, a larger one
in an unlinked temporary file of ours, and so is every one once many small ones are held: memory
stays flat whatever the sizes and the number of archives.
"""

import hashlib
import os
import stat
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, Self

CHUNK: Final = 1 << 18
IN_MEMORY: Final = 8 << 20
"""The most that one archive takes of memory."""
ALL_IN_MEMORY: Final = 24 << 20
"""The most that all archives held at a time take together."""


class NotAFile(OSError):
    """A path that names something other than a regular file."""


class _Budget:
    """What of `ALL_IN_MEMORY` is left; a content gives its share back when it is dropped."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give(self, size: int) -> None:
        with self._lock:
            self._left += size


_budget = _Budget(ALL_IN_MEMORY)


class Content:
    """An archive's bytes, read only. `sha256` is their lowercase hex digest."""

    def __init__(self, held: bytes | BinaryIO, size: int, sha256: str) -> None:
        self._held = held
        self.size = size
        self.sha256 = sha256

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(data, len(data), hashlib.sha256(data).hexdigest())

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end. Safe in several threads."""
        if isinstance(self._held, bytes):
            return self._held[offset : offset + length]
        pieces = []
        while length > 0 and (piece := os.pread(self._held.fileno(), length, offset)):
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def chunks(self) -> Iterator[bytes]:
        """Everything, in order, a piece at a time."""
        for offset in range(0, self.size, CHUNK):
            yield self.read(offset, CHUNK)


def hold(pieces: Iterable[bytes]) -> Content:
    """Takes everything that `pieces` gives. Raises what they raise, and OSError."""
    digest = hashlib.sha256()
    size = 0
    small = bytearray()
    large: BinaryIO | None = None
    try:
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            if large is None and size > IN_MEMORY:
                large, small = _spilled(small), bytearray()
            if large is None:
                small += piece
            else:
                _write(large, memoryview(piece))
        if large is None and not _budget.take(size):
            large, small = _spilled(small), bytearray()
    except BaseException:
        if large is not None:
            large.close()
        raise
    if large is not None:
        return Content(large, size, digest.hexdigest())
    content = Content(bytes(small), size, digest.hexdigest())
    weakref.finalize(content, _budget.give, size)
    return content


def _spilled(data: bytearray) -> BinaryIO:
    """An unlinked temporary file that begins with `data`. Raises OSError."""
    large: BinaryIO = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it outlives us
    try:
        _write(large, memoryview(data))
    except BaseException:
        large.close()
        raise
    return large


def hold_file(path: str | os.PathLike[str]) -> Content:
    """A regular file's bytes. Raises OSError; NotAFile for a folder, a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotAFile(0, "it is not a regular file", os.fspath(path))
        return hold(iter(lambda: stream.read(CHUNK), b""))


def _write(target: BinaryIO, data: memoryview) -> None:
    while data:
        data = data[target.write(data) :]

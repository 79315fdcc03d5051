"""Files below roots that a capsule's commands can reach, through held directory descriptors.

A `Root` holds one open directory. A path below it is walked a segment at a time with O_NOFOLLOW,
never re-resolved from a host path; a link on the way, or a special file at the end, is refused
as `UnsafePath`. spec/sessions.md 4.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK: Final = 1 << 16


class UnsafePath(OSError):
    """A path that was refused: an empty, `.` or `..` segment, a link, or a special file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, path)
        self.path = path
        self.reason = reason


class TooLarge(OSError):
    """A file longer than the reader's limit."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(errno.EFBIG, f"larger than {limit} bytes", path)


def split(relative: str) -> list[str]:
    """The segments of a relative path. Raises UnsafePath for an empty, `.` or `..` segment."""
    segments = relative.split("/")
    for segment in segments:
        if segment in ("", ".", "..") or "\0" in segment:
            raise UnsafePath(relative, f"the segment {segment!r} is not allowed in a path")
    return segments


def _explain(parent: int, name: str, relative: str, failure: OSError) -> OSError:
    """`failure`, or the UnsafePath that says what stands where a directory or file belongs."""
    if failure.errno not in (errno.ELOOP, errno.ENOTDIR):
        return OSError(failure.errno, failure.strerror, relative)
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return OSError(failure.errno, failure.strerror, relative)
    if stat.S_ISLNK(found.st_mode):
        return UnsafePath(relative, f"{name!r} is a symbolic link, which is never followed")
    return OSError(failure.errno, failure.strerror, relative)


class Root:
    """An open directory and everything below it that can be reached without following a link."""

    def __init__(self, descriptor: int) -> None:
        """Takes over `descriptor`, an open directory."""
        self._fd = descriptor

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _parent(self, relative: str) -> Iterator[tuple[int, str]]:
        """The open directory that holds `relative`, and its last segment."""
        segments = split(relative)
        current = self._fd
        try:
            for segment in segments[:-1]:
                deeper = self._step(current, segment, relative)
                if current != self._fd:
                    os.close(current)
                current = deeper
            yield current, segments[-1]
        finally:
            if current != self._fd:
                os.close(current)

    @staticmethod
    def _step(parent: int, segment: str, relative: str) -> int:
        try:
            return os.open(segment, _DIRECTORY, dir_fd=parent)
        except OSError as failure:
            raise _explain(parent, segment, relative, failure) from None

    def sub(self, relative: str, *, create: bool = False, mode: int = 0o700) -> "Root":
        """The directory `relative` as a Root of its own; `create` makes every missing level."""
        current = os.dup(self._fd)
        try:
            for segment in split(relative):
                if create:
                    try:
                        os.mkdir(segment, mode, dir_fd=current)
                    except FileExistsError:
                        pass
                deeper = self._step(current, segment, relative)
                os.close(current)
                current = deeper
        except BaseException:
            os.close(current)
            raise
        return Root(current)

    def make_directory(self, relative: str, mode: int = 0o700) -> None:
        """Creates one directory. Raises FileExistsError when anything stands there."""
        with self._parent(relative) as (parent, name):
            os.mkdir(name, mode, dir_fd=parent)

    def open_file(self, relative: str, flags: int, mode: int = 0o600) -> int:
        """A descriptor of a regular file opened with `flags`; no link followed.

        Raises UnsafePath when a link or anything but a regular file stands there.
        """
        with self._parent(relative) as (parent, name):
            try:
                descriptor = os.open(
                    name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode, dir_fd=parent
                )
            except OSError as failure:
                raise _explain(parent, name, relative, failure) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnsafePath(relative, "not a regular file")
        os.set_blocking(descriptor, True)
        return descriptor

    def read_bytes(self, relative: str, limit: int | None = None) -> bytes:
        """The whole file. Raises TooLarge when it holds more than `limit` bytes."""
        descriptor = self.open_file(relative, os.O_RDONLY)
        pieces = []
        total = 0
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            while piece := stream.read(_CHUNK):
                total += len(piece)
                if limit is not None and total > limit:
                    raise TooLarge(relative, limit)
                pieces.append(piece)
        return b"".join(pieces)

    def write_exclusive(self, relative: str, data: bytes, mode: int = 0o600) -> None:
        """Writes a file that must not exist yet; its mode is exactly `mode`."""
        descriptor = self.open_file(relative, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)

    def write_atomic(
        self, relative: str, data: bytes, mode: int = 0o600, *, sync: bool = False
    ) -> None:
        """Replaces a file whole: a temporary sibling, then a rename."""
        with self._parent(relative) as (parent, name):
            temporary = f".{name}.{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode, dir_fd=parent)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    os.fchmod(stream.fileno(), mode)
                    stream.write(data)
                    stream.flush()
                    if sync:
                        os.fsync(stream.fileno())
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                try:
                    os.unlink(temporary, dir_fd=parent)
                except FileNotFoundError:
                    pass
                raise

    def append_descriptor(self, relative: str, mode: int = 0o600) -> int:
        """An O_APPEND descriptor, creating the file when it is missing."""
        return self.open_file(relative, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)

    def append(self, relative: str, data: bytes, mode: int = 0o600) -> None:
        """Appends `data` in one write."""
        descriptor = self.append_descriptor(relative, mode)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def status(self, relative: str) -> os.stat_result | None:
        """What stands at `relative`, a link itself included; None when nothing does."""
        try:
            with self._parent(relative) as (parent, name):
                return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def exists(self, relative: str) -> bool:
        return self.status(relative) is not None

    def list(self, relative: str = "") -> "list[str]":
        """The names in a directory, ascending; of the root itself without an argument."""
        if not relative:
            return sorted(os.listdir(self._fd))
        with self.sub(relative) as directory:
            return sorted(os.listdir(directory.fileno()))

    def unlink(self, relative: str) -> None:
        """Removes a file or a link (never what a link points at)."""
        with self._parent(relative) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def remove_tree(self, relative: str) -> None:
        """Removes a directory and all below it; no link is followed.

        Raises UnsafePath when a link or a file stands where the directory belongs.
        """
        with self._parent(relative) as (parent, name):
            _remove_directory(parent, name, relative)


def _remove_directory(parent: int, name: str, relative: str) -> None:
    """Goes down by name and up by `..`, so that a tree of any depth takes two descriptors."""
    here = _enter(parent, name, relative)
    above: list[tuple[tuple[int, int], str, list[str]]] = []
    try:
        waiting = _without_files(here)
        while waiting or above:
            if waiting:
                below = waiting.pop()
                deeper = _enter(here, below, f"{relative}/{below}")
                above.append((_identity(here), below, waiting))
                os.close(here)
                here = deeper
                waiting = _without_files(here)
                continue
            came_from, empty, waiting = above.pop()
            higher = os.open("..", _DIRECTORY, dir_fd=here)
            os.close(here)
            here = higher
            if _identity(here) != came_from:
                raise UnsafePath(relative, "it was moved while it was being removed")
            os.rmdir(empty, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(name, dir_fd=parent)


def _identity(directory: int) -> tuple[int, int]:
    status = os.fstat(directory)
    return status.st_dev, status.st_ino


def _without_files(directory: int) -> list[str]:
    """Unlinks what is no directory; the names of the directories."""
    below = []
    for entry in os.listdir(directory):
        status = os.stat(entry, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            below.append(entry)
        else:
            os.unlink(entry, dir_fd=directory)
    return below


def _enter(parent: int, name: str, relative: str) -> int:
    """An open directory that its owner may list and change, whatever mode it was left with."""
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError as failure:
        if not sys.platform.startswith("linux"):
            raise _explain(parent, name, relative, failure) from None
        descriptor = _reopen(parent, name, relative)
    except OSError as failure:
        if failure.errno == errno.ENOTDIR:
            raise UnsafePath(relative, f"{name!r} is not a directory") from None
        raise _explain(parent, name, relative, failure) from None
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, mode | stat.S_IRWXU)
    return descriptor


def _reopen(parent: int, name: str, relative: str) -> int:
    """Opens one that its owner was shut out of: its mode is changed through a held descriptor."""
    held = os.open(name, _DIRECTORY | os.O_PATH, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{held}", stat.S_IRWXU)
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as failure:
        raise _explain(parent, name, relative, failure) from None
    finally:
        os.close(held)


def open_root(path: str | Path) -> Root:
    """The directory `path` as a root. The path itself is the operator's and resolved as usual."""
    return Root(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

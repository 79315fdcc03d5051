"""Putting several files of one payload in place, all or none, whatever kills us on the way.

A version's directory is made anew beside the old one, with second names of the files that stay,
and takes its place in one step of the kernel; so there is no moment at which a zip stands beside
the hash of another. spec/registry.md 9 renames three temporary siblings one after another, which
a kill between two of them would leave half done: that is the way taken only where the system
cannot exchange two directories.
"""

import contextlib
import errno
import functools
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from murmur.store.content import CHUNK, Content, hold_file

Piece = tuple[str, str, Content]
"""A short word for the temporary name, the final name, the content."""

_EXCHANGE = 2  # RENAME_EXCHANGE
_AT_FDCWD = -100
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.EOPNOTSUPP, errno.EPERM)


def place(directory: Path, pieces: Sequence[Piece]) -> None:
    """Puts the pieces into `directory`. Raises OSError, with everything as it was before.

    The caller holds the lock of the folder that `directory` is in, which exists. Pieces that
    already stand there byte for byte are left alone, so that storing the same payload again never
    disturbs a reader. What a killed writer of any of the versions there left is swept away.
    """
    _sweep(directory.parent)
    wanted = [piece for piece in pieces if not _stands(directory / piece[1], piece[2])]
    if not wanted:
        return
    fresh = directory.with_name(f".{directory.name}.{secrets.token_hex(8)}.tmp")
    placed = False
    try:
        os.mkdir(fresh)
        if _carry_over(directory, fresh, {name for _, name, _ in wanted}):
            for _, name, content in wanted:
                _write_synced(fresh / name, content)
            _sync_directory(fresh)
            placed = _take_place(fresh, directory)
    finally:
        _remove(fresh)
    if not placed:
        _place_one_by_one(directory, wanted)
    with contextlib.suppress(OSError):
        _sync_directory(directory.parent)


def _carry_over(old: Path, fresh: Path, replaced: set[str]) -> bool:
    """Gives the files of a version that stay a second name in its new directory.

    False where somebody made it a link, or put what is no file into it: it is not ours to replace.
    """
    if old.is_symlink():
        return False
    try:
        with os.scandir(old) as found:
            entries = list(found)
    except FileNotFoundError:
        return True
    for entry in entries:
        if not entry.is_file(follow_symlinks=False):
            return False
        if entry.name in replaced or entry.name.endswith(".tmp"):
            continue
        try:
            os.link(entry.path, fresh / entry.name)
        except OSError:
            _write_synced(fresh / entry.name, hold_file(entry.path))
    return True


def _take_place(fresh: Path, directory: Path) -> bool:
    """Makes `fresh` the directory of that name; False where the system cannot in one step."""
    try:
        os.rename(fresh, directory)
        return True
    except OSError as failure:
        if failure.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    try:
        _exchange()(fresh, directory)
        return True
    except OSError as failure:
        if failure.errno not in _CANNOT:
            raise
        return False


@functools.cache
def _exchange() -> Callable[[Path, Path], None]:
    """Linux's exchange of two names in one step; elsewhere a function that raises ENOSYS."""
    import ctypes  # takes a while, and only a payload that is replaced needs it

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return _cannot_exchange

    def exchange(one: Path, other: Path) -> None:
        first, second = os.fsencode(one), os.fsencode(other)
        if renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(other))

    return exchange


def _cannot_exchange(one: Path, other: Path) -> None:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(other))


def _sweep(folder: Path) -> None:
    """Removes what killed writers left: we hold the lock, so no writer is alive."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            _remove(folder / name)


def _remove(directory: Path) -> None:
    """Removes a directory of files, as far as it can be."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            os.unlink(directory / name)
        os.rmdir(directory)


def _place_one_by_one(directory: Path, wanted: Sequence[Piece]) -> None:
    """Renames temporary siblings in order; an older file keeps a second name until all are done.

    Raises OSError, with everything as it was before.
    """
    seed = secrets.token_hex(8)
    temporary = {name: directory / f".{name}.{word}.{seed}.tmp" for word, name, _ in wanted}
    aside = {name: directory / f".{name}.{word}.{seed}.old.tmp" for word, name, _ in wanted}
    renamed: list[str] = []
    try:
        for _, name, content in wanted:
            _write_synced(temporary[name], content)
        for _, name, _ in wanted:
            with contextlib.suppress(FileNotFoundError):
                _keep(directory / name, aside[name])
        for _, name, _ in wanted:
            os.replace(temporary[name], directory / name)
            renamed.append(name)
        _sync_directory(directory)
    except BaseException:
        for _, name, _ in reversed(wanted):
            if aside[name].exists():
                os.replace(aside[name], directory / name)
            elif name in renamed:
                (directory / name).unlink(missing_ok=True)
        raise
    finally:
        for path in (*temporary.values(), *aside.values()):
            path.unlink(missing_ok=True)


def _keep(path: Path, aside: Path) -> None:
    """Gives a file a second name; where the file system has no links, that name alone."""
    try:
        os.link(path, aside)
    except FileNotFoundError:
        raise
    except OSError:
        os.rename(path, aside)


def _stands(path: Path, content: Content) -> bool:
    try:
        with path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size != content.size:
                return False
            return all(stream.read(len(piece)) == piece for piece in content.chunks())
    except OSError:
        return False


def _write_synced(path: Path, content: Content) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666), "wb", CHUNK) as stream:
        for piece in content.chunks():
            stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

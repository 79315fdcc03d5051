"""Putting several files of one payload in place, all or none. spec/registry.md 9.

Temporary siblings are created exclusively, synced and renamed in the order given. An older file
of that name keeps a second name until every rename is done, and gets its own back on failure.
"""

import contextlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from murmur.store.content import CHUNK, Content

Piece = tuple[str, str, Content]
"""A short word for the temporary name, the final name, the content."""


def place(directory: Path, pieces: Sequence[Piece]) -> None:
    """Puts the pieces into `directory` in order. Raises OSError, with everything as it was before.

    The caller holds the directory's lock. Pieces that already stand there byte for byte are left
    alone, so that storing the same payload again never disturbs a reader.
    """
    wanted = [piece for piece in pieces if not _stands(directory / piece[1], piece[2])]
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

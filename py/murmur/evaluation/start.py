"""Folders of a case: what may be in one, its digest, and copying it into a work folder.

spec/observability.md 11.6, whose recommended digest this is. The source is the operator's; the work
folder is reached by the agent, so that a copy goes through held descriptors and follows no link.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from murmur.core.safefs import Root

_CHUNK = 1 << 20


class BadTree(Exception):
    """A folder that is missing, is none, or holds what is neither folder nor regular file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One directory or file of a tree; `path` is relative, with slashes."""

    path: str
    mode: int
    is_directory: bool


def check_tree(folder: Path) -> None:
    """Raises BadTree naming the first entry that cannot be copied."""
    for _ in entries(folder):
        pass


def entries(folder: Path) -> Iterator[Entry]:
    """Every entry below `folder`, a directory before what it holds. Raises BadTree."""
    try:
        status = os.lstat(folder)
    except OSError as failure:
        raise BadTree(f"{folder}: {failure.strerror}") from None
    if stat.S_ISLNK(status.st_mode):
        raise BadTree(f"{folder} is a symbolic link")
    if not stat.S_ISDIR(status.st_mode):
        raise BadTree(f"{folder} is not a directory")
    yield from _below(folder, "")


def _below(folder: Path, prefix: str) -> Iterator[Entry]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as failure:
        raise BadTree(f"{folder}: {failure.strerror}") from None
    for name in names:
        place = folder / name
        try:
            mode = os.lstat(place).st_mode
        except OSError as failure:
            raise BadTree(f"{place}: {failure.strerror}") from None
        directory = stat.S_ISDIR(mode)
        if not directory and not stat.S_ISREG(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
            raise BadTree(f"{place} is {kind}; only directories and regular files are copied")
        yield Entry(prefix + name, stat.S_IMODE(mode), directory)
        if directory:
            yield from _below(place, f"{prefix}{name}/")


def digest(folder: Path) -> str:
    """SHA-256 over the tree: types, paths, modes and contents; no times, owners or links.

    Raises BadTree, also for a file that cannot be read.
    """
    whole = hashlib.sha256()
    for entry in sorted(entries(folder), key=lambda each: os.fsencode(each.path)):
        fields = ["d" if entry.is_directory else "f", entry.path, f"{entry.mode:o}"]
        if not entry.is_directory:
            fields.append(_content(folder / entry.path))
        whole.update(os.fsencode("\0".join(fields)) + b"\n")
    return whole.hexdigest()


def _content(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as failure:
        raise BadTree(f"{path}: {failure.strerror}") from None


def copy_tree(source: Path, target: Root) -> None:
    """Copies everything below `source` into `target`, permission bits kept, files overwritten.

    Modes of directories are set last, so that one without a write bit can be filled. Raises
    BadTree for the source, OSError or safefs.UnsafePath for the target: no link in it is followed.
    """
    directories: list[Entry] = []
    for entry in entries(source):
        if entry.is_directory:
            status = target.status(entry.path)
            if status is None or not stat.S_ISDIR(status.st_mode):
                target.make_directory(entry.path, 0o700)
            directories.append(entry)
        else:
            _copy_file(source / entry.path, target, entry)
    for entry in reversed(directories):
        with target.sub(entry.path) as directory:
            os.fchmod(directory.fileno(), entry.mode)


def _copy_file(source: Path, target: Root, entry: Entry) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(source, "rb") as reading:
        descriptor = target.open_file(entry.path, flags, 0o600)
        with os.fdopen(descriptor, "wb") as writing:
            while chunk := reading.read(_CHUNK):
                writing.write(chunk)
            writing.flush()
            os.fchmod(writing.fileno(), entry.mode)

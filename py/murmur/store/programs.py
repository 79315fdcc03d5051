"""The program store, `~/.murmur/programs`: pinned downloads of host programs that tools name.

One folder a download, named by its sha256 and committed by one rename, so that what is there is
whole. Only `mur install` writes it. spec/registry.md 17.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from murmur.core.safefs import Root, UnsafePath
from murmur.manifest.programs import Download
from murmur.store.archive import Archive, BadArchive
from murmur.store.content import CHUNK, Content
from murmur.store.zip_directory import read_directory

ENTRY_CEILING: Final = 1 << 30
TOTAL_CEILING: Final = 4 << 30
_RECORD: Final = "record.json"
_RECORD_LIMIT: Final = 8 << 20
_PARTIAL: Final = ".partial-"
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class BadProgram(Exception):
    """A download that is not what its tool says: no archive, or without the file to run."""


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    path: str
    executable: bool
    sha256: str

    def line(self) -> str:
        return f"{self.path}\t{'x' if self.executable else '-'}\t{self.sha256}\n"


class ProgramStore:
    """The store below one home. It need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def program(self, download: Download, name: str) -> Path:
        """Where the executable of a stored download is, or would be."""
        return self.path / download.sha256 / "bin" / name

    def ready(self, download: Download, name: str) -> Path | None:
        """The executable of a stored download, as a launch takes it: by its record, unhashed."""
        try:
            with self._open() as store, store.sub(download.sha256) as folder:
                record = json.loads(folder.read_bytes(_RECORD, _RECORD_LIMIT))
                if record["sha256"] != download.sha256:
                    return None
                with folder.sub("bin") as programs:
                    target = os.readlink(name, dir_fd=programs.fileno())
                status = folder.status(target.removeprefix("../"))
                inside = target.startswith("../files/") and ".." not in target[3:].split("/")
                if not inside or status is None or not stat.S_ISREG(status.st_mode):
                    return None
                return self.program(download, name) if status.st_mode & 0o100 else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def holds(self, download: Download, name: str) -> bool:
        """Whether the download is there under that name, with every file as it was unpacked."""
        try:
            with self._open() as store, store.sub(download.sha256) as folder:
                record = json.loads(folder.read_bytes(_RECORD, _RECORD_LIMIT))
                pinned = (record["sha256"], record["platform"], record["run"])
                if pinned != (download.sha256, download.platform, download.run):
                    return False
                with folder.sub("bin") as programs:
                    target = os.readlink(name, dir_fd=programs.fileno())
                run = download.run or _only(record["files"])
                if target != f"../files/{run}":
                    return False
                found = list(_walk(folder, "files"))
                wanted = next((each for each in found if each.path == run), None)
                return (
                    wanted is not None
                    and wanted.executable
                    and [each.path for each in found] == record["files"]
                    and _tree(found) == record["tree_sha256"]
                )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def stage(self, download: Download, name: str, content: Content) -> "Staged":
        """Unpacks a verified download beside the others, to be committed or discarded.

        Raises BadProgram, with nothing left, and OSError.
        """
        self.path.mkdir(mode=0o700, exist_ok=True)
        with self._open() as store:
            os.fchmod(store.fileno(), 0o700)
            _sweep(store)
            partial = _PARTIAL + secrets.token_hex(8)
            store.make_directory(partial)
            try:
                with store.sub(partial) as folder:
                    _fill(folder, download, name, content, _names(store, download.sha256))
            except BaseException:
                with contextlib.suppress(OSError):
                    store.remove_tree(partial)
                raise
        return Staged(self, partial, download.sha256)

    def commit(self, staged: "Staged") -> None:
        """Gives what was staged its name, in place of a copy that is not sound. Raises OSError."""
        with self._open() as store:
            with contextlib.suppress(ImportError, OSError):  # where no lock can be had, none waits
                import fcntl  # not on every system, and this module must import there

                fcntl.flock(store.fileno(), fcntl.LOCK_EX)
            _commit(store, staged.partial, staged.name)

    def discard(self, staged: "Staged") -> None:
        """Removes what was staged, if it was not committed."""
        with contextlib.suppress(OSError), self._open() as store:
            store.remove_tree(staged.partial)

    def _open(self) -> Root:
        root = Root(os.open(self.path, _DIRECTORY))
        if os.fstat(root.fileno()).st_uid != os.geteuid():
            root.close()
            raise UnsafePath(str(self.path), "it belongs to another user")
        return root


@dataclasses.dataclass(frozen=True, slots=True)
class Staged:
    """An unpacked download that has no name yet."""

    store: ProgramStore
    partial: str
    name: str


def _names(store: Root, sha256: str) -> list[str]:
    """The programs that a stored download goes by already: another tool may call it otherwise."""
    try:
        return store.list(f"{sha256}/bin")
    except OSError:
        return []


def _only(files: Sequence[Any]) -> str:
    if len(files) != 1:
        raise ValueError("not one file")
    return str(files[0])


def _fill(
    folder: Root, download: Download, name: str, content: Content, others: Iterable[str]
) -> None:
    run = download.run or name
    if download.run is None:
        _write(folder, f"files/{name}", content.chunks(), executable=True)
    else:
        _unpack(folder, content, run)
    files = list(_walk(folder, "files"))
    with folder.sub("bin", create=True) as programs:
        for each in {name, *others}:
            os.symlink(f"../files/{run}", each, dir_fd=programs.fileno())
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = {
        "url": download.url,
        "sha256": download.sha256,
        "platform": download.platform,
        "run": download.run,
        "tree_sha256": _tree(files),
        "fetched_at": now,
        "files": [each.path for each in files],
    }
    folder.write_exclusive(_RECORD, json.dumps(record, indent=2).encode() + b"\n")


def _unpack(folder: Root, content: Content, run: str) -> None:
    try:
        entries = read_directory(content)
        archive = Archive(content, ENTRY_CEILING)
        if not archive.has(run):
            raise BadProgram(f"its archive holds no {run}")
        if sum(entry.size for entry in entries) > TOTAL_CEILING:
            raise BadProgram(f"its archive unpacks to more than {TOTAL_CEILING} bytes")
        for entry in entries:
            executable = entry.executable or entry.name == run
            _write(folder, f"files/{entry.name}", archive.stream(entry.name), executable)
    except BadArchive as bad:
        raise BadProgram(f"it is no archive that can be unpacked: {bad}") from None
    except UnsafePath as unsafe:
        raise BadProgram(f"its archive cannot be unpacked: {unsafe}") from None


def _write(folder: Root, path: str, pieces: Iterable[bytes], executable: bool) -> None:
    parent, _, last = path.rpartition("/")
    with folder.sub(parent, create=True) as directory:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = directory.open_file(last, flags, 0o700 if executable else 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), 0o700 if executable else 0o600)
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())


def _walk(root: Root, relative: str) -> Iterator[_File]:
    """Every file below a folder by path. Raises OSError; UnsafePath for what is neither."""
    found: list[_File] = []
    pending = [""]
    while pending:
        below = pending.pop()
        for name in root.list(f"{relative}/{below}".rstrip("/")):
            path = f"{below}{name}"
            status = root.status(f"{relative}/{path}")
            if status is None:
                raise UnsafePath(path, "it went away")
            if stat.S_ISDIR(status.st_mode):
                pending.append(path + "/")
                continue
            found.append(_File(path, bool(status.st_mode & 0o100), _hash(root, relative, path)))
    yield from sorted(found, key=lambda each: each.path)


def _hash(root: Root, relative: str, path: str) -> str:
    digest = hashlib.sha256()
    descriptor = root.open_file(f"{relative}/{path}", os.O_RDONLY)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        while piece := stream.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _tree(files: Iterable[_File]) -> str:
    lines = "".join(sorted(each.line() for each in files))
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def _commit(store: Root, partial: str, name: str) -> None:
    """Gives a whole folder its name; an unsound one, or one that lacks a program, makes place."""
    here = store.fileno()
    if store.exists(name):
        aside = _PARTIAL + secrets.token_hex(8)
        os.rename(name, aside, src_dir_fd=here, dst_dir_fd=here)
        with contextlib.suppress(OSError):
            store.remove_tree(aside)
    os.rename(partial, name, src_dir_fd=here, dst_dir_fd=here)
    os.fsync(here)


def _sweep(store: Root) -> None:
    """Removes what an install that was killed left over a day ago."""
    for name in store.list():
        found = store.status(name)
        if name.startswith(_PARTIAL) and found and time.time() - found.st_mtime > 86_400:
            with contextlib.suppress(OSError):
                store.remove_tree(name)

"""Unpacks a zipapp's payload, once, so that Python imports it from a folder. Design decisions 13.

The payload goes to `~/.murmur/bin/<content hash>/`, or, where HOME cannot hold it (missing, not
ours, full, mounted noexec), below a private folder for temporary files. It is written to a sibling
and renamed, so a folder of that name is complete whoever made it, and starts that race agree. A
lock keeps them from all unpacking at once; it saves work and guards nothing.

`MANIFEST` inside lists every file's hash. Its own hash is the folder's name, so `mismatches` can
tell later whether anything was changed.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import hashlib
import os
import py_compile
import secrets
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

LOCK_SECONDS = 60.0
MANIFEST = "MANIFEST"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unfit(Exception):
    """A folder that cannot hold the payload, and why."""


def unpack(archive: str, payload: str, compile_sources: bool) -> str:
    """Unpacks the payload of `archive` and returns its folder.

    Ends the program, with one line, where nothing can hold it.
    """
    reasons = []
    for place in (home_folder, temporary_folder):
        try:
            with place() as (folder, path):
                return place_in(folder, path, archive, payload, compile_sources)
        except (Unfit, OSError) as failure:
            reasons.append(str(failure))
    raise SystemExit("mur: cannot unpack itself: " + "; ".join(reasons))


@contextlib.contextmanager
def home_folder() -> Iterator[tuple[int, str]]:
    """`~/.murmur/bin`, open, and its path."""
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise Unfit("HOME is not set to a folder")
    path = Path(home, ".murmur")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    # The operator may have linked ~/.murmur to another disk; below it no link is followed.
    outer = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        own(outer, path)
        with contextlib.suppress(FileExistsError):
            os.mkdir("bin", 0o700, dir_fd=outer)
        inner = os.open("bin", FOLDER, dir_fd=outer)
    finally:
        os.close(outer)
    try:
        own(inner, path / "bin")
        yield inner, str(path / "bin")
    finally:
        os.close(inner)


@contextlib.contextmanager
def temporary_folder() -> Iterator[tuple[int, str]]:
    """A folder for temporary files that is this user's alone, kept for the next start."""
    path = Path(tempfile.gettempdir(), f"murmur-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    descriptor = os.open(path, FOLDER)
    try:
        own(descriptor, path)
        yield descriptor, str(path)
    finally:
        os.close(descriptor)


def own(descriptor: int, path: Path) -> None:
    """Raises Unfit unless the open folder is this user's alone to write to and can run programs."""
    state = os.fstat(descriptor)
    if state.st_uid != os.geteuid():
        raise Unfit(f"{path} belongs to user {state.st_uid}")
    if state.st_mode & 0o022:
        raise Unfit(f"{path} can be written to by others (mode {stat.S_IMODE(state.st_mode):o})")
    if os.fstatvfs(descriptor).f_flag & os.ST_NOEXEC:
        raise Unfit(f"{path} is mounted noexec")


def place_in(folder: int, path: str, archive: str, payload: str, compile_sources: bool) -> str:
    """Makes the payload's folder inside the open `folder`, unless it is there; returns its path."""
    with turn(folder):
        if not fit(folder, payload, path):
            sibling = f".{payload[:16]}.{secrets.token_hex(8)}"
            os.mkdir(sibling, 0o700, dir_fd=folder)
            try:
                extract(archive, payload, f"{path}/{sibling}", compile_sources)
                # Written out before the name says that it is complete, should the machine lose
                # power.
                os.sync()
                settle(folder, sibling, payload)
            finally:
                shutil.rmtree(f"{path}/{sibling}", ignore_errors=True)
            if not fit(folder, payload, path):
                raise Unfit(f"{path}/{payload} vanished")
    return f"{path}/{payload}"


def settle(folder: int, sibling: str, payload: str) -> None:
    """Gives the unpacked sibling its name; where another start was faster, its result stays."""
    try:
        os.rename(sibling, payload, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        if not os.path.lexists(f"/proc/self/fd/{folder}/{payload}"):
            raise


def fit(folder: int, payload: str, path: str) -> bool:
    """Whether the payload's folder is there. Raises Unfit where it is not as this user left it."""
    try:
        descriptor = os.open(payload, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return False
    try:
        own(descriptor, Path(path, payload))
    finally:
        os.close(descriptor)
    return True


@contextlib.contextmanager
def turn(folder: int) -> Iterator[None]:
    """Waits for whoever is unpacking into the folder, a minute at most."""
    lock = os.open(
        ".unpacking", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
    )
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
        yield
    finally:
        os.close(lock)


def extract(archive: str, payload: str, target: str, compile_sources: bool) -> None:
    """Writes every file of the payload below `target`, checked against the payload's name."""
    with (
        zipfile.ZipFile(archive) as outer,
        outer.open("payload.zip") as stored,
        zipfile.ZipFile(stored) as inner,
    ):
        if hashlib.sha256(inner.read(MANIFEST)).hexdigest() != payload:
            raise Unfit(f"{archive} is damaged: its manifest is another one's")
        for entry in inner.infolist():
            destination = Path(target, entry.filename)
            destination.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            mode = 0o755 if entry.external_attr >> 16 & 0o100 else 0o644
            with inner.open(entry) as source, destination.open("xb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
                os.fchmod(sink.fileno(), mode)
    wrong = mismatches(target)
    if wrong:
        raise Unfit(f"{archive} is damaged: {wrong[0]}")
    if compile_sources:
        # A payload for several interpreters carries no bytecode; this one's is made here.
        compileall.compile_dir(
            target, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )


def mismatches(folder: str) -> list[str]:
    """The files of an unpacked payload that were changed, removed or added since.

    Bytecode that the manifest does not list counts as added, but for a payload of several
    interpreters.
    """
    lines = Path(folder, MANIFEST).read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    compiled_here = not any(name.endswith(".pyc") for name in listed)
    wrong = []
    for base, folders, names in os.walk(folder):
        linked = [name for name in folders if os.path.islink(os.path.join(base, name))]
        wrong += [os.path.relpath(os.path.join(base, name), folder) for name in linked]
        for name in names:
            relative = os.path.relpath(os.path.join(base, name), folder)
            if relative == MANIFEST or (compiled_here and relative.endswith(".pyc")):
                continue
            expected = listed.pop(relative, None)
            with open(os.path.join(base, name), "rb") as file:
                if expected is None or hashlib.file_digest(file, "sha256").hexdigest() != expected:
                    wrong.append(relative)
    return sorted([*wrong, *listed])

"""One context's record: `~/.murmur/conversations/<store>/<context id>/`.

Everything that changes a record holds its store's lock, appends too: an append then cannot fall
between a truncation's reading and its rename, a line torn by a killed writer is closed before the
next one, and a write that a full disk cut is taken back. (spec/sessions.md 18.1 leaves locking
open and recommends less.) The lock is a file of the store and not of the context, so that removing
a context leaves nobody holding a lock on a folder that is gone.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from murmur.conversation.harness import (
    HARNESS_SESSION,
    HarnessSession,
    read_harness_session,
)
from murmur.conversation.lines import (
    Contents,
    Header,
    Message,
    dropping,
    encode,
    first_header,
    image_blobs,
    message_id,
    parse_record,
)
from murmur.core.home import Home
from murmur.core.safefs import Root, open_root

CONVERSATION: Final = "conversation.jsonl"
BLOBS: Final = "blobs"
NO_IMAGES: Final[Mapping[str, bytes]] = {}

_LOCK: Final = ".lock"
_PATIENCE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.005
_HEAD_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a truncation did: messages gone and kept, the oldest left, image blobs removed."""

    dropped: int
    kept: int
    oldest_surviving_id: str | None = None
    blobs: int = 0


class Record:
    """The record of one context. Every method may be called from any thread or process.

    `owner` is the capsule whose header a record gets when it is created here; None writes no
    header, and the record stays unowned. All methods raise OSError.
    """

    def __init__(self, home: Home, store: str, context_id: str, owner: str | None = None) -> None:
        self._home = home
        self._store = store
        self._context_id = context_id
        self._owner = owner
        self._recorded: set[str] = set()

    @property
    def directory(self) -> Path:
        return self._home.conversations / self._store / self._context_id

    @property
    def path(self) -> Path:
        return self.directory / CONVERSATION

    def load(self) -> Contents:
        """The record as it stands; empty when there is none. Takes no lock: a rewrite is a rename.

        Ids read here count as recorded.
        """
        try:
            with self._open() as folder:
                contents = parse_record(folder.read_bytes(CONVERSATION))
        except FileNotFoundError:
            return Contents()
        self._recorded.update(filter(None, map(message_id, contents.messages)))
        return contents

    def append(self, message: Message, images: Mapping[str, bytes] = NO_IMAGES) -> None:
        """Adds a message in one write; one whose `id` is already recorded is skipped.

        `images` are the bytes of those that it names, by their SHA-256; each is kept once.
        """
        known = message_id(message)
        if known in self._recorded:
            return
        with self._locked() as store, _secured(store, self._context_id) as folder:
            for name, data in images.items():
                _keep_image(folder, name, data)
            _append(folder, encode(message), self._owner)
        if known is not None:
            self._recorded.add(known)

    def adopt(self, owner: str) -> bool:
        """Puts `owner`'s header before a record that nobody owns; whether that was done."""
        if not self.path.exists():
            return False  # nothing is made for a conversation that has not begun
        with self._locked() as store:
            try:
                folder = store.sub(self._context_id)
            except FileNotFoundError:
                return False
            with folder:
                if not folder.exists(CONVERSATION):
                    return False
                contents = parse_record(folder.read_bytes(CONVERSATION))
                if contents.header is not None and contents.header.capsule is not None:
                    return False
                header = contents.header or Header(None, _now_ms())
                _rewrite(folder, replace(header, capsule=owner), contents)
        return True

    def truncate(self, keep: int) -> Dropped:
        """Drops all but the newest `keep` messages (at least 1), each keeping its line and id.

        Atomic: what is kept is staged beside the record and renamed over it. Afterwards the image
        blobs that no kept message names are removed. Raises FileNotFoundError without a record.
        """
        with self._locked() as store, store.sub(self._context_id) as folder:
            contents = parse_record(folder.read_bytes(CONVERSATION))
            if len(contents.messages) <= keep:
                return Dropped(0, len(contents.messages))
            header, kept = dropping(contents, keep, _now_ms())
            _rewrite(folder, header, kept)
            assert header.truncated is not None
            return Dropped(
                dropped=len(contents.messages) - keep,
                kept=keep,
                oldest_surviving_id=header.truncated.oldest_surviving_id,
                blobs=_remove_blobs(folder, image_blobs(kept.messages)),
            )

    def remove(self) -> int:
        """Removes the context's directory whole; how many messages it held."""
        with self._locked() as store:
            count = len(self.load().messages)
            store.remove_tree(self._context_id)
        return count

    def expire(self, owner: str, before_ms: int) -> bool:
        """Removes the context when `owner` owns it and it was last written before `before_ms`.

        Both are looked at under the lock: a record that is just being continued stays.
        """
        with self._locked() as store:
            try:
                with store.sub(self._context_id) as folder:
                    status = folder.status(CONVERSATION)
                    header = header_of(folder)
            except FileNotFoundError:
                return False
            assert status is not None
            if header is None or header.capsule != owner:
                return False
            if status.st_mtime_ns // 1_000_000 >= before_ms:
                return False
            store.remove_tree(self._context_id)
        return True

    def image(self, name: str) -> bytes | None:
        """The bytes of an image by its SHA-256; None when the record has none."""
        try:
            with self._open() as folder:
                return folder.read_bytes(f"{BLOBS}/{name}")
        except FileNotFoundError:
            return None

    @property
    def harness_path(self) -> Path:
        return self.directory / HARNESS_SESSION

    def harness_session(self) -> HarnessSession | None:
        """The harness session of the context; None where the next task begins a new one."""
        try:
            with self._open() as folder:
                return read_harness_session(folder)
        except FileNotFoundError:
            return None

    def keep_harness_session(self, session: HarnessSession) -> None:
        """Makes it the context's. Without a conversation, the context's folder is made for it."""
        with self._locked() as store, _secured(store, self._context_id) as folder:
            folder.write_atomic(HARNESS_SESSION, session.line())

    def forget_harness_session(self) -> HarnessSession | None:
        """Removes the context's harness session; what it was, None where there was none."""
        if not self.harness_path.exists():
            return None
        with self._locked() as store:
            try:
                with store.sub(self._context_id) as folder:
                    found = read_harness_session(folder)
                    folder.unlink(HARNESS_SESSION)
            except FileNotFoundError:
                return None
        return found

    def _open(self) -> Root:
        with open_root(self._home.conversations) as conversations:
            return conversations.sub(f"{self._store}/{self._context_id}")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Root]:
        """The store's directory, made and closed to others, while its lock is held."""
        with (
            open_root(self._home.root) as murmur,
            _secured(murmur, "conversations") as conversations,
            _secured(conversations, self._store) as store,
        ):
            descriptor = store.open_file(_LOCK, os.O_RDWR | os.O_CREAT)
            try:
                _wait_for(descriptor)
                yield store
            finally:
                os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    """Takes the lock. A holder that was stopped must not hang a session: then ETIMEDOUT."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise OSError(errno.ETIMEDOUT, "another process holds the record store") from None
            time.sleep(_POLL_SECONDS)


def _secured(parent: Root, name: str) -> Root:
    """The directory `name`, made when it is missing, open to its owner alone from now on."""
    folder = parent.sub(name, create=True, mode=0o700)
    try:
        os.fchmod(folder.fileno(), 0o700)
    except OSError:
        folder.close()
        raise
    return folder


def _append(folder: Root, line: bytes, owner: str | None) -> None:
    descriptor = folder.open_file(CONVERSATION, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        os.fchmod(descriptor, 0o600)
        size = os.fstat(descriptor).st_size
        if size == 0 and owner is not None:
            line = Header(owner, _now_ms()).line() + line
        elif size > 0 and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        try:
            written = 0
            while written < len(line):
                written += os.write(descriptor, line[written:])
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _keep_image(folder: Root, name: str, data: bytes) -> None:
    with _secured(folder, BLOBS) as blobs:
        if not blobs.exists(name):
            blobs.write_atomic(name, data)


def _rewrite(folder: Root, header: Header, contents: Contents) -> None:
    folder.write_atomic(CONVERSATION, b"".join((header.line(), *contents.raw)), sync=True)


def _remove_blobs(folder: Root, named: set[str]) -> int:
    """Removes every blob that is not named; how many."""
    try:
        blobs = folder.sub(BLOBS)
    except FileNotFoundError:
        return 0
    with blobs:
        stray = [name for name in blobs.list() if name not in named]
        for name in stray:
            blobs.unlink(name)
    return len(stray)


def header_of(folder: Root) -> Header | None:
    """The header of the record in a context's folder, read from its beginning alone.

    Raises OSError, FileNotFoundError among it.
    """
    descriptor = folder.open_file(CONVERSATION, os.O_RDONLY)
    try:
        return first_header(os.pread(descriptor, _HEAD_BYTES, 0))
    finally:
        os.close(descriptor)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

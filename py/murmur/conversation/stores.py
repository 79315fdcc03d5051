"""The record stores of this machine: what they hold, where a context or a message stands.

Read without a lock, since a rewrite is a rename. A name that cannot be one of ours (it begins with
a dot) is passed over, and so is a link. spec/sessions.md 18; CLI reference, *mur conversation*.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from murmur.conversation.harness import (
    HARNESS_SESSION,
    HarnessSession,
    read_harness_session,
)
from murmur.conversation.lines import (
    Contents,
    Header,
    Message,
    Truncation,
    message_id,
    parse_record,
)
from murmur.conversation.record import CONVERSATION
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.ids import id_time_ms
from murmur.core.safefs import Root, UnsafePath, open_root

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """One context of one record store; `directory` is for reports."""

    store: str
    context_id: str
    directory: Path


@dataclass(frozen=True, slots=True)
class Summary:
    """A recorded context. `bytes` and `last_touched_ms` are of its conversation.jsonl."""

    place: Place
    header: Header | None
    messages: int
    bytes: int
    last_touched_ms: int

    @property
    def truncated(self) -> Truncation | None:
        return self.header.truncated if self.header is not None else None

    def as_json(self) -> dict[str, object]:
        return {
            "record": self.place.store,
            "context_id": self.place.context_id,
            "path": str(self.place.directory / CONVERSATION),
            "messages": self.messages,
            "bytes": self.bytes,
            "last_touched_ms": self.last_touched_ms,
            "capsule": self.header.capsule if self.header is not None else None,
            "truncated": self.truncated.as_json() if self.truncated is not None else None,
        }


@dataclass(frozen=True, slots=True)
class Shown:
    """One context as `mur conversation show` prints it."""

    place: Place
    header: Header | None
    messages: tuple[Message, ...]
    harness: HarnessSession | None

    def as_json(self) -> dict[str, object]:
        return {
            "record": self.place.store,
            "context_id": self.place.context_id,
            "dir": str(self.place.directory),
            "header": None if self.header is None else self.header.as_json(),
            "messages": list(self.messages),
            "harness_session": None if self.harness is None else self.harness.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Located:
    """Where a message id stands: `answer` is present, truncated or unknown.

    `position` counts from 1; `truncated` says what the record lost.
    """

    answer: str
    place: Place | None = None
    position: int | None = None
    truncated: Truncation | None = None

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"answer": self.answer}
        if self.place is not None:
            row |= {"record": self.place.store, "context_id": self.place.context_id}
        if self.position is not None:
            row["position"] = self.position
        if self.truncated is not None:
            row["dropped"] = self.truncated.dropped
            row["oldest_surviving_id"] = self.truncated.oldest_surviving_id
        return row


class Stores:
    """Every record store below one home. Raises E-IO-003 for what exists and cannot be read."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def path(self) -> Path:
        return self._home.conversations

    def places(self, store: str | None = None) -> Iterator[Place]:
        """Every context, by store and then by context; of one store only when it is given.

        Raises E-CNV-001 for a store that does not exist.
        """
        stores = self._folders(self.path)
        if store is not None:
            if store not in stores:
                raise error("E-CNV-001", name=f"record store {store!r}", place=self.path)
            stores = [store]
        for name in stores:
            folder = self.path / name
            for context in self._folders(folder):
                yield Place(name, context, folder / context)

    def find(self, context_id: str, store: str | None = None) -> Place:
        """The one context with that id. Raises E-CNV-001 for none, E-CNV-002 for several."""
        found = [place for place in self.places(store) if place.context_id == context_id]
        if len(found) == 1:
            return found[0]
        if not found:
            where = self.path if store is None else self.path / store
            raise error("E-CNV-001", name=f"context {context_id!r}", place=where)
        names = [place.store for place in found]
        raise error(
            "E-CNV-002",
            context=context_id,
            count=len(found),
            stores=", ".join(names),
            example=names[0],
        )

    def summaries(self, store: str | None = None) -> Iterator[Summary]:
        """Every context that has a conversation."""
        for place in self.places(store):
            read = self._contents(place)
            if read is None:
                continue
            contents, status = read
            yield Summary(
                place=place,
                header=contents.header,
                messages=len(contents.messages),
                bytes=status.st_size,
                last_touched_ms=status.st_mtime_ns // 1_000_000,
            )

    def show(self, place: Place) -> Shown:
        """A context whole. Raises E-CNV-001 when its folder holds neither file."""
        read = self._contents(place)
        with self._folder(place) as folder:
            harness = _attempt(place.directory, lambda: read_harness_session(folder))
            has_harness = folder.exists(HARNESS_SESSION)
        if read is None and not has_harness:
            raise error("E-CNV-001", name=f"context {place.context_id!r}", place=self.path)
        contents = read[0] if read is not None else Contents()
        return Shown(place, contents.header, contents.messages, harness)

    def locate(self, wanted: str, store: str | None = None) -> Located:
        """Where the message `wanted` stands, or that its record dropped it.

        A truncated answer rests on ids sorting by time: it is at or before the last one dropped.
        """
        gone: Located | None = None
        for place in self.places(store):
            read = self._contents(place)
            if read is None:
                continue
            contents = read[0]
            for position, message in enumerate(contents.messages, 1):
                if message_id(message) == wanted:
                    return Located("present", place, position)
            lost = contents.header.truncated if contents.header is not None else None
            if gone is None and lost is not None and _not_after(wanted, lost.last_dropped_id):
                gone = Located("truncated", place, truncated=lost)
        return gone or Located("unknown")

    def _contents(self, place: Place) -> tuple[Contents, os.stat_result] | None:
        """The record of a context and the status of its file; None when it has none."""
        try:
            with self._folder(place) as folder:
                descriptor = folder.open_file(CONVERSATION, os.O_RDONLY)
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise _unreadable(place.directory / CONVERSATION, failure) from None
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            data = _attempt(place.directory / CONVERSATION, stream.read)
        return parse_record(data), status

    def _folder(self, place: Place) -> Root:
        with open_root(self.path) as conversations:
            return conversations.sub(f"{place.store}/{place.context_id}")

    def _folders(self, path: Path) -> list[str]:
        """The names of the real directories in `path` that can be ours, ascending."""
        try:
            with os.scandir(path) as entries:
                names = [
                    each.name
                    for each in entries
                    if each.is_dir(follow_symlinks=False) and not each.name.startswith(".")
                ]
        except FileNotFoundError:
            return []
        except OSError as failure:
            raise _unreadable(path, failure) from None
        return sorted(names)


def _not_after(wanted: str, last: str | None) -> bool:
    try:
        return last is not None and id_time_ms(wanted) <= id_time_ms(last)
    except ValueError:
        return False


def _attempt(path: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except OSError as failure:
        raise _unreadable(path, failure) from None


def _unreadable(path: Path, failure: OSError) -> MurmurError:
    reason = failure.reason if isinstance(failure, UnsafePath) else failure.strerror
    hint = "look at its owner and mode"
    return error("E-IO-003", what=str(path), reason=reason or str(failure), hint=hint)

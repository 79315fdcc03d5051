"""The lines of a `conversation.jsonl`: messages, and before them perhaps a header.

A message is a JSON object with a string `role`; a header is one without. Whatever else stands in
the file, a torn last line among it, is skipped. spec/sessions.md 18.1 to 18.3.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

HEADER_TYPE: Final = "murmur.record"

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Truncation:
    """What a record has dropped over its life; `at_ms` is the Unix time of the last drop."""

    dropped: int
    oldest_surviving_id: str | None
    last_dropped_id: str | None
    at_ms: int

    def as_json(self) -> dict[str, object]:
        return {
            "dropped": self.dropped,
            "oldest_surviving_id": self.oldest_surviving_id,
            "last_dropped_id": self.last_dropped_id,
            "at_ms": self.at_ms,
        }


@dataclass(frozen=True, slots=True)
class Header:
    """Whose record it is and what it has lost. `capsule` None is a record that nobody owns."""

    capsule: str | None
    created_ms: int
    truncated: Truncation | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "capsule": self.capsule,
            "created_ms": self.created_ms,
            "truncated": None if self.truncated is None else self.truncated.as_json(),
        }

    def line(self) -> bytes:
        row: dict[str, object] = {
            "type": HEADER_TYPE,
            "capsule": self.capsule,
            "created_ms": self.created_ms,
        }
        if self.truncated is not None:
            row["truncated"] = self.truncated.as_json()
        return encode(row)


@dataclass(frozen=True, slots=True)
class Contents:
    """A record as read. `raw` holds each message's own line; `skipped` counts what was none."""

    header: Header | None = None
    messages: tuple[Message, ...] = ()
    raw: tuple[bytes, ...] = ()
    skipped: int = 0


def encode(row: Mapping[str, object]) -> bytes:
    """One line of a record; text that is no UTF-8 keeps its escapes."""
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def parse_record(data: bytes) -> Contents:
    """The record in `data`, an empty one included."""
    header: Header | None = None
    messages: list[Message] = []
    raw: list[bytes] = []
    skipped = 0
    for number, line in enumerate(data.split(b"\n")):
        if not line.strip():
            continue
        row = _object(line)
        if row is not None and isinstance(row.get("role"), str):
            messages.append(row)
            raw.append(line + b"\n")
        elif row is not None and number == 0 and "role" not in row:
            header = _header(row)
        else:
            skipped += 1
    return Contents(header, tuple(messages), tuple(raw), skipped)


def first_header(data: bytes) -> Header | None:
    """The header in the first line of `data`, which may be the beginning of a record only."""
    return parse_record(data.split(b"\n", 1)[0]).header


def dropping(contents: Contents, keep: int, now_ms: int) -> tuple[Header, Contents]:
    """The header and the rest of a record of which only the newest `keep` messages stay.

    `keep` is at least 1 and less than there are messages.
    """
    cut = len(contents.messages) - keep
    before = contents.header or Header(None, now_ms)
    earlier = before.truncated.dropped if before.truncated is not None else 0
    header = replace(
        before,
        truncated=Truncation(
            dropped=earlier + cut,
            oldest_surviving_id=message_id(contents.messages[cut]),
            last_dropped_id=message_id(contents.messages[cut - 1]),
            at_ms=now_ms,
        ),
    )
    return header, Contents(header, contents.messages[cut:], contents.raw[cut:])


def message_id(message: Message) -> str | None:
    """The `id` of a message, None where it has none."""
    found = message.get("id")
    return found if isinstance(found, str) else None


def image_blobs(messages: Iterable[Message]) -> set[str]:
    """The hashes of every image that the messages name, under which `blobs/` holds its bytes."""
    named = set()
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping) and block.get("type") == "image":
                digest = block.get("sha256")
                if isinstance(digest, str):
                    named.add(digest)
    return named


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _header(row: Mapping[str, Any]) -> Header | None:
    if row.get("type") != HEADER_TYPE:
        return None
    capsule = row.get("capsule")
    return Header(
        capsule=capsule if isinstance(capsule, str) and capsule else None,
        created_ms=_number(row.get("created_ms")),
        truncated=_truncation(row.get("truncated")),
    )


def _truncation(value: object) -> Truncation | None:
    if not isinstance(value, Mapping):
        return None
    return Truncation(
        dropped=_number(value.get("dropped")),
        oldest_surviving_id=_text(value.get("oldest_surviving_id")),
        last_dropped_id=_text(value.get("last_dropped_id")),
        at_ms=_number(value.get("at_ms")),
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

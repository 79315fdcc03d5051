"""What a request's `x-murmur-*` headers say about its sender. spec/door.md 3, 14.

They prove nothing; they carry a mark along a chain of honest runtimes.
"""

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from murmur.core.tasks import Origin, Trust

_FROM_CAPSULES: Final = {"peer": Origin.PEER, "completion": Origin.COMPLETION}


@dataclass(frozen=True, slots=True)
class Sender:
    """Where a request says it comes from: `event` and untrusted unless a capsule sent it."""

    origin: Origin
    trust: Trust


def read_sender(headers: Headers) -> Sender:
    origin = _FROM_CAPSULES.get(murmur_header(headers, "x-murmur-task-origin") or "")
    if origin is None:
        return Sender(Origin.EVENT, Trust.UNTRUSTED)
    trusted = murmur_header(headers, "x-murmur-task-trust") == "trusted"
    return Sender(origin, Trust.TRUSTED if trusted else Trust.UNTRUSTED)


def murmur_header(headers: Headers, name: str) -> str | None:
    """The value of an `x-murmur-*` header, lower-cased as all of them are."""
    value = headers.get(name)
    return None if value is None else value.strip().lower()


def last_event_id(headers: Headers) -> int | None:
    """`Last-Event-ID` as an unsigned number; anything else reads as absent."""
    value = headers.get("last-event-id", "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 20 else None

"""Requests at the door's file planes. spec/observability.md 5.9."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable

_OUTCOME: Final = field("outcome", Kind.TEXT, "`ok`, or the plane's error word")
_REASON: Final = nullable("reason", Kind.TEXT, "null when it went well")
_GENERATION: Final = field("generation", Kind.U64, "tasks that had ended by then")
_CONTAINMENT: Final = field(
    "containment_achieved", Kind.TEXT, "what stands", "advisory", "scoped", "sealed"
)
_BYTES: Final = nullable("bytes", Kind.U64, "the file's size")
_SHA256: Final = nullable("sha256", Kind.TEXT, "of its bytes; the answer's etag")


RESOURCE_LIST: Final = Event(
    "resource_list",
    Parent.SESSION,
    "the operator's file plane was listed, or refused to be",
    (
        field("root", Kind.TEXT, "as the manifest has it; empty without an export"),
        field("entry_count", Kind.U64, "files listed"),
        field("total_bytes", Kind.U64, "their sizes together"),
        _GENERATION,
        _CONTAINMENT,
        _OUTCOME,
        _REASON,
    ),
)


RESOURCE_READ: Final = Event(
    "resource_read",
    Parent.SESSION,
    "a file of the operator's plane was read, or refused",
    (
        field("path", Kind.TEXT, "as asked for, percent-decoded and not judged"),
        _OUTCOME,
        _BYTES,
        _SHA256,
        _GENERATION,
        _CONTAINMENT,
        _REASON,
    ),
)


PEER_HANDLE_REDEEM: Final = Event(
    "peer_handle_redeem",
    Parent.SESSION,
    "a peer presented a file handle",
    (
        field("handle_id", Kind.TEXT, "16 hex digits; never the token"),
        nullable("path", Kind.TEXT, "null until the handle proved genuine"),
        _GENERATION,
        nullable("audience_asserted", Kind.TEXT, "`x-murmur-audience`"),
        _BYTES,
        _SHA256,
        _OUTCOME,
        _REASON,
    ),
)

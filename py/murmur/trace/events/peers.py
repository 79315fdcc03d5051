"""Files handed from one capsule to another. spec/observability.md 5.9."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable

_OUTCOME: Final = field("outcome", Kind.TEXT, "`ok`, or the peer plane's error word")
_REASON: Final = nullable("reason", Kind.TEXT, "null when it went well")


PEER_HANDLE_MINT: Final = Event(
    "peer_handle_mint",
    Parent.SESSION,
    "share-file made a handle, or refused to",
    (
        nullable("handle_id", Kind.TEXT, "16 hex digits; never the token"),
        field("path", Kind.TEXT, "relative to the export's root"),
        field("audience", Kind.TEXT, "`<peer>@<host:port>`; empty where no card could be read"),
        nullable("expires_at_ms", Kind.U64, "Unix milliseconds"),
        _OUTCOME,
        _REASON,
    ),
)


PEER_FILE_FETCH: Final = Event(
    "peer_file_fetch",
    Parent.SESSION,
    "fetch-peer-file redeemed a handle at a peer, or could not",
    (
        field("peer", Kind.TEXT, "the peer as given"),
        field("handle_id", Kind.TEXT, "16 hex digits; never the token"),
        nullable("stored_path", Kind.TEXT, "relative to the work folder"),
        nullable("bytes", Kind.U64, "the file's size"),
        nullable("sha256", Kind.TEXT, "of its bytes"),
        _OUTCOME,
        _REASON,
    ),
)

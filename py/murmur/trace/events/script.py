"""What a script capsule did through its host interfaces. spec/observability.md 5.5 and 5.7."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable
from murmur.trace.events.fields import TRUST

ARTIFACT_PULLED: Final = Event(
    "artifact_pulled",
    Parent.SESSION,
    "manage.pull() installed an artifact; a refused pull leaves no line",
    (
        field("name", Kind.TEXT, "full name"),
        field("version", Kind.TEXT, "its version"),
        field("runtime", Kind.TEXT, "what it counts as", "skill", "tool"),
        field("origin", Kind.TEXT, "whose pin it has now", "runtime", "operator"),
        nullable("session", Kind.TEXT, "the session that pinned it"),
        TRUST,
    ),
)


A2A_SEND: Final = Event(
    "a2a_send",
    Parent.SESSION,
    "murmur:message/send got an answer from a peer",
    (
        field("peer_url", Kind.TEXT, "the peer as it was named"),
        field("message_id", Kind.TEXT, "the message's id"),
        field("task_id", Kind.TEXT, "the peer's task"),
        field("context_id", Kind.TEXT, "the peer's context"),
        nullable("traceparent", Kind.TEXT, "the header that was sent; null without tracing"),
        field("trust", Kind.TEXT, "trust class on the header", "trusted", "untrusted"),
    ),
)

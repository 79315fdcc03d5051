"""Work given to sub-capsules. spec/observability.md 5.8."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional
from murmur.trace.events.fields import DURATION

DELEGATION: Final = Event(
    "delegation",
    Parent.SESSION,
    "a delegation is over, once; `refused` for one that never started",
    (
        field("capsule", Kind.TEXT, "the sub-capsule"),
        field("version", Kind.TEXT, "its version"),
        nullable("delegation_id", Kind.TEXT, "`dlg_…`, if it came so far"),
        nullable("child_session_id", Kind.TEXT, "likewise"),
        DURATION,
        field(
            "outcome",
            Kind.TEXT,
            "how it ended",
            "ok",
            "error",
            "crashed",
            "terminated",
            "unknown",
            "completed",
            "timed_out",
            "failed",
            "refused",
        ),
        nullable("reason", Kind.TEXT, "null on ok, error and completed"),
    ),
)


DELEGATION_START: Final = Event(
    "delegation_start",
    Parent.SESSION,
    "a sub-capsule is up",
    (
        field("delegation_id", Kind.TEXT, "`dlg_…`"),
        field("capsule", Kind.TEXT, "the sub-capsule"),
        field("version", Kind.TEXT, "its version"),
        field("child_session_id", Kind.TEXT, "its session"),
        field("child_workdir", Kind.TEXT, "its work folder"),
        optional("child_records_dir", Kind.TEXT, "where its trace is"),
    ),
)

"""Faults of hooks. spec/observability.md 5.7."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field

HOOK_DISPATCH_ERROR: Final = Event(
    "hook_dispatch_error",
    Parent.SESSION,
    "a hook's answer that nothing is done with, or an async hook's fault; just before session_end",
    (
        field("hook_name", Kind.TEXT, "the hook"),
        field("event", Kind.TEXT, "the handler, or `drain`"),
        field(
            "arm",
            Kind.TEXT,
            "the output arm that is not honoured; `seed-rejected`; of an async hook `error`, "
            "`queue-overflow` or `timeout`",
        ),
    ),
)

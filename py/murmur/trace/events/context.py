"""What entered and left the context beside the conversation itself. spec/observability.md 5.6."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, optional
from murmur.trace.events.fields import TASK, TURN

COMPACTION: Final = Event(
    "compaction",
    Parent.TURN,
    "a hook's replacement took the history's place",
    (
        TURN,
        TASK,
        field("tokens_before", Kind.U64, "input of the turn that crossed the threshold"),
        field("tokens_after", Kind.U64, "the full payload with the replacement"),
    ),
)


COMPACTION_DECLINED: Final = Event(
    "compaction_declined",
    Parent.TURN,
    "the threshold was crossed and the history stayed",
    (
        TURN,
        TASK,
        field("tokens", Kind.U64, "the context's occupancy"),
        field("reason", Kind.TEXT, "why", "no_hook_replacement", "unresolved_tool_call"),
    ),
)


CONTEXT_SEED: Final = Event(
    "context_seed",
    Parent.TASK,
    "a hook proposed messages to begin a task with",
    (
        TASK,
        field("hook_name", Kind.TEXT, "the hook"),
        field("tokens", Kind.U64, "what entered"),
        field("proposed_tokens", Kind.U64, "what was proposed"),
        field("budget_tokens", Kind.U64, "what a seed may take; 0 without an input budget"),
        field(
            "outcome", Kind.TEXT, "what became of it", "seeded", "trimmed", "compacted", "rejected"
        ),
        optional(
            "reason",
            Kind.TEXT,
            "of a rejection",
            "message_over_budget",
            "overflow_over_limit",
            "no_budget",
            "unsupported_transport",
        ),
        field("message_ids", Kind.TEXTS, "ids of the messages that entered"),
    ),
)

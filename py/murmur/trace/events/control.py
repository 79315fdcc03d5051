"""What a controller, or the agent itself, changed while the session ran. spec/observability.md 5.7.

No value of a secret is in any of them.
"""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional

_PRINCIPAL: Final = field("principal", Kind.TEXT, "who asked", "controller", "agent")
_TOKEN_ID: Final = optional("token_id", Kind.TEXT, "16 hex digits of the control token's SHA-256")

REFUSALS: Final = (
    "unauthenticated",
    "unknown_path",
    "undeclared_setting",
    "undeclared_secret",
    "method_not_allowed",
    "not_loopback",
    "body_too_large",
    "missing_body",
    "unsupported_media_type",
    "invalid_value",
    "undeclared_driver",
    "credential_unresolvable",
    "in_use",
    "truncated_body",
)


CONTROL_CHANGE: Final = Event(
    "control_change",
    Parent.SESSION,
    "a setting or a secret was changed",
    (
        _PRINCIPAL,
        _TOKEN_ID,
        field("kind", Kind.TEXT, "what was changed", "setting", "secret"),
        field("name", Kind.TEXT, "its name"),
        field("action", Kind.TEXT, "what was done", "set", "forget"),
        optional("previous", Kind.FREE, "a setting's value before"),
        optional("value", Kind.FREE, "a setting's value now"),
        optional("applies_from", Kind.TEXT, "settings only", "next_inference_call"),
        optional("replaced", Kind.BOOL, "a secret that was set: whether it had a value"),
    ),
)


CONTROL_REFUSED: Final = Event(
    "control_refused",
    Parent.SESSION,
    "a request to change or read settings was refused",
    (
        _PRINCIPAL,
        field("status", Kind.U16, "the HTTP status"),
        field("reason", Kind.TEXT, "why", *REFUSALS),
        optional("kind", Kind.TEXT, "what it was about", "setting", "secret"),
        optional("name", Kind.TEXT, "its name"),
        _TOKEN_ID,
    ),
)


CONTROL_APPLIED: Final = Event(
    "control_applied",
    Parent.TASK,
    "a loop call used another value than the one before it",
    (
        field("turn", Kind.U32, "number of the turn within its task, from 0"),
        nullable("task_id", Kind.TEXT, "the task"),
        field("name", Kind.TEXT, "the setting"),
        field("value", Kind.FREE, "what the call used"),
        nullable("change_id", Kind.TEXT, "event_id of the control_change behind it"),
    ),
)

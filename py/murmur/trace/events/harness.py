"""The program behind a process driver. spec/observability.md 5.11.

Never an argument's value, a variable's value or a file's content. `harness_quota`'s spellings are
the recommended ones.
"""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional
from murmur.trace.events.fields import DURATION

_SESSION_ID: Final = field("harness_session_id", Kind.TEXT, "the program's own session")


HARNESS_START: Final = Event(
    "harness_start",
    Parent.TASK,
    "the program was started",
    (
        field("driver", Kind.TEXT, "the driver artifact"),
        field("driver_version", Kind.TEXT, "its version"),
        field("harness", Kind.TEXT, "what the driver calls the program"),
        field("binary", Kind.TEXT, "resolved path"),
        field("binary_source", Kind.TEXT, "who named it"),
        nullable("harness_version", Kind.TEXT, "what the program says of itself"),
        field("version_tested", Kind.BOOL, "whether the driver was tested with it"),
        _SESSION_ID,
        field("session_mode", Kind.TEXT, "a new one, or one taken up again", "new", "resume"),
        field("args_count", Kind.U32, "number of arguments"),
        field("env_names", Kind.TEXTS, "names of variables, sorted"),
        field("files", Kind.TEXTS, "names of files that the driver wrote for it"),
        field("bridge_tools", Kind.TEXTS, "tools that the bridge offers it"),
        field("stdin_bytes", Kind.U64, "size of its first input"),
        field("keep_stdin_open", Kind.BOOL, "whether more may follow"),
    ),
)


HARNESS_SESSION: Final = Event(
    "harness_session",
    Parent.TASK,
    "the program named its session",
    (
        _SESSION_ID,
        field("auth", Kind.TEXT, "how it is logged in"),
        nullable("model", Kind.TEXT, "the model that it uses"),
    ),
)


HARNESS_SESSION_FORGOTTEN: Final = Event(
    "harness_session_forgotten",
    Parent.TASK,
    "a session was dropped at somebody's wish",
    (
        field("context_id", Kind.TEXT, "the conversation"),
        _SESSION_ID,
        field("requested_by", Kind.TEXT, "whose wish", "cli", "a2a"),
    ),
)


HARNESS_WARNING: Final = Event(
    "harness_warning",
    Parent.TASK,
    "something about the program that the operator should know",
    (
        field("code", Kind.TEXT, "the warning's code"),
        field("message", Kind.TEXT, "its text"),
    ),
)


HARNESS_FAILED: Final = Event(
    "harness_failed",
    Parent.TASK,
    "a turn of the program failed",
    (
        field(
            "kind",
            Kind.TEXT,
            "what kind of failure",
            "auth",
            "quota",
            "max-turns",
            "canceled",
            "harness-error",
            "other",
        ),
        field("message", Kind.TEXT, "its text"),
        field("source", Kind.TEXT, "who said so", "harness", "runtime"),
    ),
)


HARNESS_RETRY: Final = Event(
    "harness_retry",
    Parent.TASK,
    "the program tries a call of its own again",
    (
        field("attempt", Kind.U32, "number of the attempt"),
        field("reason", Kind.TEXT, "why"),
    ),
)


HARNESS_NOTE: Final = Event(
    "harness_note",
    Parent.TASK,
    "something that the driver found worth keeping",
    (field("text", Kind.TEXT, "the note"),),
)


HARNESS_INTERRUPT: Final = Event(
    "harness_interrupt",
    Parent.TASK,
    "the program was asked to stop",
    (
        field("method", Kind.TEXT, "how", "stdin-message", "signal-int", "unsupported"),
        field("delivered", Kind.BOOL, "whether it could be told"),
        field("grace_ms", Kind.U64, "how long it had; 0 when not delivered"),
    ),
)


HARNESS_EXIT: Final = Event(
    "harness_exit",
    Parent.TASK,
    "the program is gone",
    (
        nullable("code", Kind.I32, "its exit status"),
        nullable("signal", Kind.I32, "the signal that ended it"),
        field(
            "cause",
            Kind.TEXT,
            "what came before",
            "terminal",
            "eof",
            "inactivity",
            "max_turns",
            "driver_error",
            "canceled",
        ),
        field("killed", Kind.BOOL, "whether the runtime killed it"),
        DURATION,
    ),
)


HARNESS_QUOTA: Final = Event(
    "harness_quota",
    Parent.TASK,
    "the newest values of a subscription's window",
    (
        field("name", Kind.TEXT, "the window"),
        optional("used", Kind.FREE, "share used, from 0 to 1"),
        optional("resets_at_ms", Kind.U64, "when it starts over, Unix milliseconds"),
        optional("window_minutes", Kind.U64, "how long it is"),
        optional("state", Kind.TEXT, "what the program calls its state"),
    ),
)

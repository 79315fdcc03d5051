"""Commands moved to the background, and what became of them. spec/observability.md 5.4."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, optional
from murmur.trace.events.fields import DURATION, RESOURCE_LIMIT, STATUS, TASK, TURN

_WORK: Final = field("work_id", Kind.TEXT, "the command's handle, `wrk_…`")
_BINARY: Final = field("binary", Kind.TEXT, "resolved path, else the bare name")
_COMMAND: Final = field("command", Kind.FREE, "argument list, or the -c script")
_OUTPUT_PATH: Final = "its log, relative to the records directory"
_OUTPUT_BYTES: Final = "the log's size; 0 where it could not be written"


SHELL_DETACHED: Final = Event(
    "shell_detached",
    Parent.TURN,
    "a command was moved to the background; stands for its `shell` line",
    (
        TURN,
        TASK,
        _WORK,
        _BINARY,
        _COMMAND,
        optional("grace_ms", Kind.U64, "the time it had; absent when no clock moved it"),
    ),
)


SHELL_DETACH_UNRECORDED: Final = Event(
    "shell_detach_unrecorded",
    Parent.TURN,
    "a demotion whose own line could not be written: its loss will never be reported",
    (
        TURN,
        TASK,
        _WORK,
        _BINARY,
        field("reason", Kind.TEXT, "why it could not be written"),
    ),
)


SHELL_COMPLETED: Final = Event(
    "shell_completed",
    Parent.SESSION,
    "a command in the background ended; before the task that tells of it",
    (
        _WORK,
        _BINARY,
        _COMMAND,
        field("exit_code", Kind.I32, "128 + signal for a killed one"),
        DURATION,
        field("output_path", Kind.TEXT, _OUTPUT_PATH),
        field("output_bytes", Kind.U64, _OUTPUT_BYTES),
        RESOURCE_LIMIT,
        STATUS,
        optional("completion_task_id", Kind.TEXT, "absent when the agent had been told already"),
    ),
)


SHELL_ABANDONED: Final = Event(
    "shell_abandoned",
    Parent.SESSION,
    "the session's end came first: the command is killed, its result reaches nobody",
    (
        _WORK,
        _BINARY,
        _COMMAND,
        field("running_ms", Kind.U64, "how long it had run"),
        optional("exit_code", Kind.I32, "only if it ended while the session did"),
        optional("output_path", Kind.TEXT, _OUTPUT_PATH),
        optional("output_bytes", Kind.U64, _OUTPUT_BYTES),
    ),
)


SHELL_LOST: Final = Event(
    "shell_lost",
    Parent.SESSION,
    "written into a dead session's trace by the one that resumes it: nobody knows how it ended",
    (
        _WORK,
        _BINARY,
        _COMMAND,
        field("detached_at_ms", Kind.U64, "when it was moved to the background"),
        field("reconciled_by_session", Kind.TEXT, "the session that reports it"),
        field("reconciled_task_id", Kind.TEXT, "the task that reports it"),
    ),
)

"""Tasks, from acceptance to end. spec/observability.md 5.2 and 5.8."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional
from murmur.trace.events.fields import DURATION, ERROR_BYTES, TRUST

EXIT_STATUSES: Final = (
    "ok",
    "failed",
    "max_turns_reached",
    "spend_ceiling_reached",
    "reopen_budget_exhausted",
    "canceled",
    "no_answer",
    "deadline_reached",
)


TASK_START: Final = Event(
    "task_start",
    Parent.SESSION,
    "a task begins; its id is the task node",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("context_id", Kind.TEXT, "its conversation"),
        field(
            "source", Kind.TEXT, "how it came", "a2a", "task_md", "detached_shell", "detached_lost"
        ),
        field(
            "origin",
            Kind.TEXT,
            "who it came from",
            "user",
            "peer",
            "schedule",
            "event",
            "completion",
            "system",
        ),
        TRUST,
        field("lane", Kind.TEXT, "the queue's lane", "user", "peer", "bg"),
        field("message_parts_bytes", Kind.U64, "bytes of the task's text"),
    ),
)


TASK_END: Final = Event(
    "task_end",
    Parent.TASK,
    "a started task is over, whatever became of it",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("exit_status", Kind.TEXT, "how it ended", *EXIT_STATUSES),
        field("duration_ms", Kind.U64, "over all attempts"),
        field("turns", Kind.U32, "inference calls that count"),
        field("input_tokens", Kind.U64, "their input"),
        field("output_tokens", Kind.U64, "their output"),
        field("tool_calls", Kind.U32, "tool_call lines"),
        field("shell_calls", Kind.U32, "shell and shell_detached lines"),
        field("reopen_count", Kind.U32, "times the task was reopened"),
        optional("keep_working", Kind.OBJECT, "stopped_by"),
    ),
)


TASK_FAILED: Final = Event(
    "task_failed",
    Parent.TASK,
    "an attempt failed; at any capture level",
    (
        optional("task_id", Kind.TEXT, "absent for the idle run"),
        optional("turn", Kind.U32, "absent when no turn failed"),
        field(
            "cause",
            Kind.TEXT,
            "kind of failure",
            "driver_error",
            "credential_rejected",
            "malformed_response",
            "compaction_hook",
            "input_timeout",
            "reopen_budget_exhausted",
            "runtime_error",
        ),
        field("reason", Kind.TEXT, "why; whole in out/result.txt", limit=ERROR_BYTES),
    ),
)


TASK_REOPENED: Final = Event(
    "task_reopened",
    Parent.TASK,
    "another attempt follows the one that ended",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("hook_name", Kind.TEXT, "who asked; `lifecycle.done_check` for the manifest's check"),
        field("reason", Kind.TEXT, "the feedback", limit=ERROR_BYTES),
        field("reopen_number", Kind.U32, "from 1"),
        field("attempt_context", Kind.TEXT, "what it starts from", "continued", "restarted"),
        nullable("turns_remaining", Kind.U32, "turns left to the task; null is no cap"),
    ),
)


TASK_KEPT_WORKING: Final = Event(
    "task_kept_working",
    Parent.TASK,
    "a turn end was answered with lifecycle.keep_working.message",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("number", Kind.U32, "from 1"),
        nullable("turns_remaining", Kind.U32, "turns left to the task; null is no cap"),
    ),
)


DONE_CHECK: Final = Event(
    "done_check",
    Parent.TASK,
    "lifecycle.done_check.command was run at the end of an attempt",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("number", Kind.U32, "runs within the task, from 1"),
        field("command", Kind.TEXT, "the command as declared"),
        field(
            "outcome",
            Kind.TEXT,
            "how it ended",
            "passed",
            "failed",
            "timed_out",
            "stopped",
            "not_started",
        ),
        optional("exit_code", Kind.I32, "absent when it never ran to an end"),
        optional("resource_limit", Kind.TEXT, "the limit that ended it"),
        DURATION,
    ),
)


TASK_CANCELED: Final = Event(
    "task_canceled",
    Parent.TASK,
    "a task was cancelled; before its task_end, at most once",
    (
        field("task_id", Kind.TEXT, "the task"),
        optional("turn", Kind.U32, "absent when it never ran"),
        field(
            "phase",
            Kind.TEXT,
            "what it was doing",
            "queued",
            "turn",
            "inference",
            "input",
            "delegation",
            "member_call",
            "harness",
            "plan",
            "shell",
        ),
        field("detached_work_ids", Kind.TEXTS, "its background commands at that instant"),
        field("delegation_ids", Kind.TEXTS, "its delegations at that instant"),
    ),
)


TASK_REJECTED: Final = Event(
    "task_rejected",
    Parent.SESSION,
    "a queued task was refused because the session stopped taking work",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("context_id", Kind.TEXT, "its conversation"),
        field("source", Kind.TEXT, "how it came", "a2a", "detached_shell", "detached_lost"),
        field("cause", Kind.TEXT, "why", "session_ended", "session_stopped"),
        field("reason", Kind.TEXT, "the final frame's message"),
    ),
)


A2A_TASK_RECEIVED: Final = Event(
    "a2a_task_received",
    Parent.SESSION,
    "the door reserved a slot for a message",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("context_id", Kind.TEXT, "its conversation"),
        field("message_id", Kind.TEXT, "the caller's id of the message"),
        nullable("traceparent_from_caller", Kind.TEXT, "W3C trace context"),
        optional("caller_member", Kind.TEXT, "with a formation token only"),
        field("caller", Kind.TEXT, "who called", "operator", "credential", "member", "public"),
        optional("caller_credential", Kind.TEXT, "the credential's name"),
        optional("message_sha256", Kind.TEXT, "of the message's text"),
    ),
)


TASK_CONTINUED: Final = Event(
    "task_continued",
    Parent.TASK,
    "a task went on with the outcomes of work that it handed off",
    (
        field("task_id", Kind.TEXT, "the task"),
        field("continuation_number", Kind.U32, "from 1, counted across reopens"),
        field("member_calls", Kind.TEXTS, "calls answered, in order of arrival"),
        field("delegations", Kind.TEXTS, "delegations over, in order of their ids"),
        field("waited_ms", Kind.U64, "how long the task waited"),
        field("turns_remaining", Kind.U32, "turns that it had left"),
    ),
)

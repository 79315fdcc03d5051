"""The event catalogue: every kind of line a trace can hold, its fields in written order.

spec/observability.md 5. A later feature adds its events here and nowhere else; `EVENTS` finds one
by name. Marked (open) or (infer) there, and taken as recommended: `session_start.deadline`,
`inference_retry`'s spellings, `inference.driver_config` and `attempts`.
"""

from collections.abc import Mapping
from typing import Any, Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional

ERROR_BYTES: Final = 2000

_TURN = field("turn", Kind.U32, "number of the turn within its task, from 0")
_TASK = nullable("task_id", Kind.TEXT, "the task the line belongs to")
_DURATION = field("duration_ms", Kind.U64, "how long it took")
_STATUS = field("status", Kind.TEXT, "whether it succeeded", "ok", "error")
_TRUST = field("trust", Kind.TEXT, "trust class", "trusted", "untrusted")
_ORIGIN = optional("origin", Kind.TEXT, "`hook:<name>` for a hook's own call")

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

SESSION_START: Final = Event(
    "session_start",
    Parent.NONE,
    "the first line of every launch; its id is the session node",
    (
        field("capsule_name", Kind.TEXT, "manifest name"),
        field("capsule_version", Kind.TEXT, "manifest version"),
        field("model", Kind.TEXT, "inference.model, empty without one"),
        nullable("max_turns", Kind.U32, "turns one task may take; null is no cap"),
        nullable("max_session_tokens", Kind.U64, "inference.max_session_tokens"),
        nullable("machine_tokens_per_day", Kind.U64, "the machine's daily ceiling"),
        field("capabilities", Kind.TEXTS, "granted among network, filesystem, shell"),
        field("tools_declared", Kind.TEXTS, "names offered to the model"),
        nullable("tool_refresh", Kind.TEXT, "when pulled tools join", "compaction", "immediate"),
        field("runtime_artifacts", Kind.OBJECTS, "staged artifacts that a capsule pulled"),
        field("containment_declared", Kind.TEXT, "the floor", "advisory", "scoped", "sealed"),
        field("containment_achieved", Kind.TEXT, "what stands", "advisory", "scoped", "sealed"),
        nullable("userns_grant", Kind.TEXT, "who grants user namespaces; null off Linux"),
        field("workdir_exec", Kind.BOOL, "capabilities.filesystem.workdir_exec"),
        nullable("resumed_from", Kind.TEXT, "session that --resume continued"),
        nullable("context_id", Kind.TEXT, "the launch's context; null: one per task"),
        optional("deadline", Kind.OBJECT, "the hard deadline: source, at, secs"),
        optional("control", Kind.OBJECT, "names that a controller or the agent may set"),
        optional("model_limits", Kind.OBJECT, "the primary choice's resolved limits"),
        optional("inference_choices", Kind.OBJECTS, "driver choices, primary first"),
        optional("spawned_by", Kind.TEXT, "the delegating session"),
        optional("delegation_id", Kind.TEXT, "the delegation"),
        optional("formation_id", Kind.TEXT, "the formation"),
        optional("formation_member", Kind.TEXT, "this member's name"),
        optional("formation_callees", Kind.TEXTS, "members this one may call"),
        field("system_prompt_source", Kind.TEXT, "where it came from", "manifest", "cli", "none"),
        field(
            "credential_source",
            Kind.TEXT,
            "where the primary key came from",
            "config",
            "environment",
            "manifest",
            "keyless",
            "none",
        ),
        field("gateways", Kind.OBJECTS, "artifact, host, credential_source, metered"),
        nullable("system_prompt_sha256", Kind.TEXT, "of the prompt before the [Capsule] block"),
        field("effective_grants", Kind.OBJECT, "the --explain-scope report"),
    ),
)

SESSION_END: Final = Event(
    "session_end",
    Parent.SESSION,
    "the last line of the main writer, on every exit path",
    (
        field("total_turns", Kind.U32, "inference calls that count"),
        field("total_input_tokens", Kind.U64, "their input"),
        field("total_output_tokens", Kind.U64, "their output"),
        field("total_tool_calls", Kind.U32, "tool_call lines"),
        field("total_shell_calls", Kind.U32, "shell and shell_detached lines"),
        field("duration_ms", Kind.U64, "since the session's start"),
        field(
            "exit_status",
            Kind.TEXT,
            "what mur run prints",
            "ok",
            "failed",
            "max_turns_reached",
            "spend_ceiling_reached",
            "canceled",
            "formation_ended",
            "deadline_reached",
            "trapped",
        ),
    ),
)

DEADLINE_REACHED: Final = Event(
    "deadline_reached",
    Parent.SESSION,
    "the hard deadline fell; before the lines of the wind-down",
    (
        field("source", Kind.TEXT, "whose deadline", "own", "inherited"),
        optional("at", Kind.TEXT, "the moment, RFC 3339 in UTC"),
        optional("secs", Kind.U64, "the deadline as it was given"),
    ),
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
        _TRUST,
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


def _errors_explain_themselves(values: Mapping[str, Any]) -> str | None:
    failed = values["decision"] == "error"
    if failed != ("error_code" in values) or failed != ("error" in values):
        return "error_code and error are written exactly when decision is error"
    hashes = ("system_sha", "tools_sha", "response_sha", "message_shas")
    if failed and any(name in values for name in hashes):
        return "a failed call carries no hashes"
    return None


INFERENCE: Final = Event(
    "inference",
    Parent.TASK,
    "one driver call; the loop's own is the node of its turn",
    (
        _TURN,
        _TASK,
        optional("input_tokens", Kind.U64, "murmur's count; absent when nothing counted"),
        optional("output_tokens", Kind.U64, "likewise"),
        field("decision", Kind.TEXT, "what came of it", "tool_call", "end_turn", "text", "error"),
        optional("stop_reason", Kind.TEXT, "the provider's word, verbatim"),
        nullable("tool_name", Kind.TEXT, "the tool asked for"),
        optional("input_tokens_actual", Kind.U64, "the provider's count"),
        optional("output_tokens_actual", Kind.U64, "likewise"),
        optional("cached_tokens", Kind.U64, "read from the provider's cache"),
        optional("cache_write_tokens", Kind.U64, "written to it"),
        optional("thinking_tokens", Kind.U64, "part of the output"),
        _ORIGIN,
        optional("driver_choice", Kind.TEXT, "with inference.alternates only"),
        optional("model", Kind.TEXT, "beside origin or driver_choice only"),
        optional("message_ids", Kind.TEXTS, "ids of the messages sent, in order"),
        optional("system_sha", Kind.TEXT, "SHA-256 of the system text sent"),
        optional("tools_sha", Kind.TEXT, "of the tools array sent"),
        optional("response_sha", Kind.TEXT, "of the driver's raw response"),
        optional("message_shas", Kind.TEXTS, "of each message sent"),
        optional("max_output_tokens", Kind.U32, "output cap sent with the call"),
        optional("driver_config", Kind.OBJECT, "config handed to the driver"),
        optional("attempts", Kind.U32, "when there was more than one"),
        optional("retry_stopped", Kind.TEXT, "why a passing failure was not retried"),
        optional(
            "error_code",
            Kind.TEXT,
            "kind of failure",
            "credential_rejected",
            "driver_error",
            "driver_failed",
            "malformed_response",
            "harness_auth",
            "harness_quota",
            "harness_error",
            "harness_other",
            "harness_inactive",
        ),
        optional("error", Kind.TEXT, "what the driver said", limit=ERROR_BYTES),
        optional("provider_status", Kind.U16, "HTTP status the gateway saw"),
    ),
    _errors_explain_themselves,
)


def _one_reason_to_retry(values: Mapping[str, Any]) -> str | None:
    if ("provider_status" in values) == ("reason" in values):
        return "it has either provider_status or reason"
    return None


INFERENCE_RETRY: Final = Event(
    "inference_retry",
    Parent.TASK,
    "a call failed for a passing reason and is made again; before the call's own line",
    (
        _TURN,
        _TASK,
        field("attempt", Kind.U32, "number of the failed attempt, from 1"),
        field("max_attempts", Kind.U32, "max_retries + 1"),
        optional("provider_status", Kind.U16, "HTTP status"),
        optional("reason", Kind.TEXT, "without a status", "connection", "driver"),
        field("wait_ms", Kind.U64, "before the next attempt"),
        _ORIGIN,
    ),
    _one_reason_to_retry,
)

SPEND_CEILING_REACHED: Final = Event(
    "spend_ceiling_reached",
    Parent.TURN,
    "a call that does not fit under a ceiling was not sent",
    (
        _TURN,
        _TASK,
        field("limit", Kind.TEXT, "which ceiling", "session", "machine"),
        field("ceiling", Kind.U64, "its value"),
        field("used", Kind.U64, "spent or reserved before"),
        field("requested", Kind.U64, "input and largest output of the call"),
        _ORIGIN,
    ),
)

TOOL_CALL: Final = Event(
    "tool_call",
    Parent.TURN,
    "a tool returned",
    (
        _TURN,
        _TASK,
        field("tool_name", Kind.TEXT, "model-visible name"),
        nullable("tool_call_id", Kind.TEXT, "the provider's id, verbatim"),
        field("input", Kind.FREE, "the call's input"),
        field("input_bytes", Kind.U64, "its size as compact JSON"),
        optional("output", Kind.TEXT, "under capture: content only"),
        field("output_bytes", Kind.U64, "fence included"),
        _DURATION,
        _STATUS,
        optional("state_effect", Kind.TEXT, "from the tool's metadata"),
        optional("resource_id", Kind.TEXT, "likewise"),
    ),
)

SKILL_CALL: Final = Event(
    "skill_call",
    Parent.TURN,
    "a skill's text was read; counted nowhere",
    (
        _TURN,
        _TASK,
        field("skill_name", Kind.TEXT, "model-visible name"),
        field("output_bytes", Kind.U64, "size of the text"),
        _DURATION,
        _STATUS,
        field("origin", Kind.TEXT, "who installed it", "operator", "runtime"),
        _TRUST,
    ),
)

SHELL: Final = Event(
    "shell",
    Parent.TURN,
    "a command ended in the foreground; after its tool_call",
    (
        _TURN,
        _TASK,
        field("binary", Kind.TEXT, "resolved path, else the bare name"),
        field("command", Kind.FREE, "argument list, or the -c script"),
        field("exit_code", Kind.I32, "128 + signal for a killed one"),
        field("stdout_bytes", Kind.U64, "before any cut"),
        field("stderr_bytes", Kind.U64, "likewise"),
        _DURATION,
        optional(
            "resource_limit",
            Kind.TEXT,
            "the one limit that ended it, where evidence names exactly one",
            "cpu_seconds",
            "max_file_size_bytes",
            "cgroup_memory_bytes",
            "cgroup_pids_max",
        ),
    ),
)

CALL_DENIED: Final = Event(
    "call_denied",
    Parent.TURN,
    "a policy hook refused a call",
    (
        _TURN,
        field("event", Kind.TEXT, "the decision point", "on-shell", "on-tool-call"),
        field("hook_name", Kind.TEXT, "the hook"),
        field("target", Kind.TEXT, "resolved binary, or tool name"),
        field("reason", Kind.TEXT, "the hook's reason"),
    ),
)

PROTECTED_PATH_DENIED: Final = Event(
    "protected_path_denied",
    Parent.TURN,
    "a call that would write below filesystem.read_only was refused",
    (
        _TURN,
        field("call", Kind.TEXT, "what was called", "shell", "tool"),
        field("target", Kind.TEXT, "binary, or tool name"),
        field("path", Kind.TEXT, "resolved, relative to the work folder"),
        field("rule", Kind.TEXT, "the manifest's entry"),
        field("signal", Kind.TEXT, "what identified the write"),
        field("reason", Kind.TEXT, "the text the model reads"),
    ),
)

TOOL_INPUT_REFUSED: Final = Event(
    "tool_input_refused",
    Parent.TURN,
    "a call lacked required fields; its failed tool_call follows",
    (
        _TURN,
        field("tool_name", Kind.TEXT, "model-visible name"),
        nullable("tool_call_id", Kind.TEXT, "the provider's id, verbatim"),
        field("missing", Kind.TEXTS, "in the schema's order"),
        field("reason", Kind.TEXT, "the text the model reads"),
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

_CREDENTIAL = (
    field("source", Kind.TEXT, "where the key comes from"),
    optional("credential", Kind.TEXT, "its name; absent for a literal"),
    field("change", Kind.TEXT, "what happened", "rotated", "rejected", "unreadable"),
    optional("trigger", Kind.TEXT, "of a rotation", "file_changed", "rejection"),
    optional("status", Kind.U16, "of a rejection"),
    optional("retried", Kind.BOOL, "of a rejection"),
    optional(
        "reason",
        Kind.TEXT,
        "of an unreadable key",
        "missing",
        "unreadable",
        "unparseable",
        "no_entry",
        "empty_entry",
        "not_injected",
    ),
)

INFERENCE_CREDENTIAL: Final = Event(
    "inference_credential",
    Parent.SESSION,
    "the primary driver's key changed or was rejected",
    _CREDENTIAL,
)

GATEWAY_CREDENTIAL: Final = Event(
    "gateway_credential",
    Parent.SESSION,
    "another gateway's key changed or was rejected",
    (field("artifact", Kind.TEXT, "whose gateway"), *_CREDENTIAL),
)

EVENTS: Final[Mapping[str, Event]] = {
    event.name: event
    for event in (
        SESSION_START,
        SESSION_END,
        DEADLINE_REACHED,
        TASK_START,
        TASK_END,
        TASK_FAILED,
        TASK_CANCELED,
        TASK_REJECTED,
        INFERENCE,
        INFERENCE_RETRY,
        SPEND_CEILING_REACHED,
        TOOL_CALL,
        SKILL_CALL,
        SHELL,
        CALL_DENIED,
        PROTECTED_PATH_DENIED,
        TOOL_INPUT_REFUSED,
        A2A_TASK_RECEIVED,
        INFERENCE_CREDENTIAL,
        GATEWAY_CREDENTIAL,
    )
}

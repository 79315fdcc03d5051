"""The frame of a session. spec/observability.md 5.1.

`deadline` is (open) there beyond `source`; `at` and `secs` are its recommendation.
"""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional

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


RETENTION: Final = Event(
    "retention",
    Parent.SESSION,
    "what this launch removed by trace.retain or context.retain, a line for each reason",
    (
        field("store", Kind.TEXT, "session records or conversations", "sessions", "records"),
        field("reason", Kind.TEXT, "the key", "max_sessions", "max_age", "max_messages"),
        field("removed", Kind.U32, "targets removed or, for max_messages, trimmed"),
        field("targets", Kind.TEXTS, "session ids or context ids"),
        optional("messages_dropped", Kind.U64, "only for max_messages"),
    ),
)


FORMATION_ENDED: Final = Event(
    "formation_ended",
    Parent.SESSION,
    "the formation's lifeline closed",
    (field("formation_id", Kind.TEXT, "the formation"),),
)


SPAWNER_ENDED: Final = Event(
    "spawner_ended",
    Parent.SESSION,
    "the session that delegated to this one is gone",
    (
        optional("spawned_by", Kind.TEXT, "the delegating session"),
        optional("delegation_id", Kind.TEXT, "the delegation"),
    ),
)

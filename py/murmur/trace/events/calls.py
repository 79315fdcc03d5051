"""Tools, skills, commands, and what was refused. spec/observability.md 5.4 and 5.5."""

from typing import Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional
from murmur.trace.events.fields import DURATION, RESOURCE_LIMIT, STATUS, TASK, TRUST, TURN

TOOL_CALL: Final = Event(
    "tool_call",
    Parent.TURN,
    "a tool returned",
    (
        TURN,
        TASK,
        field("tool_name", Kind.TEXT, "model-visible name"),
        nullable("tool_call_id", Kind.TEXT, "the provider's id, verbatim"),
        field("input", Kind.FREE, "the call's input"),
        field("input_bytes", Kind.U64, "its size as compact JSON"),
        optional("output", Kind.TEXT, "under capture: content only"),
        field("output_bytes", Kind.U64, "fence included"),
        DURATION,
        STATUS,
        optional("state_effect", Kind.TEXT, "from the tool's metadata"),
        optional("resource_id", Kind.TEXT, "likewise"),
    ),
)


SKILL_CALL: Final = Event(
    "skill_call",
    Parent.TURN,
    "a skill's text was read; counted nowhere",
    (
        TURN,
        TASK,
        field("skill_name", Kind.TEXT, "model-visible name"),
        field("output_bytes", Kind.U64, "size of the text"),
        DURATION,
        STATUS,
        field("origin", Kind.TEXT, "who installed it", "operator", "runtime"),
        TRUST,
    ),
)


SHELL: Final = Event(
    "shell",
    Parent.TURN,
    "a command ended in the foreground; after its tool_call",
    (
        TURN,
        TASK,
        field("binary", Kind.TEXT, "resolved path, else the bare name"),
        field("command", Kind.FREE, "argument list, or the -c script"),
        field("exit_code", Kind.I32, "128 + signal for a killed one"),
        field("stdout_bytes", Kind.U64, "before any cut"),
        field("stderr_bytes", Kind.U64, "likewise"),
        DURATION,
        RESOURCE_LIMIT,
    ),
)


CALL_DENIED: Final = Event(
    "call_denied",
    Parent.TURN,
    "a policy hook refused a call",
    (
        TURN,
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
        TURN,
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
        TURN,
        field("tool_name", Kind.TEXT, "model-visible name"),
        nullable("tool_call_id", Kind.TEXT, "the provider's id, verbatim"),
        field("missing", Kind.TEXTS, "in the schema's order"),
        field("reason", Kind.TEXT, "the text the model reads"),
    ),
)

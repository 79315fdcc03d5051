"""Model calls and the credentials behind them. spec/observability.md 5.3 and 5.7.

Marked (infer) there and taken as recommended: `inference_retry`'s spellings,
`inference.driver_config` and `attempts`.
"""

from collections.abc import Mapping
from typing import Any, Final

from murmur.trace.catalogue import Event, Kind, Parent, field, nullable, optional
from murmur.trace.events.fields import ERROR_BYTES, ORIGIN, TASK, TURN


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
        TURN,
        TASK,
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
        ORIGIN,
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
        TURN,
        TASK,
        field("attempt", Kind.U32, "number of the failed attempt, from 1"),
        field("max_attempts", Kind.U32, "max_retries + 1"),
        optional("provider_status", Kind.U16, "HTTP status"),
        optional("reason", Kind.TEXT, "without a status", "connection", "driver"),
        field("wait_ms", Kind.U64, "before the next attempt"),
        ORIGIN,
    ),
    _one_reason_to_retry,
)


SPEND_CEILING_REACHED: Final = Event(
    "spend_ceiling_reached",
    Parent.TURN,
    "a call that does not fit under a ceiling was not sent",
    (
        TURN,
        TASK,
        field("limit", Kind.TEXT, "which ceiling", "session", "machine"),
        field("ceiling", Kind.U64, "its value"),
        field("used", Kind.U64, "spent or reserved before"),
        field("requested", Kind.U64, "input and largest output of the call"),
        ORIGIN,
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


TOOLS_REFRESHED: Final = Event(
    "tools_refreshed",
    Parent.TASK,
    "the list of tools sent to the model changed",
    (
        field("turn", Kind.U32, "the turn that is sent the new list"),
        nullable("task_id", Kind.TEXT, "the task the line belongs to"),
        field("trigger", Kind.TEXT, "when pulled tools join", "immediate", "compaction"),
        field("added", Kind.TEXTS, "names that joined, sorted"),
        field("removed", Kind.TEXTS, "names that left, sorted"),
        field("tools", Kind.TEXTS, "the whole list, sorted"),
    ),
)

"""OpenTelemetry spans of a session, made of the lines of its trace. spec/observability.md 12.

One task is one OTel trace with a root span of its own; a caller's trace id is not adopted, its span
id becomes the root's parent. The OTel SDK can neither post one span a request in this order nor
write these bodies, so the encoder is ours. A child's duration is the line's; a model call's is told
by who made it. A script capsule runs no task: its whole run is one, so that what it sends to other
capsules can be followed.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

SCOPE: Final = "murmur-capsule-runtime"
_COMMAND_CHARACTERS: Final = 200
_MILLISECOND: Final = 1_000_000
_HEX: Final = re.compile(r"[0-9a-fA-F]+")

_INFERENCE: Final = (
    "turn",
    "input_tokens",
    "output_tokens",
    "decision",
    "stop_reason",
    "tool_name",
    "input_tokens_actual",
    "output_tokens_actual",
    "cached_tokens",
    "cache_write_tokens",
    "thinking_tokens",
    "origin",
)
# Event -> span name and the attributes taken from the line, in order.
_CHILDREN: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "inference": ("capsule.inference", _INFERENCE),
    "tool_call": (
        "capsule.tool_call",
        ("tool_name", "input_bytes", "output_bytes", "duration_ms", "status"),
    ),
    "shell": ("capsule.shell", ("command", "exit_code", "duration_ms")),
    "compaction": ("capsule.compaction", ("tokens_before", "tokens_after")),
}


class Post(Protocol):
    """Sends one OTLP body; whatever happens to it is the sender's to log."""

    def __call__(self, body: Mapping[str, Any]) -> None: ...


@dataclass(slots=True)
class _Root:
    """The open task: its OTel ids, the caller's span, its start in Unix nanoseconds."""

    trace_id: str
    span_id: str
    parent: str | None
    start: int


class Spans:
    """Turns lines of a trace into spans and posts each, a task's root last.

    Lines come from the thread that writes them, one at a time.
    """

    def __init__(
        self,
        name: str,
        version: str,
        post: Post,
        *,
        script: bool = False,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._resource = {
            "attributes": [_attribute("service.name", name), _attribute("service.version", version)]
        }
        self._post = post
        self._script = script
        self._now = now
        self._callers: dict[str, str] = {}
        self._root: _Root | None = None

    @property
    def traceparent(self) -> str | None:
        """The header of requests that the running task makes; None between tasks."""
        root = self._root
        return None if root is None else f"00-{root.trace_id}-{root.span_id}-01"

    def observe(self, event: str, payload: Mapping[str, Any], call_ms: int) -> None:
        """One line as it was written; `call_ms` is how long the newest model call took."""
        if event == "a2a_task_received":
            parent = _caller_span(payload.get("traceparent_from_caller"))
            if parent is not None:
                self._callers[str(payload["task_id"])] = parent
        elif event == "task_start":
            self._begin(self._callers.pop(str(payload["task_id"]), None))
        elif event == "session_start" and self._script:
            self._begin(None)
        elif event == "task_end":
            self._end(str(payload["exit_status"]))
        elif event == "session_end":
            self._end(str(payload["exit_status"]))  # a task that was cut off without its own end
        elif event in _CHILDREN and self._root is not None:
            self._child(self._root, event, payload, call_ms)

    def _begin(self, parent: str | None) -> None:
        self._root = _Root(secrets.token_hex(16), secrets.token_hex(8), parent, self._now())

    def _child(self, root: _Root, event: str, payload: Mapping[str, Any], call_ms: int) -> None:
        name, keys = _CHILDREN[event]
        values = {key: payload[key] for key in keys if payload.get(key) is not None}
        if "origin" in payload and "model" in payload:
            values["model"] = payload["model"]
        if event == "shell":
            values["command"] = _command(payload["command"])[:_COMMAND_CHARACTERS]
        end = self._now()
        took = {"inference": call_ms, "compaction": 1}.get(event, payload.get("duration_ms", 0))
        self._send(
            root.trace_id,
            secrets.token_hex(8),
            root.span_id,
            name,
            (end - took * _MILLISECOND, end),
            values,
        )

    def _end(self, exit_status: str) -> None:
        root, self._root = self._root, None
        if root is not None:
            times = root.start, self._now()
            values = {"exit_status": exit_status}
            self._send(root.trace_id, root.span_id, root.parent, "capsule.session", times, values)

    def _send(
        self,
        trace_id: str,
        span_id: str,
        parent: str | None,
        name: str,
        times: tuple[int, int],
        values: Mapping[str, Any],
    ) -> None:
        span = {
            "traceId": trace_id,
            "spanId": span_id,
            **({} if parent is None else {"parentSpanId": parent}),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(times[0]),
            "endTimeUnixNano": str(times[1]),
            "attributes": [_attribute(key, value) for key, value in values.items()],
            "status": {"code": 1},
        }
        scope = {"scope": {"name": SCOPE}, "spans": [span]}
        self._post({"resourceSpans": [{"resource": self._resource, "scopeSpans": [scope]}]})


def _attribute(key: str, value: object) -> dict[str, Any]:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"stringValue": str(value)}}


def _command(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _caller_span(header: object) -> str | None:
    """The span id of a `traceparent`; None for what is none. spec/observability.md 12.3."""
    if not isinstance(header, str):
        return None
    parts = header.strip().split("-")
    if len(parts) != 4 or (len(parts[1]), len(parts[2])) != (32, 16):
        return None
    if not (_HEX.fullmatch(parts[1]) and _HEX.fullmatch(parts[2])):
        return None
    return parts[2]

"""What a driver answers, checked. spec/artifacts.md 11.3, 11.4; spec/observability.md 5.3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from murmur.core.foreign_json import read_json
from murmur.guest.calls import GuestFailure, GuestResult, ToolResult

ErrorCode = Literal[
    "credential_rejected", "driver_error", "driver_failed", "malformed_response", "canceled"
]
_USAGE: Final = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "thinking_tokens",
)
_KNOWN_STOPS: Final = ("end_turn", "tool_call", "max_tokens")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asks for; `input` is its arguments."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """A driver's answer. `content` is its blocks verbatim, `raw` its JSON text.

    `stop_reason` may be a word that the loop cannot act on: see `problem`.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    raw: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The `text` blocks, one a line."""
        return "\n".join(str(block["text"]) for block in self.content if block["type"] == "text")

    @property
    def continuation_id(self) -> str | None:
        """The driver's `continuation_id`: the first non-empty one of its metadata."""
        found = (value for key, value in self.metadata if key == "continuation_id" and value)
        return next(found, None)

    @property
    def decision(self) -> Literal["tool_call", "end_turn", "text"]:
        """The `decision` of the trace and of `on-inference`."""
        if self.stop_reason == "tool_call":
            return "tool_call"
        return "end_turn" if self.stop_reason == "end_turn" else "text"

    @property
    def problem(self) -> str | None:
        """Why the loop cannot act on this answer, or None."""
        if self.stop_reason not in _KNOWN_STOPS:
            return f"unsupported stop_reason={self.stop_reason}"
        if self.stop_reason == "tool_call" and not self.tool_calls:
            return "response stop_reason=tool_call but no tool_call blocks were present"
        return None

    def usage_record(self) -> dict[str, int]:
        """The provider's counts under the names of the `inference` trace line."""
        actual = ("input_tokens", "output_tokens")
        return {
            f"{name}_actual" if name in actual else name: count
            for name, count in self.usage.items()
        }


@dataclass(frozen=True, slots=True)
class TurnFailure:
    """A call without an answer. `guest` is set when the component itself did not return."""

    error_code: ErrorCode
    error: str
    guest: GuestFailure | None = None


class _Malformed(Exception):
    pass


def read_reply(result: GuestResult) -> Turn | TurnFailure:
    """The turn in what the guest returned, or what is wrong with it. Never raises."""
    if isinstance(result, GuestFailure):
        code: ErrorCode = "canceled" if result.kind == "cancelled" else "driver_failed"
        return TurnFailure(code, result.message, result)
    try:
        response = _response(result.data)
    except _Malformed as bad:
        if result.status != "passed":
            return TurnFailure("driver_error", _reason(result, None))
        return TurnFailure("malformed_response", f"the driver's response {bad}")
    if result.status != "passed" or response.get("stop_reason") == "error":
        return TurnFailure("driver_error", _reason(result, response))
    try:
        return _turn(response, result)
    except _Malformed as bad:
        return TurnFailure("malformed_response", f"the driver's response {bad}")


def _reason(result: ToolResult, response: Mapping[str, Any] | None) -> str:
    told = response.get("error") if response else None
    if isinstance(told, str) and told.strip():
        return told
    plain = result.data if response is None else None
    return (result.summary or plain or "").strip() or "the driver reported an error without a text"


def _response(data: str | None) -> dict[str, Any]:
    if not data:
        raise _Malformed("is empty")
    try:
        value = read_json(data)
    except ValueError:
        raise _Malformed("is not JSON") from None
    if not isinstance(value, dict):
        raise _Malformed("is no JSON object")
    return value


def _turn(response: Mapping[str, Any], result: ToolResult) -> Turn:
    stop = response.get("stop_reason")
    if not isinstance(stop, str):
        raise _Malformed("has no stop_reason")
    content = response.get("content")
    if not isinstance(content, list):
        raise _Malformed("has no content list")
    calls = []
    for index, block in enumerate(content):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise _Malformed(f"has no block at content[{index}]")
        if block["type"] in ("text", "thinking") and not isinstance(block.get("text"), str):
            raise _Malformed(f"has a {block['type']} block without text at content[{index}]")
        if block["type"] == "tool_call":
            calls.append(_call(block, index))
    return Turn(
        content=tuple(content),
        stop_reason=stop,
        raw=result.data or "",
        tool_calls=tuple(calls),
        usage=read_usage(response.get("usage")),
        metadata=result.metadata,
    )


def _call(block: Mapping[str, Any], index: int) -> ToolCall:
    identifier, name, arguments = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(identifier, str) or not isinstance(name, str) or not name:
        raise _Malformed(f"has a tool_call without id or name at content[{index}]")
    if not isinstance(arguments, dict):
        raise _Malformed(f"has a tool_call whose input is no object at content[{index}]")
    return ToolCall(identifier, name, arguments)


def read_usage(value: object) -> dict[str, int]:
    """The usable members of a `usage`; malformed parts are dropped, absent ones stay absent."""
    if not isinstance(value, dict):
        return {}
    return {
        name: value[name]
        for name in _USAGE
        if isinstance(value.get(name), int)
        and not isinstance(value[name], bool)
        and value[name] >= 0
    }

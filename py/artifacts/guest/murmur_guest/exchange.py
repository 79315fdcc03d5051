"""The JSON between the runtime and an HTTP driver: spec/artifacts.md 11.1 to 11.3.

`read_request` turns `tool-input.data` into a `Request`; `Answer.to_json` gives what belongs into
`tool-result.data`. A driver raises `DriverError` to answer with `stop_reason: error`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Block = dict[str, Any]

STOP_REASONS = ("end_turn", "tool_call", "max_tokens", "error")
USAGE_MEMBERS = (
    *("input_tokens", "output_tokens"),
    *("cached_tokens", "cache_write_tokens", "thinking_tokens"),
)


class DriverError(Exception):
    """The turn's `error`: its text reaches the task's failure as it is."""


class NoAnswer(DriverError):
    """No response to a request, or one that broke off; `words` say why, for who is no driver."""

    def __init__(self, words: str, *, began: bool = False) -> None:
        said = "the provider's answer broke off" if began else "no answer from the provider"
        super().__init__(f"driver: {said}: {words}" if words else f"driver: {said}")
        self.words = words or said


class Progress(Protocol):
    """What a driver may report while it works (`murmur:stream/events`)."""

    def text(self, chunk: str) -> None:
        """A piece of the answer."""

    def thinking(self, chunk: str) -> None:
        """A piece of the reasoning."""

    def tool_call_started(self, call_id: str, name: str) -> None:
        """A call whose input is still to come."""

    def tool_call_input_bytes(self, call_id: str, size: int) -> None:
        """UTF-8 size of the call's input JSON so far."""


class Silence:
    """Reports nothing: for an answer that came whole, where nothing was streamed."""

    def text(self, chunk: str) -> None:
        """Not reported."""

    def thinking(self, chunk: str) -> None:
        """Not reported."""

    def tool_call_started(self, call_id: str, name: str) -> None:
        """Not reported."""

    def tool_call_input_bytes(self, call_id: str, size: int) -> None:
        """Not reported."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history; `tool_call_id` and `is_error` belong to role `tool`."""

    role: str
    content: tuple[Block, ...]
    tool_call_id: str | None = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """Its text blocks, joined by line ends."""
        return "\n".join(text_of(block) for block in self.content if block["type"] == "text")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """One tool of the inventory."""

    name: str
    parameters: Mapping[str, Any]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the driver. `system` is None when it would be blank."""

    model: str
    max_tokens: int
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    system: str | None = None
    prompt_cache_key: str | None = None
    continuation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One response of the driver; `error` goes with `stop_reason` "error" and nothing else."""

    stop_reason: str
    content: tuple[Block, ...] = ()
    error: str | None = None
    usage: Mapping[str, int] | None = None
    continuation_id: str | None = None

    def to_json(self) -> str:
        """Compact JSON for `tool-result.data`."""
        answer: dict[str, Any] = {"stop_reason": self.stop_reason, "content": list(self.content)}
        if self.error is not None:
            answer["error"] = self.error
        if self.usage is not None:
            answer["usage"] = dict(self.usage)
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def failure(text: str, usage: Mapping[str, int] | None = None) -> Answer:
    """The answer of a turn that failed."""
    return Answer("error", error=text, usage=usage)


def text_block(text: str) -> Block:
    """A `text` block."""
    return {"type": "text", "text": text}


def thinking_block(text: str, signature: str = "") -> Block:
    """A `thinking` block; only one with a signature can be replayed to a provider that signs."""
    return {"type": "thinking", "text": text, "signature": signature}


def tool_call_block(call_id: str, name: str, arguments: Mapping[str, Any]) -> Block:
    """A `tool_call` block."""
    return {"type": "tool_call", "id": call_id, "name": name, "input": dict(arguments)}


def text_of(block: Block) -> str:
    """The `text` member of a block, empty when it has none."""
    value = block.get("text")
    return value if isinstance(value, str) else ""


def counted(members: Mapping[str, object]) -> dict[str, int] | None:
    """The usage members that are non-negative integers; None when none is."""
    usage = {
        name: value
        for name, value in members.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0
    }
    return usage or None


def read_request(data: str | None) -> Request:
    """Parse a driver's input. Raises DriverError naming the member that is missing or wrong."""
    if data is None:
        raise DriverError("driver: no request was given")
    try:
        value = json.loads(data)
    except ValueError as problem:
        raise DriverError(f"driver: the request is not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise DriverError("driver: the request is not a JSON object")
    return Request(
        model=_string(value, "model"),
        max_tokens=_count(value, "max_tokens"),
        messages=tuple(_message(entry, i) for i, entry in enumerate(_list(value, "messages"))),
        tools=tuple(_tool(entry, i) for i, entry in enumerate(_list(value, "tools", []))),
        params=_params(value),
        system=_optional(value, "system"),
        prompt_cache_key=_optional(value, "prompt_cache_key"),
        continuation_id=_optional(value, "continuation_id"),
    )


def read_config(environment: Mapping[str, str], variable: str) -> dict[str, Any]:
    """The JSON object in an environment variable, empty when the variable is unset or blank."""
    text = environment.get(variable, "")
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        raise DriverError(f"driver: {variable} is not JSON") from None
    if not isinstance(value, dict):
        raise DriverError(f"driver: {variable} is not a JSON object")
    return value


def endpoint(environment: Mapping[str, str], path: str) -> str:
    """The provider's address with `path` appended (spec/artifacts.md 11.6)."""
    value = environment.get("MURMUR_INFERENCE_ENDPOINT")
    if value is None:
        raise DriverError("driver: missing MURMUR_INFERENCE_ENDPOINT")
    if not value.strip():
        raise DriverError("driver: MURMUR_INFERENCE_ENDPOINT is set but empty")
    return value.strip().rstrip("/") + path


def _message(value: object, index: int) -> Message:
    if not isinstance(value, dict):
        raise DriverError(f"driver: messages[{index}] is not an object")
    role = value.get("role")
    if role not in ("user", "assistant", "tool"):
        raise DriverError(f"driver: messages[{index}].role is not user, assistant or tool")
    content = value.get("content")
    if not isinstance(content, list):
        raise DriverError(f"driver: messages[{index}].content is not an array")
    blocks = tuple(b for b in content if isinstance(b, dict) and isinstance(b.get("type"), str))
    call = value.get("tool_call_id")
    if role == "tool" and not (isinstance(call, str) and call):
        raise DriverError(f"driver: messages[{index}].tool_call_id is missing")
    return Message(
        role=role,
        content=blocks,
        tool_call_id=call if role == "tool" else None,
        is_error=value.get("is_error") is True,
    )


def _tool(value: object, index: int) -> ToolOffer:
    if not isinstance(value, dict):
        raise DriverError(f"driver: tools[{index}] is not an object")
    name, parameters = value.get("name"), value.get("parameters")
    if not isinstance(name, str) or not name:
        raise DriverError(f"driver: tools[{index}].name is missing")
    if not isinstance(parameters, dict):
        parameters = {"type": "object", "properties": {}}
    return ToolOffer(name, parameters, _optional(value, "description"))


def _params(value: dict[str, Any]) -> dict[str, Any]:
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise DriverError("driver: params is not an object")
    return params


def _string(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise DriverError(f"driver: {key} is missing")
    return text


def _optional(value: dict[str, Any], key: str) -> str | None:
    text = value.get(key)
    return text if isinstance(text, str) and text.strip() else None


def _count(value: dict[str, Any], key: str) -> int:
    number = value.get(key)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise DriverError(f"driver: {key} is not a positive integer")
    return number


def _list(value: dict[str, Any], key: str, default: list[Any] | None = None) -> list[Any]:
    items = value.get(key, default)
    if not isinstance(items, list):
        raise DriverError(f"driver: {key} is not an array")
    return items

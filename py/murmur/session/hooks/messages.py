"""Messages across the boundary of a hook: blocks travel as JSON text, tool messages in a wrapper.

spec/artifacts.md 15.5; spec/sessions.md 17.3. A message here is the session's own: `role`,
`content` as a list of blocks, `id`, and the envelope of spec/sessions.md 18.2.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

Message = dict[str, Any]

_MARK: Final = "__murmur_tool_msg__"


def to_hook(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as a hook gets it, under the names of the interface."""
    content: object = message["content"]
    if message["role"] == "tool":
        content = {
            _MARK: True,
            "tool_call_id": message["tool_call_id"],
            "is_error": bool(message.get("is_error")),
            "body": content,
        }
    return {
        "role": message["role"],
        "content": _json(content),
        "id": message.get("id"),
        "source-id": message.get("source_id"),
        "inserted-by": message.get("inserted_by"),
    }


def from_hook(
    returned: Sequence[Mapping[str, str]], known: Sequence[Mapping[str, Any]]
) -> list[Message]:
    """The messages that a hook gave back, in order; a tool message without its wrapper is dropped.

    `known` are those that it was given: one that comes back as it went keeps its id and whatever
    else it had, any other is a new message, without an id.
    """
    before = {str(message["id"]): message for message in known if message.get("id")}
    found: list[Message] = []
    for each in returned:
        message = _read(each)
        if message is None:
            continue
        old = before.pop(each.get("id", ""), None)
        if old is not None and all(old.get(key) == value for key, value in message.items()):
            found.append(dict(old))
            continue
        if each.get("source-id"):
            message["source_id"] = each["source-id"]
        found.append(message)
    return found


def _read(each: Mapping[str, str]) -> Message | None:
    if each["role"] == "tool":
        return _unwrapped(each["content"])
    return {"role": each["role"], "content": blocks(each["content"])}


def _unwrapped(content: str) -> Message | None:
    """The tool message inside a wrapper that survived; None for any other text."""
    value = _parsed(content)
    if not isinstance(value, dict) or value.get(_MARK) is not True:
        return None
    identifier, body = value.get("tool_call_id"), value.get("body")
    if not isinstance(identifier, str) or not identifier or not _is_blocks(body):
        return None
    return {
        "role": "tool",
        "tool_call_id": identifier,
        "is_error": value.get("is_error") is True,
        "content": body,
    }


def blocks(content: str) -> list[dict[str, Any]]:
    """Content blocks: a JSON list of them verbatim, a JSON string or any other text as one."""
    value = _parsed(content)
    if _is_blocks(value):
        return list(value)
    return [{"type": "text", "text": value if isinstance(value, str) else content}]


def _is_blocks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in value
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def paired(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the calls in assistant messages are the very calls that tool messages answer."""
    asked = {
        block.get("id")
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("type") == "tool_call"
    }
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    return asked == answered


def summary_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text blocks of messages that are no tool's, one a line. spec/sessions.md 17.4."""
    return "\n".join(
        str(block["text"])
        for message in messages
        if message["role"] != "tool"
        for block in message["content"]
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    )

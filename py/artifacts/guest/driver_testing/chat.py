"""Chat Completions as a provider writes it: chunks, and what a driver sends of `HISTORY`."""

from __future__ import annotations

import json

from driver_testing.provider import URL, Json, user


def stream(*events: Json, done: bool = True) -> bytes:
    """Events as a body, closed by `[DONE]`."""
    sent = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    return sent + (b"data: [DONE]\n\n" if done else b"")


def delta(finish: str | None = None, **members: object) -> Json:
    """One chunk."""
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def part(arguments: str, index: int = 0, **members: object) -> Json:
    """A piece of a tool call; the one with an id names the tool."""
    function = {"arguments": arguments, **({"name": "x"} if members else {})}
    return {"index": index, "function": function, **members}


def called(call_id: str, arguments: str) -> Json:
    """A tool call of the history."""
    function = {"name": "x", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def history(**reasoning: str) -> list[Json]:
    """`HISTORY` in the words of Chat Completions, `reasoning` being a member of its call."""
    image = {"type": "image_url", "image_url": {"url": URL}}
    calls = [called("c1", '{"é":1}'), called("c2", "{}")]
    said = {"role": "assistant", "content": "calling", **reasoning, "tool_calls": calls}
    return [
        user({"type": "text", "text": "go"}, image),
        said,
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        user(image),
    ]


OFFERED = [
    {
        "type": "function",
        "function": {"name": "a", "parameters": {"type": "object"}, "description": "A"},
    },
    {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}},
]
"""`TOOLS` in the words of Chat Completions."""

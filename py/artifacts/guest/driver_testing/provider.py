"""A provider without a network, and progress written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_guest.exchange import Answer, Progress, Request, read_request
from murmur_guest.provider import Post, Response

Json = dict[str, Any]
Driver = Callable[[Request, Mapping[str, str], Progress, Post], Answer]


@dataclass
class Seen:
    """Progress, written down."""

    events: list[tuple[object, ...]] = field(default_factory=list)

    def text(self, chunk: str) -> None:
        self.events.append(("text", chunk))

    def thinking(self, chunk: str) -> None:
        self.events.append(("thinking", chunk))

    def tool_call_started(self, call_id: str, name: str) -> None:
        self.events.append(("started", call_id, name))

    def tool_call_input_bytes(self, call_id: str, size: int) -> None:
        self.events.append(("bytes", call_id, size))


@dataclass
class Provider:
    """Answers with a body, and keeps what was asked."""

    body: bytes
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: Json = field(default_factory=dict)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        self.url, self.headers, self.asked = url, headers, json.loads(body)
        return Response(200, iter([self.body]))


def ask(
    driver: Driver,
    provider: Provider,
    model: str,
    *,
    endpoint: str = "http://127.0.0.1:9/v1",
    seen: Seen | None = None,
    config: Json | None = None,
    **members: Any,
) -> Answer:
    """One call of a driver: "hi" with a cap of 50 tokens where `members` say nothing else."""
    request = {"model": model, "max_tokens": 50, "messages": [user(text("hi"))], **members}
    environment = {"MURMUR_INFERENCE_ENDPOINT": endpoint}
    if config is not None:
        environment["MURMUR_INFERENCE_DRIVER_CONFIG"] = json.dumps(config)
    return driver(read_request(json.dumps(request)), environment, seen or Seen(), provider.post)


def user(*blocks: Json) -> Json:
    """A message of the user."""
    return {"role": "user", "content": list(blocks)}


def text(value: str) -> Json:
    """A text block."""
    return {"type": "text", "text": value}


URL = "data:image/png;base64,aGk="
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
}
HISTORY = [
    user(text("go"), IMAGE),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": "hm", "signature": "s"},
            text("calling"),
            {"type": "tool_call", "id": "c1", "name": "x", "input": {"é": 1}},
            {"type": "tool_call", "id": "c2", "name": "x", "input": {}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "is_error": False, "content": [text("one"), IMAGE]},
    {"role": "tool", "tool_call_id": "c2", "is_error": True, "content": [text("two")]},
]
"""A turn with an image, thinking, two calls and their results, one of them an image."""

TOOLS = [
    {"name": "a", "parameters": {"type": "object"}, "description": "A"},
    {"name": "b", "parameters": {"type": "object"}},
]

"""The request that a driver gets. spec/artifacts.md 11.1, 11.2 and 11.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from murmur.inference.tokens import count_tokens
from murmur.trace.content import canonical

Message = Mapping[str, Any]
IMAGE_TOKENS: Final = 1600
"""What an image is counted as: about the most that a provider charges for one."""

_MEMBERS: Final = ("role", "tool_call_id", "is_error", "content")


@dataclass(frozen=True, slots=True)
class Continuation:
    """A driver's promise to remember: under `id` it knows the context's first `known` messages."""

    id: str
    context_id: str
    known: int


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One model call. `messages` is the whole history; bookkeeping keys in it are dropped."""

    model: str
    max_tokens: int
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    system: str = ""
    prompt_cache_key: str = ""
    context_id: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    continuation: Continuation | None = None

    def payload(self) -> str:
        """The JSON text for `tool-input.data`: only what a held continuation does not know."""
        held = self.held_continuation()
        if held is None:
            return self.full_payload()
        return _compact({**self.members(held.known), "continuation_id": held.id})

    def full_payload(self) -> str:
        """The JSON text with every message, which tokens are counted over."""
        return _compact(self.members())

    def held_continuation(self) -> Continuation | None:
        """The continuation, when it is of this context and within this history."""
        held = self.continuation
        if held is None or held.context_id != self.context_id or not held.id:
            return None
        return held if 0 <= held.known < len(self.messages) else None

    def input_tokens(self) -> int:
        """Tokens of the full request, whatever a continuation saves. spec/artifacts.md 11.4.

        An image counts `IMAGE_TOKENS`, not the tokens of its base64.
        """
        members = self.members()
        bare = [without_images(message) for message in members["messages"]]
        images = sum(count for _, count in bare)
        if not images:
            return count_tokens(_compact(members))
        counted = count_tokens(_compact({**members, "messages": [each for each, _ in bare]}))
        return counted + images * IMAGE_TOKENS

    def members(self, known: int = 0) -> dict[str, Any]:
        """The request as data, without its first `known` messages and without a continuation."""
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [wire_message(message) for message in self.messages[known:]],
            "tools": [dict(tool) for tool in self.tools],
            "params": dict(self.params),
            "system": self.system,
            "prompt_cache_key": self.prompt_cache_key,
        }


def without_images(message: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """A message with the bytes of its images left out, and how many there were."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    count = sum(1 for block in blocks if block.get("type") == "image")
    if not count:
        return message, 0
    bare = [
        {**block, "source": {**block.get("source", {}), "data": ""}}
        if block.get("type") == "image"
        else block
        for block in blocks
    ]
    return {**message, "content": bare}, count


def wire_message(message: Message) -> dict[str, Any]:
    """The message without the envelope that only records keep. spec/sessions.md 18.2."""
    return {key: message[key] for key in _MEMBERS if key in message}


def cache_key(capsule: str, version: str, context_id: str | None) -> str:
    """`prompt_cache_key`: the same for every turn of a task."""
    return f"{capsule}:{version}:{context_id}" if context_id else f"{capsule}:{version}"


def _compact(members: Mapping[str, Any]) -> str:
    """The request as canonical JSON, so that what the trace hashes of it is a substring of it.

    spec/observability.md 6.
    """
    return canonical(members).decode("utf-8")

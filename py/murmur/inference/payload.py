"""The request that a driver gets. spec/artifacts.md 11.1, 11.2 and 11.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from murmur.inference.pieces import Message, Piece, Pieces, count_request, wire_message
from murmur.trace.content import canonical

_MESSAGES: Final = "messages"


@dataclass(frozen=True, slots=True)
class Continuation:
    """A driver's promise to remember: under `id` it knows the context's first `known` messages."""

    id: str
    context_id: str
    known: int


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One model call. `messages` is the whole history; bookkeeping keys in it are dropped.

    Requests that share their `pieces` do the work on a message that they share once.
    """

    model: str
    max_tokens: int
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    system: str = ""
    prompt_cache_key: str = ""
    context_id: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    continuation: Continuation | None = None
    pieces: Pieces = field(default_factory=Pieces, compare=False, repr=False)

    def payload(self) -> str:
        """The JSON text for `tool-input.data`: only what a held continuation does not know."""
        held = self.held_continuation()
        if held is None:
            return self.full_payload()
        return self._serialized(self.sent(), {"continuation_id": held.id})

    def full_payload(self) -> str:
        """The JSON text with every message, which tokens are counted over."""
        return self._serialized(self.pieces.of(self.messages))

    def sent(self) -> list[Piece]:
        """The messages that the payload holds: those that a held continuation does not know."""
        held = self.held_continuation()
        return self.pieces.of(self.messages)[held.known if held is not None else 0 :]

    def messages_text(self) -> str:
        """The JSON text of every message."""
        return _listed(self.pieces.of(self.messages))

    def held_continuation(self) -> Continuation | None:
        """The continuation, when it is of this context and within this history."""
        held = self.continuation
        if held is None or held.context_id != self.context_id or not held.id:
            return None
        return held if 0 <= held.known < len(self.messages) else None

    def input_tokens(self) -> int:
        """Tokens of the full request, whatever a continuation saves. spec/artifacts.md 11.4.

        Those of `full_payload`, but for an image, which counts `IMAGE_TOKENS`.
        """
        before, after = self._around({})
        return count_request(before, self.pieces.of(self.messages), after)

    def _serialized(self, pieces: Sequence[Piece], more: Mapping[str, Any] | None = None) -> str:
        before, after = self._around(more or {})
        return f"{before[:-1]}{_listed(pieces)}{after[1:]}"

    def _around(self, more: Mapping[str, Any]) -> tuple[str, str]:
        """The canonical JSON before the messages, with their `[`, and after them, with their `]`.

        So that what the trace hashes of a request is a substring of it. spec/observability.md 6.
        """
        members = {**self.members(len(self.messages)), **more}
        first = {key: value for key, value in members.items() if key < _MESSAGES}
        last = {key: value for key, value in members.items() if key > _MESSAGES}
        before, after = canonical(first).decode(), canonical(last).decode()
        return f'{before[:-1]},"{_MESSAGES}":[', f"],{after[1:]}"

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


def cache_key(capsule: str, version: str, context_id: str | None) -> str:
    """`prompt_cache_key`: the same for every turn of a task."""
    return f"{capsule}:{version}:{context_id}" if context_id else f"{capsule}:{version}"


def _listed(pieces: Sequence[Piece]) -> str:
    return f"[{','.join([piece.hashed.text for piece in pieces])}]"

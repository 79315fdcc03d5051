"""A request's messages, each serialized, hashed and counted once however often it is sent.

A context only grows at its end, so a turn would repeat all this work of the turn before it. Counts
of parts add up to the count of the whole only where the tokenizer itself would have cut: it splits
a text at its pattern first, and between two marks and the letters after them there is always a
split. Every message begins `{"content"` (keys are sorted), every rest of a request `,"model"`: the
cuts are made there. spec/artifacts.md 11.4, spec/observability.md 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from murmur.inference.tokens import adds_up, count_tokens
from murmur.trace.content import Hashed, canonical

Message = Mapping[str, Any]
IMAGE_TOKENS: Final = 1600
"""What an image is counted as: about the most that a provider charges for one."""

_MEMBERS: Final = ("role", "tool_call_id", "is_error", "content")
_OPENING: Final = '{"'


@dataclass(slots=True)
class Piece:
    """One message as requests hold it; `counted` is its text without the bytes of its images."""

    hashed: Hashed
    counted: str
    images: int
    _tokens: int | None = None

    @property
    def tokens_between(self) -> int:
        """Tokens from the message's first letter to that of the message after it."""
        if self._tokens is None:
            self._tokens = count_tokens(f"{self.counted[len(_OPENING) :]},{_OPENING}")
        return self._tokens


class Pieces:
    """The pieces of the messages that were last asked for, found by the message itself.

    A message is never changed once it is in a context. Not for several threads at once.
    """

    def __init__(self) -> None:
        # The message is held beside its piece: its identity is its own while it is alive only.
        self._held: dict[int, tuple[Message, Piece]] = {}
        self._last: tuple[Sequence[Message], list[Piece]] = ((), [])

    def of(self, messages: Sequence[Message]) -> list[Piece]:
        """One piece a message, in their order."""
        asked, found = self._last
        if asked is messages and isinstance(messages, tuple):
            return found
        held: dict[int, tuple[Message, Piece]] = {}
        known = self._held
        for message in messages:
            key = id(message)
            held[key] = known.get(key) or (message, _piece(message))
        found = [held[id(message)][1] for message in messages]
        self._held, self._last = held, (messages, found)
        return found


def count_request(before: str, pieces: Sequence[Piece], after: str) -> int:
    """Tokens of a request: the text up to its messages, theirs, and the text that follows them.

    `before` ends with the list's `[` and `after` begins with its `]`. An image counts
    `IMAGE_TOKENS`, not the tokens of its base64.
    """
    images = IMAGE_TOKENS * sum(piece.images for piece in pieces)
    cut = '],"'
    if not pieces or not adds_up() or not after.startswith(f'{cut}model"'):
        return images + count_tokens(before + ",".join(piece.counted for piece in pieces) + after)
    *others, last = pieces
    return (
        images
        + count_tokens(before + _OPENING)
        + sum(piece.tokens_between for piece in others)
        + count_tokens(last.counted[len(_OPENING) :] + cut)
        + count_tokens(after[len(cut) :])
    )


def wire_message(message: Message) -> dict[str, Any]:
    """The message without the envelope that only records keep. spec/sessions.md 18.2."""
    return {key: message[key] for key in _MEMBERS if key in message}


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


def _piece(message: Message) -> Piece:
    """Raises ValueError for a message without content: its text would not begin as all others."""
    if "content" not in message:
        raise ValueError("a message has no content")
    wire = wire_message(message)
    hashed = Hashed.of(wire)
    bare, images = without_images(wire)
    counted = canonical(bare).decode("utf-8") if images else hashed.text
    return Piece(hashed, counted, images)

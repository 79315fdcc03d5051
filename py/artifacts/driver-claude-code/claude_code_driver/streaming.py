"""The pieces of a message, from `stream_event` lines: the provider's own streaming events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from murmur_guest.untyped import mapping
from murmur_harness.contract import (
    Event,
    TextDelta,
    ThinkingDelta,
    ToolCallProgress,
    ToolCallStarted,
)
from murmur_harness.lines import count, text

# Frames around the pieces: nothing that the whole message does not say again.
FRAMES = (
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
)


class Streamed:
    """The calls that are being written, by their place in the message."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, int]] = {}

    def events(self, frame: Mapping[str, Any], bare: Callable[[str], str]) -> list[Event] | None:
        """What a frame adds; None for one of no known kind. `bare` strips a tool's prefix."""
        kind = frame.get("type")
        index = count(frame.get("index"))
        if kind == "message_start":
            self._calls.clear()
        elif kind == "content_block_start" and index is not None:
            return self._begun(index, mapping(frame.get("content_block")), bare)
        elif kind == "content_block_delta":
            return self._piece(index, mapping(frame.get("delta")))
        return [] if kind in FRAMES else None

    def _begun(
        self, index: int, block: Mapping[str, Any], bare: Callable[[str], str]
    ) -> list[Event]:
        call, name = text(block.get("id")), text(block.get("name"))
        if block.get("type") != "tool_use" or not call or not name:
            return []
        self._calls[index] = (call, 0)
        return [ToolCallStarted(call, bare(name))]

    def _piece(self, index: int | None, delta: Mapping[str, Any]) -> list[Event]:
        kind = delta.get("type")
        if kind == "text_delta":
            said = text(delta.get("text"))
            return [TextDelta(said)] if said else []
        if kind == "thinking_delta":
            thought = text(delta.get("thinking"))
            return [ThinkingDelta(thought)] if thought else []
        piece = text(delta.get("partial_json"))
        if kind != "input_json_delta" or index not in self._calls or not piece:
            return []
        call, size = self._calls[index]
        size += len(piece.encode())
        self._calls[index] = (call, size)
        return [ToolCallProgress(call, size)]

"""A Messages API answer, streamed or whole, as a driver answer.

A stream that ends without its stop signal is never taken for finished (spec/artifacts.md 11.6).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_guest.exchange import (
    Answer,
    Block,
    DriverError,
    Progress,
    Silence,
    counted,
    failure,
    text_block,
    thinking_block,
    tool_call_block,
)
from murmur_guest.tool_calls import Call, arguments_of, cut_off
from murmur_guest.untyped import mapping, string

STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_call",
    "max_tokens": "max_tokens",
}
USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


@dataclass(slots=True)
class Piece:
    """One content block while it grows; `given` is what a tool call's input began as."""

    kind: str
    text: list[str] = field(default_factory=list)
    signature: str = ""
    call: Call = field(default_factory=Call)
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Turn:
    """What has arrived of one answer."""

    pieces: dict[int, Piece] = field(default_factory=dict)
    stop_reason: str | None = None
    stopped: bool = False
    usage: dict[str, object] = field(default_factory=dict)


def from_events(events: Iterable[Mapping[str, Any]], cap: int, progress: Progress) -> Answer:
    """Follow a stream to its end; `cap` is the turn's output cap, for messages."""
    turn = Turn()
    for event in events:
        _take(turn, event, progress)
        if turn.stopped:
            break
    if not turn.stopped:
        raise DriverError("driver: the Anthropic stream ended before its message_stop")
    return _finish(turn, cap)


def from_message(message: Mapping[str, Any], cap: int) -> Answer:
    """An answer that came whole."""
    if message.get("type") == "error":
        raise _error(message)
    turn = Turn(stop_reason=message.get("stop_reason"), stopped=True)
    _count(turn, message.get("usage"))
    content = message.get("content")
    if not isinstance(content, list):
        raise DriverError("driver: the Anthropic answer has no content")
    for index, block in enumerate(content):
        _begin(turn, index, block, Silence())
    return _finish(turn, cap)


def _take(turn: Turn, event: Mapping[str, Any], progress: Progress) -> None:
    kind = event.get("type")
    if kind == "error":
        raise _error(event)
    if kind == "message_start":
        _count(turn, mapping(event.get("message")).get("usage"))
    elif kind == "content_block_start":
        _begin(turn, _index(event), event.get("content_block"), progress)
    elif kind == "content_block_delta":
        _grow(turn, _index(event), mapping(event.get("delta")), progress)
    elif kind == "message_delta":
        reason = mapping(event.get("delta")).get("stop_reason")
        turn.stop_reason = reason if isinstance(reason, str) else turn.stop_reason
        _count(turn, event.get("usage"))
    elif kind == "message_stop":
        turn.stopped = True


def _begin(turn: Turn, index: int, value: object, progress: Progress) -> None:
    block = mapping(value)
    piece = Piece(kind=str(block.get("type")))
    turn.pieces[index] = piece
    if piece.kind == "text":
        _add_text(piece, block.get("text"), progress)
    elif piece.kind == "thinking":
        _add_thinking(piece, block.get("thinking"), progress)
        piece.signature = string(block.get("signature"))
    elif piece.kind == "tool_use":
        piece.call = Call(string(block.get("id")), string(block.get("name")))
        piece.given = mapping(block.get("input"))
        if not piece.call.call_id or not piece.call.name:
            raise DriverError("driver: an Anthropic tool_use block has no id or name")
        piece.call.announce(progress)


def _grow(turn: Turn, index: int, delta: Mapping[str, Any], progress: Progress) -> None:
    piece = turn.pieces.get(index)
    if piece is None:
        raise DriverError("driver: an Anthropic delta belongs to no content block")
    kind = delta.get("type")
    if kind == "text_delta":
        _add_text(piece, delta.get("text"), progress)
    elif kind == "thinking_delta":
        _add_thinking(piece, delta.get("thinking"), progress)
    elif kind == "signature_delta":
        piece.signature += string(delta.get("signature"))
    elif kind == "input_json_delta":
        piece.call.grow(string(delta.get("partial_json")), progress)


def _add_text(piece: Piece, value: object, progress: Progress) -> None:
    text = string(value)
    if text:
        piece.text.append(text)
        progress.text(text)


def _add_thinking(piece: Piece, value: object, progress: Progress) -> None:
    text = string(value)
    if text:
        piece.text.append(text)
        progress.thinking(text)


def _finish(turn: Turn, cap: int) -> Answer:
    usage = counted(turn.usage)
    reason = turn.stop_reason
    if reason is None:
        return failure("driver: the Anthropic answer has no stop_reason", usage)
    if reason == "refusal":
        return failure("Anthropic response refused", usage)
    if reason not in STOPS:
        return failure(f'driver: unknown Anthropic stop_reason "{reason}"', usage)
    pieces = [turn.pieces[index] for index in sorted(turn.pieces)]
    calls = [piece for piece in pieces if piece.kind == "tool_use"]
    if reason == "max_tokens" and calls:
        return failure(cut_off(calls[-1].call.name, cap), usage)
    content: list[Block] = []
    for piece in pieces:
        if piece.kind == "text" and piece.text:
            content.append(text_block("".join(piece.text)))
        elif piece.kind == "thinking" and (piece.text or piece.signature):
            content.append(thinking_block("".join(piece.text), piece.signature))
        elif piece.kind == "tool_use":
            call, written = piece.call, "".join(piece.call.arguments)
            given = arguments_of(call.name, written) if written.strip() else piece.given
            content.append(tool_call_block(call.call_id, call.name, given))
    return Answer(STOPS[reason], tuple(content), usage=usage)


def _count(turn: Turn, usage: object) -> None:
    for theirs, ours in USAGE.items():
        value = mapping(usage).get(theirs)
        if value is not None:
            turn.usage[ours] = value
    thought = mapping(mapping(usage).get("output_tokens_details")).get("thinking_tokens")
    if thought is not None:
        turn.usage["thinking_tokens"] = thought


def _error(event: Mapping[str, Any]) -> DriverError:
    error = mapping(event.get("error"))
    kind, message = string(error.get("type")), string(error.get("message"))
    return DriverError(f"Anthropic error: {kind or 'unknown'}: {message}")


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise DriverError("driver: an Anthropic event has no index")
    return index

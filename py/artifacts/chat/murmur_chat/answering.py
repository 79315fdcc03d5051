"""A Chat Completions answer, in chunks or whole, as a driver answer.

A stream that ends without its finish reason is never taken for finished (spec/artifacts.md 11.6).
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
from murmur_guest.untyped import items, mapping, string

from murmur_chat.dialect import Dialect

STOPS = {"stop": "end_turn", "tool_calls": "tool_call", "length": "max_tokens"}


@dataclass(slots=True)
class Turn:
    """What has arrived of one answer; `cap` is the turn's output cap, for messages."""

    dialect: Dialect
    cap: int
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)
    finish: str | None = None
    usage: dict[str, int] | None = None


def from_chunks(
    chunks: Iterable[Mapping[str, Any]], cap: int, dialect: Dialect, progress: Progress
) -> Answer:
    """Follow a stream to its end."""
    turn = Turn(dialect, cap)
    for chunk in chunks:
        if chunk.get("error"):
            raise provider_error(dialect.provider, chunk["error"])
        for choice in items(chunk.get("choices")):
            _take(turn, mapping(choice.get("delta")), progress)
            turn.finish = string(choice.get("finish_reason")) or turn.finish
            turn.usage = _usage(choice.get("usage")) or turn.usage
        turn.usage = _usage(chunk.get("usage")) or turn.usage
    return _finish(turn)


def from_completion(completion: Mapping[str, Any], cap: int, dialect: Dialect) -> Answer:
    """An answer that came whole."""
    if completion.get("error"):
        raise provider_error(dialect.provider, completion["error"])
    choices = items(completion.get("choices"))
    if not choices:
        raise DriverError(f"driver: the {dialect.provider} answer has no choices")
    turn = Turn(dialect, cap, usage=_usage(completion.get("usage")))
    message = dict(mapping(choices[0].get("message")))
    calls = items(message.get("tool_calls"))
    message["tool_calls"] = [{**call, "index": index} for index, call in enumerate(calls)]
    _take(turn, message, Silence())
    turn.finish = string(choices[0].get("finish_reason")) or None
    return _finish(turn)


def provider_error(provider: str, value: object) -> DriverError:
    """A provider's error object in words."""
    error = mapping(value)
    kind = string(error.get("type")) or string(error.get("code")) or "unknown"
    return DriverError(f"{provider} error: {kind}: {string(error.get('message'))}")


def refused(provider: str, said: str) -> str:
    """The error of an answer that the provider refused, with what it said of it."""
    return f"{provider} response refused" + (f": {said}" if said else "")


def _take(turn: Turn, delta: Mapping[str, Any], progress: Progress) -> None:
    thinking = string(delta.get("reasoning_content"))
    if thinking:
        turn.thinking.append(thinking)
        progress.thinking(thinking)
    text = string(delta.get("content"))
    if text:
        turn.text.append(text)
        progress.text(text)
    turn.refusal.append(string(delta.get("refusal")))
    for part in items(delta.get("tool_calls")):
        index = part.get("index")
        if not isinstance(index, int):
            raise DriverError(f"driver: a tool call of {turn.dialect.provider} has no index")
        call = turn.calls.setdefault(index, Call())
        function = mapping(part.get("function"))
        call.call_id = string(part.get("id")) or call.call_id
        call.name = string(function.get("name")) or call.name
        call.announce(progress)
        call.grow(string(function.get("arguments")), progress)


def _finish(turn: Turn) -> Answer:
    provider, finish = turn.dialect.provider, turn.finish
    refusal = "".join(turn.refusal)
    if refusal or finish == "content_filter":
        return failure(refused(provider, refusal), turn.usage)
    if finish is None:
        return failure(f"driver: the {provider} stream ended before its finish_reason", turn.usage)
    if finish in turn.dialect.interruptions:
        return failure(f"{provider} error: {turn.dialect.interruptions[finish]}", turn.usage)
    if finish not in STOPS:
        return failure(f'driver: unknown {provider} finish_reason "{finish}"', turn.usage)
    calls = [turn.calls[index] for index in sorted(turn.calls)]
    if finish == "length" and calls:
        return failure(cut_off(calls[-1].name, turn.cap), turn.usage)
    content: list[Block] = []
    if turn.thinking:
        content.append(thinking_block("".join(turn.thinking)))
    if turn.text:
        content.append(text_block("".join(turn.text)))
    for call in calls:
        if not call.call_id or not call.name:
            raise DriverError(f"driver: a tool call of {provider} has no id or name")
        arguments = arguments_of(call.name, "".join(call.arguments))
        content.append(tool_call_block(call.call_id, call.name, arguments))
    # Some servers behind this API close a turn with calls by "stop"; the calls are what counts.
    stop = "tool_call" if calls else STOPS[finish]
    return Answer(stop, tuple(content), usage=turn.usage)


def _usage(value: object) -> dict[str, int] | None:
    """The counts. Providers differ in where they say what came from their cache."""
    usage = mapping(value)
    thought = mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")
    places = (
        mapping(usage.get("prompt_tokens_details")).get("cached_tokens"),
        usage.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
    )
    return counted(
        {
            "input_tokens": usage.get("prompt_tokens"),
            "output_tokens": usage.get("completion_tokens"),
            "cached_tokens": next((each for each in places if each is not None), None),
            "thinking_tokens": thought,
        }
    )

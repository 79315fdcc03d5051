"""Chat Completions: the body for a request, and an answer out of chunks or one object."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_guest.exchange import (
    Answer,
    Block,
    DriverError,
    Message,
    Progress,
    Request,
    Silence,
    counted,
    failure,
    text_block,
    thinking_block,
    tool_call_block,
)

from openai_driver.calls import (
    Call,
    arguments_of,
    blocks,
    compact,
    cut_off,
    data_url,
    items,
    mapping,
    provider_error,
    string,
)
from openai_driver.settings import Settings, is_o_series

PATH = "/chat/completions"
STOPS = {"stop": "end_turn", "tool_calls": "tool_call", "length": "max_tokens"}


@dataclass(slots=True)
class Turn:
    """What has arrived of one answer."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)
    finish: str | None = None
    usage: dict[str, int] | None = None


def body(request: Request, settings: Settings) -> dict[str, Any]:
    """The body to send. Only the o-series knows the cap by its newer name."""
    cap = "max_completion_tokens" if is_o_series(request.model) else "max_tokens"
    sent: dict[str, Any] = {
        "model": request.model,
        cap: request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": _messages(request),
    }
    if request.tools:
        sent["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "parameters": dict(tool.parameters)}
                | ({"description": tool.description} if tool.description else {}),
            }
            for tool in request.tools
        ]
    optional = {
        "prompt_cache_key": request.prompt_cache_key,
        "reasoning_effort": settings.reasoning_effort,
        "verbosity": settings.verbosity,
        "store": True if settings.store else None,
    }
    sent |= {key: value for key, value in optional.items() if value is not None}
    for key, value in request.params.items():
        sent.setdefault(key, value)
    return sent


def from_chunks(chunks: Iterable[Mapping[str, Any]], cap: int, progress: Progress) -> Answer:
    """Follow a stream to its end; `cap` is the turn's output cap, for messages."""
    turn = Turn()
    for chunk in chunks:
        if chunk.get("error"):
            raise provider_error(chunk["error"])
        if chunk.get("usage"):
            turn.usage = _usage(chunk["usage"])
        for choice in items(chunk.get("choices")):
            _take(turn, mapping(choice.get("delta")), progress)
            turn.finish = string(choice.get("finish_reason")) or turn.finish
    return _finish(turn, cap)


def from_completion(completion: Mapping[str, Any], cap: int) -> Answer:
    """An answer that came whole."""
    if completion.get("error"):
        raise provider_error(completion["error"])
    choices = items(completion.get("choices"))
    if not choices:
        raise DriverError("driver: the OpenAI answer has no choices")
    turn = Turn(usage=_usage(completion.get("usage")))
    message = dict(mapping(choices[0].get("message")))
    calls = items(message.get("tool_calls"))
    message["tool_calls"] = [{**call, "index": index} for index, call in enumerate(calls)]
    _take(turn, message, Silence())
    turn.finish = string(choices[0].get("finish_reason")) or None
    return _finish(turn, cap)


def _take(turn: Turn, delta: Mapping[str, Any], progress: Progress) -> None:
    text = string(delta.get("content"))
    if text:
        turn.text.append(text)
        progress.text(text)
    thinking = string(delta.get("reasoning_content"))
    if thinking:
        turn.thinking.append(thinking)
        progress.thinking(thinking)
    turn.refusal.append(string(delta.get("refusal")))
    for part in items(delta.get("tool_calls")):
        index = part.get("index")
        if not isinstance(index, int):
            raise DriverError("driver: an OpenAI tool call has no index")
        call = turn.calls.setdefault(index, Call())
        function = mapping(part.get("function"))
        call.call_id = string(part.get("id")) or call.call_id
        call.name = string(function.get("name")) or call.name
        call.announce(progress)
        call.grow(string(function.get("arguments")), progress)


def _finish(turn: Turn, cap: int) -> Answer:
    refusal = "".join(turn.refusal)
    if refusal or turn.finish == "content_filter":
        return failure("OpenAI response refused" + (f": {refusal}" if refusal else ""), turn.usage)
    if turn.finish is None:
        return failure("driver: the OpenAI stream ended before its finish_reason", turn.usage)
    if turn.finish not in STOPS:
        return failure(f'driver: unknown OpenAI finish_reason "{turn.finish}"', turn.usage)
    calls = [turn.calls[index] for index in sorted(turn.calls)]
    if turn.finish == "length" and calls:
        return failure(cut_off(calls[-1].name, cap), turn.usage)
    content: list[Block] = []
    if turn.thinking:
        content.append(thinking_block("".join(turn.thinking)))
    if turn.text:
        content.append(text_block("".join(turn.text)))
    for call in calls:
        if not call.call_id or not call.name:
            raise DriverError("driver: an OpenAI tool call has no id or name")
        arguments = arguments_of(call.name, "".join(call.arguments))
        content.append(tool_call_block(call.call_id, call.name, arguments))
    # Some servers behind this API close a turn with calls by "stop"; the calls are what counts.
    stop = "tool_call" if calls else STOPS[turn.finish]
    return Answer(stop, tuple(content), usage=turn.usage)


def _usage(value: object) -> dict[str, int] | None:
    usage = mapping(value)
    details = mapping(usage.get("prompt_tokens_details"))
    return counted(
        {
            "input_tokens": usage.get("prompt_tokens"),
            "output_tokens": usage.get("completion_tokens"),
            "cached_tokens": details.get("cached_tokens"),
        }
    )


def _messages(request: Request) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    if request.system is not None:
        sent.append({"role": "system", "content": request.system})
    shown: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role == "tool":
            call = {"role": "tool", "tool_call_id": message.tool_call_id}
            sent.append({**call, "content": message.text})
            # A tool message holds text only; its images follow once all results were given.
            shown += _images(message)
            continue
        if shown:
            sent.append({"role": "user", "content": shown})
            shown = []
        converted = _assistant(message) if message.role == "assistant" else _user(message)
        if converted is not None:
            sent.append(converted)
    if shown:
        sent.append({"role": "user", "content": shown})
    return sent


def _user(message: Message) -> dict[str, Any] | None:
    images = _images(message)
    if not images:
        return {"role": "user", "content": message.text} if message.text else None
    texts = [{"type": "text", "text": block["text"]} for block in blocks(message, "text")]
    return {"role": "user", "content": texts + images}


def _images(message: Message) -> list[dict[str, Any]]:
    urls = [data_url(block) for block in blocks(message, "image")]
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if url is not None]


def _assistant(message: Message) -> dict[str, Any] | None:
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {
                "name": block.get("name"),
                "arguments": compact(block.get("input", {})),
            },
        }
        for block in blocks(message, "tool_call")
    ]
    if not calls and not message.text:
        return None
    sent: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        sent["tool_calls"] = calls
    return sent

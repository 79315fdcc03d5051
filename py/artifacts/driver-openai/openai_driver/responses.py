"""Responses: the body for a request, and an answer out of events or one object.

With `store: true` the provider keeps the conversation: the response's id is handed back as the
continuation, and the next request names it as the previous response (spec/artifacts.md 11.5).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from murmur_chat.answering import provider_error, refused
from murmur_chat.asking import data_url
from murmur_guest.exchange import (
    Answer,
    Block,
    DriverError,
    Message,
    Progress,
    Request,
    counted,
    failure,
    text_block,
    thinking_block,
    tool_call_block,
)
from murmur_guest.tool_calls import Call, arguments_of, cut_off
from murmur_guest.untyped import compact, items, mapping, string

from openai_driver.settings import PROVIDER, Settings

PATH = "/responses"
DELTAS = {
    "response.output_text.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.function_call_arguments.delta": "arguments",
}
TERMINAL = ("response.completed", "response.incomplete", "response.failed")


@dataclass(slots=True)
class Turn:
    """What has arrived of one answer: items as they were finished, and calls by their item id."""

    calls: dict[str, Call] = field(default_factory=dict)
    finished: dict[int, Mapping[str, Any]] = field(default_factory=dict)


def body(request: Request, settings: Settings) -> dict[str, Any]:
    """The body to send."""
    sent: dict[str, Any] = {
        "model": request.model,
        "max_output_tokens": request.max_tokens,
        "stream": True,
        "store": settings.store,
        "input": [item for message in request.messages for item in _items(message)],
    }
    if request.system is not None:
        sent["instructions"] = request.system
    if request.tools:
        sent["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            | ({"description": tool.description} if tool.description else {})
            for tool in request.tools
        ]
    if request.prompt_cache_key is not None:
        sent["prompt_cache_key"] = request.prompt_cache_key
    if request.continuation_id is not None:
        sent["previous_response_id"] = request.continuation_id
    reasoning = {"effort": settings.reasoning_effort} if settings.reasoning_effort else {}
    if settings.thinking:
        reasoning["summary"] = "auto"
    if reasoning:
        sent["reasoning"] = reasoning
    if settings.verbosity is not None:
        sent["text"] = {"verbosity": settings.verbosity}
    for key, value in request.params.items():
        sent.setdefault(key, value)
    return sent


def from_events(
    events: Iterable[Mapping[str, Any]], cap: int, settings: Settings, progress: Progress
) -> Answer:
    """Follow a stream to its terminal event; `cap` is the turn's output cap, for messages."""
    turn = Turn()
    for event in events:
        kind = event.get("type")
        if kind == "error" or "error" in event:
            error = event.get("error") or {**event, "type": event.get("code")}
            raise provider_error(PROVIDER, error)
        if kind in TERMINAL:
            response = dict(mapping(event.get("response")))
            if not response.get("output"):
                response["output"] = [turn.finished[index] for index in sorted(turn.finished)]
            return from_response(response, cap, settings)
        _take(turn, event, progress)
    raise DriverError("driver: the OpenAI stream ended before its terminal event")


def from_response(response: Mapping[str, Any], cap: int, settings: Settings) -> Answer:
    """A finished response object."""
    usage = _usage(response.get("usage"))
    status = response.get("status")
    if response.get("error"):
        raise provider_error(PROVIDER, response["error"])
    if status not in ("completed", "incomplete"):
        return failure(f'driver: unknown OpenAI response status "{string(status)}"', usage)
    output = items(response.get("output"))
    reason = string(mapping(response.get("incomplete_details")).get("reason"))
    refusal = "".join(part for item in output for part in _parts(item, "refusal"))
    if refusal or reason == "content_filter":
        return failure(refused(PROVIDER, refusal), usage)
    calls = [item for item in output if item.get("type") == "function_call"]
    if status == "incomplete":
        if reason != "max_output_tokens":
            return failure(f'driver: unknown OpenAI incomplete reason "{reason}"', usage)
        if calls:
            return failure(cut_off(string(calls[-1].get("name")), cap), usage)
        return Answer("max_tokens", _content(output), usage=usage)
    held = string(response.get("id")) if settings.store else ""
    stop = "tool_call" if calls else "end_turn"
    return Answer(stop, _content(output), usage=usage, continuation_id=held or None)


def _take(turn: Turn, event: Mapping[str, Any], progress: Progress) -> None:
    kind = string(event.get("type"))
    item = mapping(event.get("item"))
    if kind == "response.output_item.added" and item.get("type") == "function_call":
        call = Call(call_id=string(item.get("call_id")), name=string(item.get("name")))
        turn.calls[string(item.get("id"))] = call
        call.announce(progress)
    elif kind == "response.output_item.done":
        index = event.get("output_index")
        turn.finished[index if isinstance(index, int) else len(turn.finished)] = item
    elif kind in DELTAS:
        part = string(event.get("delta"))
        if DELTAS[kind] == "text":
            progress.text(part)
        elif DELTAS[kind] == "thinking":
            progress.thinking(part)
        elif string(event.get("item_id")) in turn.calls:
            turn.calls[string(event.get("item_id"))].grow(part, progress)


def _content(output: list[Mapping[str, Any]]) -> tuple[Block, ...]:
    content: list[Block] = []
    for item in output:
        kind = item.get("type")
        if kind == "message":
            content += [text_block(text) for text in _parts(item, "text") if text]
        elif kind == "reasoning":
            summary = [string(part.get("text")) for part in items(item.get("summary"))]
            if any(summary):
                content.append(thinking_block("\n\n".join(summary)))
        elif kind == "function_call":
            call_id, name = string(item.get("call_id")), string(item.get("name"))
            if not call_id or not name:
                raise DriverError("driver: an OpenAI function call has no call_id or name")
            arguments = arguments_of(name, string(item.get("arguments")))
            content.append(tool_call_block(call_id, name, arguments))
    return tuple(content)


def _parts(item: Mapping[str, Any], member: str) -> list[str]:
    """`text` or `refusal` of a message item's parts."""
    parts = items(item.get("content")) if item.get("type") == "message" else []
    return [string(part.get(member)) for part in parts if part.get(member)]


def _usage(value: object) -> dict[str, int] | None:
    usage = mapping(value)
    cached = mapping(usage.get("input_tokens_details")).get("cached_tokens")
    thought = mapping(usage.get("output_tokens_details")).get("reasoning_tokens")
    return counted(
        {
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
            "cached_tokens": cached,
            "thinking_tokens": thought,
        }
    )


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [_result(message)]
    if message.role == "user":
        parts = _input_parts(message)
        return [{"role": "user", "content": parts}] if parts else []
    said: list[dict[str, Any]] = []
    for block in message.content:
        if block["type"] == "text" and block.get("text"):
            part = {"type": "output_text", "text": block["text"]}
            said.append({"role": "assistant", "content": [part]})
        elif block["type"] == "tool_call":
            call = {"call_id": block.get("id"), "name": block.get("name")}
            arguments = compact(block.get("input", {}))
            said.append({"type": "function_call", **call, "arguments": arguments})
    return said


def _result(message: Message) -> dict[str, Any]:
    parts = _input_parts(message)
    only_text = all(part["type"] == "input_text" for part in parts)
    output: object = message.text if only_text else parts
    return {"type": "function_call_output", "call_id": message.tool_call_id, "output": output}


def _input_parts(message: Message) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if block["type"] == "text" and block.get("text"):
            parts.append({"type": "input_text", "text": block["text"]})
        elif block["type"] == "image":
            url = data_url(block)
            if url is not None:
                parts.append({"type": "input_image", "image_url": url})
    return parts

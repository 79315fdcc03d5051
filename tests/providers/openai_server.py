"""A server that speaks OpenAI's Chat Completions and Responses APIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.providers.scripted import Event, Scripted, SeenRequest, Server, Turn, calls_of, pieces
from tests.providers.scripted import start as start_server


def start(script: Sequence[Scripted], key: str | None = None) -> Server:
    """Serve `script`; `server.url` ends in `/v1`, the key header is `authorization: Bearer`."""
    return start_server(_OpenAi(), "/v1", script, key)


class _OpenAi:
    named_events = False
    done: str | None = "[DONE]"

    def handles(self, path: str) -> bool:
        return path in ("/v1/chat/completions", "/v1/responses")

    def key_of(self, headers: Mapping[str, str]) -> str | None:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else None

    def error(self, kind: str, message: str) -> Event:
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def whole(self, turn: Turn, request: SeenRequest) -> Event:
        if request.path == "/v1/responses":
            return _response(turn, request)
        calls = _chat_calls(turn, request)
        message = {"role": "assistant", "content": turn.get("text"), "refusal": None}
        if calls:
            message["tool_calls"] = calls
        if "thinking" in turn:
            message["reasoning_content"] = turn["thinking"]
        choice = {"index": 0, "message": message, "finish_reason": _finish(turn)}
        base = _chat_base(request, "chat.completion")
        return {**base, "choices": [choice], "usage": _chat_usage(turn)}

    def events(self, turn: Turn, request: SeenRequest) -> Iterator[Event]:
        if request.path == "/v1/responses":
            return _response_events(turn, request)
        return _chat_events(turn, request)


def _chat_base(request: SeenRequest, kind: str) -> Event:
    model = request.body.get("model")
    return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": model}


def _chat_events(turn: Turn, request: SeenRequest) -> Iterator[Event]:
    base = _chat_base(request, "chat.completion.chunk")
    options = request.body.get("stream_options") or {}
    counted = {"usage": None} if options.get("include_usage") else {}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**base, "choices": [choice], **counted}

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in pieces(turn.get("thinking", ""), turn):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(turn.get("text", ""), turn):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(turn, request)):
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": index, **call}]})
        for piece in pieces(arguments, turn):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    finish = _finish(turn)
    if finish is not None:
        yield chunk({}, finish)
    if options.get("include_usage"):
        yield {**base, "choices": [], "usage": _chat_usage(turn)}


def _chat_calls(turn: Turn, request: SeenRequest) -> list[dict[str, Any]]:
    calls = calls_of(turn, len(request.body.get("messages", ())), "call_")
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]


def _finish(turn: Turn) -> str | None:
    finish: str | None = turn.get("stop", "tool_calls" if turn.get("tool_calls") else "stop")
    return finish


def _chat_usage(turn: Turn) -> dict[str, Any]:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {**usage, **turn.get("usage", {})}


def _response_events(turn: Turn, request: SeenRequest) -> Iterator[Event]:
    final = _response(turn, request)
    begun = {**final, "status": "in_progress", "output": [], "usage": None}
    number = 0

    def event(kind: str, **members: Any) -> Event:
        nonlocal number
        number += 1
        return {"type": kind, "sequence_number": number - 1, **members}

    yield event("response.created", response=begun)
    for index, item in enumerate(final["output"]):
        place = {"item_id": item["id"], "output_index": index}
        yield event("response.output_item.added", output_index=index, item=_begun(item))
        if item["type"] == "message":
            part = {**place, "content_index": 0}
            for piece in pieces(item["content"][0]["text"], turn):
                yield event("response.output_text.delta", **part, delta=piece)
        elif item["type"] == "reasoning":
            for piece in pieces(item["summary"][0]["text"], turn):
                yield event(
                    "response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece
                )
        else:
            for piece in pieces(item["arguments"], turn):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            arguments = item["arguments"]
            yield event("response.function_call_arguments.done", **place, arguments=arguments)
        yield event("response.output_item.done", output_index=index, item=item)
    if final["status"] is not None:
        yield event(f"response.{final['status']}", response=final)


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    blank = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    return {key: blank.get(key, value) for key, value in item.items()}


def _response(turn: Turn, request: SeenRequest) -> Event:
    output: list[dict[str, Any]] = []
    if "thinking" in turn:
        summary = [{"type": "summary_text", "text": turn["thinking"]}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if "text" in turn:
        content = [{"type": "output_text", "text": turn["text"], "annotations": []}]
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
        output.append({**message, "status": "completed"})
    size = len(request.body.get("input", ()))
    for call_id, name, arguments in calls_of(turn, size, "call_"):
        call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
        output.append({**call, "arguments": arguments, "status": "completed"})
    status = turn.get("stop", "completed")
    reason = {"reason": "max_output_tokens"} if status == "incomplete" else None
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **turn.get("usage", {})}
    return {
        "id": f"resp_{size}",
        "object": "response",
        "model": request.body.get("model"),
        "status": status,
        "incomplete_details": reason,
        "error": None,
        "output": output,
        "usage": usage,
    }

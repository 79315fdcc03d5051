"""A server that speaks OpenAI's Chat Completions and Responses APIs."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.providers.chat_format import Chat
from tests.providers.scripted import Event, Scripted, SeenRequest, Server, Turn, calls_of, pieces
from tests.providers.scripted import start as start_server

RESPONSES = "/v1/responses"


def start(
    script: Sequence[Scripted], key: str | None = None, tls: ssl.SSLContext | None = None
) -> Server:
    """Serve `script`; `server.url` ends in `/v1`, the key header is `authorization: Bearer`."""
    return start_server(_OpenAi(), "/v1", script, key, tls)


class _OpenAi(Chat):
    path = "/v1/chat/completions"

    def handles(self, path: str) -> bool:
        return path in (self.path, RESPONSES)

    def whole(self, turn: Turn, request: SeenRequest) -> Event:
        return (
            _response(turn, request) if request.path == RESPONSES else super().whole(turn, request)
        )

    def events(self, turn: Turn, request: SeenRequest) -> Iterator[Event]:
        if request.path == RESPONSES:
            return _response_events(turn, request)
        return super().events(turn, request)


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
            kind, said = _said(item)
            for piece in pieces(said, turn):
                yield event(f"response.{kind}.delta", **part, delta=piece)
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


def _said(item: Mapping[str, Any]) -> tuple[str, str]:
    """How a message item's text is streamed, and the text."""
    part = item["content"][0]
    if part["type"] == "refusal":
        return "refusal", part["refusal"]
    return "output_text", part["text"]


def _response(turn: Turn, request: SeenRequest) -> Event:
    output: list[dict[str, Any]] = []
    if "thinking" in turn:
        summary = [{"type": "summary_text", "text": turn["thinking"]}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if "text" in turn or "refuse" in turn:
        content: list[dict[str, Any]] = [{"type": "refusal", "refusal": turn.get("refuse")}]
        if "text" in turn:
            content = [{"type": "output_text", "text": turn["text"], "annotations": []}]
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
        output.append({**message, "status": "completed"})
    size = len(request.body.get("input", ()))
    for call_id, name, arguments in calls_of(turn, size, "call_"):
        call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
        if "namespace" in turn:
            call["namespace"] = turn["namespace"]
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

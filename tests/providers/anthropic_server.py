"""A server that speaks Anthropic's Messages API."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.providers.scripted import Event, SeenRequest, Server, Turn, calls_of, pieces
from tests.providers.scripted import start as start_server


def start(
    script: Sequence[Turn], key: str | None = None, tls: ssl.SSLContext | None = None
) -> Server:
    """Serve `script`; the endpoint for a gateway is `server.url`, the key header `x-api-key`."""
    return start_server(_Messages(), "", script, key, tls)


class _Messages:
    named_events = True
    done: str | None = None

    def handles(self, path: str) -> bool:
        return path.partition("?")[0] == "/v1/messages"

    def key_of(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-api-key")

    def error(self, kind: str, message: str) -> Event:
        return {"type": "error", "error": {"type": kind, "message": message}}

    def problem(self, body: Mapping[str, Any]) -> str | None:
        return None

    def whole(self, turn: Turn, request: SeenRequest) -> Event:
        message = self._message(turn, request)
        message["content"] = [
            block if block["type"] != "tool_use" else {**block, "input": json.loads(arguments)}
            for block, arguments in self._blocks(turn, request)
        ]
        message["stop_reason"] = _stop(turn)
        message["usage"] = {"input_tokens": 11, "output_tokens": 7, **turn.get("usage", {})}
        return message

    def events(self, turn: Turn, request: SeenRequest) -> Iterator[Event]:
        usage = {"input_tokens": 11, "output_tokens": 1, **turn.get("usage", {})}
        message = {**self._message(turn, request), "usage": {**usage, "output_tokens": 1}}
        yield {"type": "message_start", "message": message}
        yield {"type": "ping"}
        for index, (block, arguments) in enumerate(self._blocks(turn, request)):
            yield {"type": "content_block_start", "index": index, "content_block": _empty(block)}
            for delta in _deltas(block, arguments, turn):
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        stop = _stop(turn)
        if stop is not None:
            output = turn.get("usage", {}).get("output_tokens", 7)
            delta = {"stop_reason": stop, "stop_sequence": None}
            yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}
        yield {"type": "message_stop"}

    def _message(self, turn: Turn, request: SeenRequest) -> Event:
        answered = sum(1 for m in request.body.get("messages", ()) if m.get("role") == "assistant")
        return {
            "id": f"msg_{answered}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _blocks(self, turn: Turn, request: SeenRequest) -> list[tuple[dict[str, Any], str]]:
        blocks: list[tuple[dict[str, Any], str]] = []
        if "thinking" in turn:
            thinking = {"type": "thinking", "thinking": turn["thinking"], "signature": "c2ln"}
            blocks.append((thinking, ""))
        if "text" in turn:
            blocks.append(({"type": "text", "text": turn["text"]}, ""))
        for call_id, name, arguments in calls_of(
            turn, len(request.body.get("messages", ())), "toolu_"
        ):
            blocks.append(
                ({"type": "tool_use", "id": call_id, "name": name, "input": {}}, arguments)
            )
        return blocks


def _stop(turn: Turn) -> str | None:
    if "refuse" in turn:
        return "refusal"
    stop: str | None = turn.get("stop", "tool_use" if turn.get("tool_calls") else "end_turn")
    return stop


def _empty(block: Mapping[str, Any]) -> dict[str, Any]:
    blank = {"text": "", "thinking": "", "signature": ""}
    return {key: blank.get(key, value) for key, value in block.items()}


def _deltas(block: Mapping[str, Any], arguments: str, turn: Turn) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        for piece in pieces(block["text"], turn):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "thinking":
        for piece in pieces(block["thinking"], turn):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in pieces(arguments, turn):
            yield {"type": "input_json_delta", "partial_json": piece}

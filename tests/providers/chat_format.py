"""Chat Completions as the servers of several providers speak it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.providers.scripted import Event, SeenRequest, Turn, calls_of, pieces


class Chat:
    """OpenAI's own; a provider's server says what is different."""

    named_events = False
    done: str | None = "[DONE]"
    path = "/chat/completions"

    def handles(self, path: str) -> bool:
        return path == self.path

    def key_of(self, headers: Mapping[str, str]) -> str | None:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else None

    def error(self, kind: str, message: str) -> Event:
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def problem(self, body: Mapping[str, Any]) -> str | None:
        return None

    def usage(self, turn: Turn) -> dict[str, Any]:
        """The provider's usage object."""
        counts = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        return {**counts, **turn.get("usage", {})}

    def refusal(self, turn: Turn) -> tuple[dict[str, Any], str]:
        """How a turn is declined: members of the message, and the finish reason."""
        return {"refusal": turn["refuse"]}, "stop"

    def whole(self, turn: Turn, request: SeenRequest) -> Event:
        calls = _calls(turn, request)
        message = {"role": "assistant", "content": turn.get("text"), "refusal": None}
        if calls:
            message["tool_calls"] = calls
        if "thinking" in turn:
            message["reasoning_content"] = turn["thinking"]
        choice = {"index": 0, "message": message, "finish_reason": _finish(turn)}
        return {**_base(request, "chat.completion"), "choices": [choice], "usage": self.usage(turn)}

    def events(self, turn: Turn, request: SeenRequest) -> Iterator[Event]:
        base = _base(request, "chat.completion.chunk")
        options = request.body.get("stream_options") or {}
        counted = {"usage": None} if options.get("include_usage") else {}

        def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return {**base, "choices": [choice], **counted}

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in pieces(turn.get("thinking", ""), turn):
            yield chunk({"content": None, "reasoning_content": piece})
        for piece in pieces(turn.get("text", ""), turn):
            yield chunk({"content": piece})
        for index, call in enumerate(_calls(turn, request)):
            arguments = call["function"]["arguments"]
            call["function"]["arguments"] = ""
            yield chunk({"tool_calls": [{"index": index, **call}]})
            for piece in pieces(arguments, turn):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        finish = _finish(turn)
        if "refuse" in turn:
            said, finish = self.refusal(turn)
            yield chunk(said)
        if finish is not None:
            yield chunk({}, finish)
        if options.get("include_usage"):
            yield {**base, "choices": [], "usage": self.usage(turn)}


def calls_without_reasoning(body: Mapping[str, Any]) -> list[int]:
    """The messages with tool calls that lack their `reasoning_content`."""
    return [
        index
        for index, message in enumerate(body.get("messages", ()))
        if message.get("tool_calls") and not message.get("reasoning_content")
    ]


def _base(request: SeenRequest, kind: str) -> Event:
    model = request.body.get("model")
    return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": model}


def _calls(turn: Turn, request: SeenRequest) -> list[dict[str, Any]]:
    calls = calls_of(turn, len(request.body.get("messages", ())), "call_")
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]


def _finish(turn: Turn) -> str | None:
    finish: str | None = turn.get("stop", "tool_calls" if turn.get("tool_calls") else "stop")
    return finish

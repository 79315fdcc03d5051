"""A server that speaks Moonshot's Chat Completions, its refusals of a history included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.providers.chat_format import Chat, calls_without_reasoning
from tests.providers.scripted import Event, Scripted, SeenRequest, Server, Turn
from tests.providers.scripted import start as start_server

KNOWN = {
    *("model", "messages", "max_completion_tokens", "reasoning_effort", "response_format", "stop"),
    *("stream", "stream_options", "tools", "tool_choice", "prompt_cache_key", "thinking"),
}


def start(script: Sequence[Scripted], key: str | None = None) -> Server:
    """Serve `script`; `server.url` ends in `/v1`, the key header is `authorization: Bearer`."""
    return start_server(_Moonshot(), "/v1", script, key)


class _Moonshot(Chat):
    path = "/v1/chat/completions"

    def problem(self, body: Mapping[str, Any]) -> str | None:
        if set(body) - KNOWN:
            return f"the test's server knows no {sorted(set(body) - KNOWN)}"
        lacking = calls_without_reasoning(body)
        if lacking:
            return (
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {lacking[0]}"
            )
        return None

    def refusal(self, turn: Turn) -> tuple[dict[str, Any], str]:
        return {"content": ""}, "content_filter"

    def events(self, turn: Turn, request: SeenRequest) -> Iterator[Event]:
        """The counts stand in the last choice as well."""
        for event in super().events(turn, request):
            for choice in event["choices"]:
                if choice["finish_reason"] is not None:
                    choice["usage"] = self.usage(turn)
            yield event

"""A server that speaks DeepSeek's Chat Completions, its refusals of a history included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.providers.chat_format import Chat, calls_without_reasoning
from tests.providers.scripted import Scripted, Server, Turn
from tests.providers.scripted import start as start_server

KNOWN = {
    *("model", "messages", "thinking", "reasoning_effort", "max_tokens", "response_format", "stop"),
    *("stream", "stream_options", "temperature", "top_p", "tools", "tool_choice", "logprobs"),
}


def start(script: Sequence[Scripted], key: str | None = None) -> Server:
    """Serve `script`; `server.url` has no path, the key header is `authorization: Bearer`."""
    return start_server(_DeepSeek(), "", script, key)


class _DeepSeek(Chat):
    def problem(self, body: Mapping[str, Any]) -> str | None:
        if set(body) - KNOWN:
            return f"the test's server knows no {sorted(set(body) - KNOWN)}"
        thinks = (body.get("thinking") or {}).get("type", "enabled") == "enabled"
        if thinks and calls_without_reasoning(body):
            return "The `reasoning_content` in the thinking mode must be passed back to the API."
        return None

    def usage(self, turn: Turn) -> dict[str, Any]:
        hit = turn.get("usage", {}).get("prompt_cache_hit_tokens", 0)
        return {**super().usage(turn), "prompt_cache_miss_tokens": 11 - hit}

    def refusal(self, turn: Turn) -> tuple[dict[str, Any], str]:
        return {"content": ""}, "content_filter"

"""One run of Claude Code: what its lines say, in order (spec/artifacts.md 13.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmur_guest.untyped import items, mapping
from murmur_harness.contract import (
    Description,
    Event,
    ExitStatus,
    LaunchPlan,
    LaunchRequest,
    Retry,
    SessionStarted,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnFailed,
    Usage,
)
from murmur_harness.lines import (
    content_text,
    count,
    json_text,
    meaning,
    note,
    small_count,
    text,
)

from claude_code_driver import launching, quota, verdict
from claude_code_driver.streaming import Streamed

# What `apiKeySource` says when the login of a subscription is used, which is no key.
_NO_KEY = ("none", "oauth")
# Ticks of a spinner, one for each piece of thinking.
_TICKS = ("thinking_tokens",)


class ClaudeCode:
    """The driver: `murmur_harness.contract.HarnessDriver`."""

    def __init__(self) -> None:
        self._prefix = ""
        self._streamed = Streamed()
        self._spent = Usage()
        self._said = ""
        self._assistant_error = ""

    def describe(self) -> Description:
        """What it is."""
        return Description(
            harness="claude-code",
            binary="claude",
            tested_versions=("2.1.332",),
            interrupt="stdin-message",
            required_env=("HOME", "PATH"),
            streams_text=True,
            reports_usage=True,
        )

    def launch(self, request: LaunchRequest) -> LaunchPlan:
        """How to start it. Raises Refused."""
        plan = launching.plan(request)
        if request.bridge is not None:
            self._prefix = launching.tool_prefix(request.bridge.server_name)
        return plan

    def read(self, line: str) -> list[Event]:
        """What a line says."""
        return meaning(line, self._events)

    def classify_exit(self, exit: ExitStatus) -> TurnEnd | TurnFailed:
        """What an end without a `result` line amounts to."""
        return verdict.of_exit(exit, self._said)

    def _events(self, said: Mapping[str, Any]) -> list[Event] | None:
        match said.get("type"):
            case "system":
                return self._system(said)
            case "stream_event":
                return self._streamed.events(mapping(said.get("event")), self._bare)
            case "assistant":
                return self._assistant(said)
            case "user":
                return self._results(said)
            case "rate_limit_event":
                return list(quota.windows(said)) or None
            case "result":
                return [self._usage(said), verdict.of_result(said, self._assistant_error)]
        return None

    def _system(self, said: Mapping[str, Any]) -> list[Event] | None:
        subtype = said.get("subtype")
        if subtype == "init":
            source = text(said.get("apiKeySource")) or "unknown"
            auth = "subscription" if source in _NO_KEY else source
            model = text(said.get("model")) or None
            session = text(said.get("session_id"))
            return [SessionStarted(session, auth, model)] if session else None
        if subtype == "api_retry":
            return [Retry(small_count(said.get("attempt")) or 0, _retry_reason(said))]
        return [] if subtype in _TICKS else None

    def _assistant(self, said: Mapping[str, Any]) -> list[Event] | None:
        message = mapping(said.get("message"))
        self._assistant_error = text(said.get("error"))
        # Not the model speaks but Claude Code, about what failed: the result says it again.
        if message.get("model") == "<synthetic>":
            return None
        events: list[Event] = []
        for block in items(message.get("content")):
            kind = block.get("type")
            if kind == "thinking":
                events.append(Thinking(text(block.get("thinking"))))
            elif kind == "text":
                self._said = text(block.get("text"))
                events.append(Text(self._said))
            elif kind == "tool_use":
                name = self._bare(text(block.get("name")))
                given = json_text(mapping(block.get("input")))
                events.append(ToolCall(text(block.get("id")), name, given))
            else:
                events.append(note(json_text(block)))
        return events or None

    def _results(self, said: Mapping[str, Any]) -> list[Event] | None:
        blocks = items(mapping(said.get("message")).get("content"))
        results: list[Event] = [
            ToolResult(
                text(block.get("tool_use_id")),
                content_text(block.get("content")),
                block.get("is_error") is True,
            )
            for block in blocks
            if block.get("type") == "tool_result"
        ]
        return results or None

    def _bare(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def _usage(self, result: Mapping[str, Any]) -> Usage:
        """A result counts its own turn, the contract the run: the turns are added up."""
        usage = mapping(result.get("usage"))
        details = mapping(usage.get("output_tokens_details"))
        spent = self._spent
        self._spent = Usage(
            input=_sum(spent.input, usage.get("input_tokens")),
            output=_sum(spent.output, usage.get("output_tokens")),
            cache_read=_sum(spent.cache_read, usage.get("cache_read_input_tokens")),
            cache_creation=_sum(spent.cache_creation, usage.get("cache_creation_input_tokens")),
            thinking=_sum(spent.thinking, details.get("thinking_tokens")),
        )
        return self._spent


def _sum(before: int | None, more: object) -> int | None:
    reported = count(more)
    return before if reported is None else count((before or 0) + reported)


def _retry_reason(said: Mapping[str, Any]) -> str:
    status, error = count(said.get("error_status")), text(said.get("error"))
    named = [str(status)] if status is not None else []
    return " ".join(named + ([error] if error else [])) or "unknown"

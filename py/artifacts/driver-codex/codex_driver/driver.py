"""One run of Codex: what its JSON lines say, in order (spec/artifacts.md 13.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmur_guest.untyped import mapping
from murmur_harness.contract import (
    Description,
    Event,
    ExitStatus,
    LaunchPlan,
    LaunchRequest,
    SessionStarted,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnFailed,
)
from murmur_harness.lines import content_text, json_text, meaning, note, text

from codex_driver import launching, verdict
from codex_driver.threads import Thread, Totals

# Codex does not say which login it uses: an account's or a key's.
_AUTH = "unknown"


class Codex:
    """The driver: `murmur_harness.contract.HarnessDriver`."""

    def __init__(self) -> None:
        self._thread = Thread("")
        self._called: set[str] = set()
        self._said = ""
        self._error = ""
        self._attempts = 0

    def describe(self) -> Description:
        """What it is."""
        return Description(
            harness="codex",
            binary="codex",
            tested_versions=("0.171.0",),
            interrupt="signal-int",
            required_env=("HOME", "PATH"),
            streams_text=False,
            reports_usage=True,
        )

    def launch(self, request: LaunchRequest) -> LaunchPlan:
        """How to start it. Raises Refused."""
        if request.resumes:
            self._thread = Thread.parse(request.session_id)
        return launching.plan(request)

    def read(self, line: str) -> list[Event]:
        """What a line says."""
        return meaning(line, self._events)

    def classify_exit(self, exit: ExitStatus) -> TurnEnd | TurnFailed:
        """What an end without `turn.completed` or `turn.failed` amounts to."""
        return verdict.of_exit(exit, self._said, self._error)

    def _events(self, said: Mapping[str, Any]) -> list[Event] | None:
        match said.get("type"):
            case "thread.started":
                return self._started(text(said.get("thread_id")))
            case "turn.started" | "item.updated":
                return []
            case "item.started":
                return self._begun(mapping(said.get("item")))
            case "item.completed":
                return self._completed(mapping(said.get("item")))
            case "turn.completed":
                return self._ended(mapping(said.get("usage")))
            case "turn.failed":
                message = text(mapping(said.get("error")).get("message")) or "the turn failed"
                return [TurnFailed(verdict.kind_of(message), message)]
            case "error":
                return self._trouble(text(said.get("message")))
        return None

    def _started(self, thread: str) -> list[Event] | None:
        if not thread:
            return None
        if thread != self._thread.id:
            self._thread = Thread(thread)
        return [SessionStarted(str(self._thread), _AUTH)]

    def _begun(self, item: Mapping[str, Any]) -> list[Event]:
        return [self._call(item)] if item.get("type") == "mcp_tool_call" else []

    def _completed(self, item: Mapping[str, Any]) -> list[Event] | None:
        match item.get("type"):
            case "agent_message":
                self._said = text(item.get("text"))
                return [Text(self._said)]
            case "reasoning":
                return [Thinking(text(item.get("text")))]
            case "mcp_tool_call":
                begun = text(item.get("id")) in self._called
                return [self._result(item)] if begun else [self._call(item), self._result(item)]
            case "error":
                return [note(text(item.get("message")))]
        return None

    def _call(self, item: Mapping[str, Any]) -> ToolCall:
        call = text(item.get("id"))
        self._called.add(call)
        return ToolCall(call, text(item.get("tool")), json_text(mapping(item.get("arguments"))))

    def _result(self, item: Mapping[str, Any]) -> ToolResult:
        failure = mapping(item.get("error"))
        result = mapping(item.get("result"))
        output = text(failure.get("message")) or content_text(result.get("content"))
        return ToolResult(text(item.get("id")), output, item.get("status") == "failed")

    def _ended(self, usage: Mapping[str, Any]) -> list[Event]:
        """The turn's end, after the id that the thread is resumed by from now on."""
        events: list[Event] = []
        if usage:
            totals = Totals.of(usage)
            events.append(totals.since(self._thread.spent))
            self._thread = Thread(self._thread.id, totals)
            if self._thread.id:
                events.append(SessionStarted(str(self._thread), _AUTH))
        return [*events, TurnEnd(self._said)]

    def _trouble(self, message: str) -> list[Event]:
        again = verdict.retry(message, self._attempts)
        if again is not None:
            self._attempts = again.attempt
            return [again]
        self._error = message
        return [note(message)]

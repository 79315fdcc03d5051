"""`murmur:tool-registry/invoke`: a script capsule calls the tools it declares.

spec/artifacts.md 3 and spec/sessions.md 24: WASM `tool` artifacts of the manifest and nothing
else; what a session pulled is not among them. A tool called this way is in no task, and host
programs are unavailable to it.
"""

import json
import threading
import time
from typing import Any

from murmur.guest.calls import GuestFailure, ToolInput, ToolResult
from murmur.guest.questions import Answer, Err, Ok, Question
from murmur.read_only.check import refusal_text
from murmur.session.guest_calls import GuestCalls
from murmur.session.inventory import Tool, ToolKind
from murmur.session.protection import Protection
from murmur.session.stage import Staged
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


class ToolInvocations:
    """Answers `invoke(name, input)`; the name is a full one or the bare one."""

    def __init__(
        self,
        staged: Staged,
        calls: GuestCalls,
        protection: Protection | None,
        trace: TraceWriter,
        capture: Capture,
    ) -> None:
        self._tools = {
            name: tool
            for tool in staged.tools.values()
            if tool.kind is ToolKind.WASM and tool.artifact is not None
            for name in (tool.name, tool.artifact)
        }
        self._calls = calls
        self._trace = trace
        self._capture = capture
        self._protection = protection

    def __call__(self, question: Question) -> Answer:
        name, given = question.arguments
        tool = self._tools.get(name)
        if tool is None:
            return Err(f"tool '{name}' is not declared in manifest allowlist")
        tool_input = ToolInput(given["data"], given["log-path"])
        began = time.monotonic()
        answer = self._answer(tool, tool_input, question)
        self._record(tool, tool_input, answer, int((time.monotonic() - began) * 1000))
        return answer

    def _answer(self, tool: Tool, given: ToolInput, question: Question) -> Answer:
        write = self._protection.write_of(tool, _parsed(given.data)) if self._protection else None
        if write is not None:
            text = refusal_text(tool.name, write)
            self._trace.write(
                "protected_path_denied",
                turn=0,
                call="tool",
                target=tool.name,
                path=write.path,
                rule=write.rule,
                signal=write.signal,
                reason=text,
            )
            return Err(text)
        assert tool.artifact is not None
        result = self._calls.call_tool(
            tool.artifact,
            given,
            cancel=question.cancel or threading.Event(),
            within=question.deadline - time.monotonic(),
        )
        if isinstance(result, GuestFailure):
            return Err(result.message)
        return Ok(_record_of(result))

    def _record(self, tool: Tool, given: ToolInput, answer: Answer, duration_ms: int) -> None:
        failed = isinstance(answer, Err) or answer.value["status"] != "passed"
        text = answer.value if isinstance(answer, Err) else _shown(answer.value)
        notes = dict(reversed(answer.value["metadata"])) if isinstance(answer, Ok) else {}
        self._trace.write(
            "tool_call",
            turn=0,
            task_id=None,
            tool_name=tool.name,
            tool_call_id=None,
            input=_parsed(given.data),
            input_bytes=len((given.data or "").encode("utf-8", "replace")),
            output=self._capture.output(text),
            output_bytes=len(text.encode()),
            duration_ms=duration_ms,
            status="error" if failed else "ok",
            state_effect=notes.get("state_effect") or None,
            resource_id=notes.get("resource_id") or None,
        )


def _parsed(data: str | None) -> Any:
    """The input as JSON where it is JSON: what a tool is given is its own affair."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


def _shown(result: dict[str, Any]) -> str:
    text = result["data"] if result["data"] is not None else result["summary"] or ""
    return str(text).encode("utf-8", "replace").decode()


def _record_of(result: ToolResult) -> dict[str, Any]:
    """`tool-result` as a plain value."""
    return {
        "status": result.status,
        "summary": result.summary,
        "data": result.data,
        "data-path": result.data_path,
        "truncated": result.truncated,
        "metadata": [tuple(pair) for pair in result.metadata],
        "attachments": [
            {"media-type": each.media_type, "path": each.path} for each in result.attachments
        ],
    }

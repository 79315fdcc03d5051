"""One tool call asked for by the model: gate, dispatch, trace, frame, message.

spec/sessions.md 11.2, 11.3 and 11.5; spec/artifacts.md 8. Refusals and dispatch failures are
ordinary error results and the loop goes on.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, runtime_checkable

from murmur.core.diagnostics import Diagnostic
from murmur.core.peer_handles import hide_tokens
from murmur.core.tasks import ArtifactFrame
from murmur.guest.calls import GuestFailure, GuestResult, ToolResult
from murmur.inference.reply import ToolCall
from murmur.session.answers import Answer, RuntimeTool, refusal, tool_answer
from murmur.session.attempt import Attempt
from murmur.session.background_text import detached_text, limit_line
from murmur.session.commands import Commands
from murmur.session.fence import fence
from murmur.session.gate import Gate, Refused
from murmur.session.hooks.gate import CallHooks
from murmur.session.images import Taken
from murmur.session.inventory import Tool, ToolKind
from murmur.session.protection import Protection
from murmur.session.runtime_tools import unknown_tool
from murmur.session.shell_text import BadCommand, read_command
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


class CallTool(Protocol):
    """Calls a WASM tool by its artifact's full name, with the input as compact JSON."""

    def __call__(self, artifact: str, data: str, attempt: Attempt, turn: int) -> GuestResult: ...


@runtime_checkable
class UsesDispatcher(Protocol):
    """A runtime tool that calls other tools."""

    def attach(self, dispatcher: "Dispatcher") -> None: ...


class TakeImages(Protocol):
    """Takes the images that a tool attached to its result, by its artifact's full name."""

    def __call__(self, artifact: str, result: ToolResult, attempt: Attempt, turn: int) -> Taken: ...


@dataclasses.dataclass(frozen=True, slots=True)
class _Done:
    """One call as it went. `made`: a tool was called; `shell` is the line of a command."""

    answer: Answer
    refused: Refused | None
    made: bool
    shell: dict[str, object] | None
    duration_ms: int


class Dispatcher:
    """Answers the model's tool calls, one after another."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        skills: Mapping[str, str],
        call_tool: CallTool,
        commands: Commands | None,
        trace: TraceWriter,
        capture: Capture,
        protection: Protection | None = None,
        runtime_tools: Mapping[str, RuntimeTool] | None = None,
        take_images: TakeImages | None = None,
        hooks: CallHooks | None = None,
        warn: Callable[[Diagnostic], None] = lambda found: None,
        pulled: Collection[str] = (),
    ) -> None:
        """`protection` None is a capsule without read-only paths; `runtime_tools` answer for the
        tools of kind RUNTIME. Tools, skills and those `pulled` are read anew for every call."""
        self._hooks = hooks
        self._pulled = pulled
        self._tools = tools
        self._skills = skills
        self._call_tool = call_tool
        self._commands = commands
        self._trace = trace
        self._capture = capture
        self.gate = Gate(tools, trace, protection, hooks, warn)
        self._runtime_tools = runtime_tools or {}
        for tool in self._runtime_tools.values():
            if isinstance(tool, UsesDispatcher):
                tool.attach(self)
        self._take_images = take_images

    def dispatch(
        self, call: ToolCall, turn: int, attempt: Attempt
    ) -> tuple[dict[str, object], ArtifactFrame]:
        """Runs one call; the `tool` message for the model and the frame for streams."""
        task_id = attempt.task_id
        done = self._make(call, turn, attempt)
        answer, duration_ms = done.answer, done.duration_ms
        source = f"tool:{call.name}" if answer.fenced else None
        text = fence(source, answer.text) if source else answer.text
        if answer.note is not None:
            text = f"{text}\n{answer.note}"
        self._tell_hooks(call, turn, done, text)
        if done.refused is not None and done.refused.recorded:
            pass  # its own line is the only one
        elif self.is_skill(call.name):
            size = len(text.encode())
            self.trace_skill(call.name, turn, task_id, size, duration_ms)
        else:
            given = json.dumps(call.input, separators=(",", ":"), ensure_ascii=False)
            self.trace_tool(
                call, turn, task_id, len(given.encode()), text, duration_ms, answer.is_error, answer
            )
        if done.shell is not None:
            self._trace.write("shell", **done.shell)
        message: dict[str, object] = {
            "role": "tool",
            "tool_call_id": call.id,
            "is_error": answer.is_error,
            "content": [{"type": "text", "text": text}, *answer.images.blocks],
        }
        attempt.history.bring(answer.images.data)
        if source is not None:
            message["fence"] = source
        frame = ArtifactFrame(
            tool_name=call.name,
            content=text,
            fence_source=source,
            tool_call_id=call.id or None,
            is_error=answer.is_error,
            duration_ms=duration_ms,
            exit_code=answer.exit_code,
            truncated=answer.truncated,
        )
        return message, frame

    def answer(self, call: ToolCall, turn: int, attempt: Attempt) -> Answer:
        """Runs one call of a harness, whose own report of it makes line and frame.

        Not fenced: what the harness shows to its model is its own. spec/door.md 20.
        """
        done = self._make(call, turn, attempt)
        self._tell_hooks(call, turn, done, done.answer.text)
        if done.shell is not None:
            self._trace.write("shell", **done.shell)
        return done.answer

    def is_skill(self, name: str) -> bool:
        """Whether a call of that name reads a skill."""
        tool = self._tools.get(name)
        return tool is not None and tool.kind is ToolKind.SKILL

    def _make(self, call: ToolCall, turn: int, attempt: Attempt) -> "_Done":
        began = time.monotonic()
        tool = self._tools.get(call.name)
        shell: dict[str, object] | None = None
        refused = self.gate.refuses(call, turn)
        made = False  # a call of a tool: hooks hear of a command when it ends
        if refused is not None or tool is None:
            answer = refusal(refused.text if refused is not None else unknown_tool(call.name))
        elif tool.kind is ToolKind.SHELL:
            answer, shell = self._shell(call, turn, attempt)
        else:
            made = True
            answer = self.perform(tool, call.input, attempt, turn)
        duration_ms = int((time.monotonic() - began) * 1000)
        return _Done(answer, refused, made, shell, duration_ms)

    def _tell_hooks(self, call: ToolCall, turn: int, done: "_Done", text: str) -> None:
        if self._hooks is not None and done.made:
            self._hooks.called(
                call.name,
                call.input,
                turn,
                text,
                done.duration_ms,
                is_error=done.answer.is_error,
            )

    def perform(self, tool: Tool, given: object, attempt: Attempt, turn: int) -> Answer:
        """Calls any tool but a command, without asking whether it may be called."""
        if tool.kind is ToolKind.RUNTIME:
            arguments = given if isinstance(given, Mapping) else {}
            return self._runtime_tools[tool.name](arguments, attempt, turn)
        if tool.kind is ToolKind.SKILL:
            return Answer(self._skills[tool.name], fenced=tool.name in self._pulled)
        data = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
        return self._call(tool, data, attempt, turn)

    def _call(self, tool: Tool, data: str, attempt: Attempt, turn: int) -> Answer:
        """Calls an artifact's tool, a component or a program of its own."""
        assert tool.artifact is not None
        if tool.kind is ToolKind.NATIVE:
            assert self._commands is not None
            return self._commands.call_native(tool.name, data, attempt.cancel)
        result = self._call_tool(tool.artifact, data, attempt, turn)
        if self._take_images is None or isinstance(result, GuestFailure):
            return tool_answer(result)
        return tool_answer(result, self._take_images(tool.artifact, result, attempt, turn))

    def _shell(
        self, call: ToolCall, turn: int, attempt: Attempt
    ) -> tuple[Answer, dict[str, object] | None]:
        assert self._commands is not None
        try:
            command = read_command(call.name, call.input)
        except BadCommand as bad:
            return refusal(str(bad)), None
        done = self._commands.run(command, attempt, turn)
        if done.failure is not None:
            return refusal(f"shell execution failed: {done.failure}"), None
        if done.work_id is not None:
            return Answer(detached_text(done.work_id, done.text)), None
        row: dict[str, object] = {
            "turn": turn,
            "task_id": attempt.task_id,
            "binary": done.binary,
            "command": command.line,
            "exit_code": done.exit_code,
            "stdout_bytes": len(done.stdout),
            "stderr_bytes": len(done.stderr),
            "duration_ms": done.duration_ms,
            "resource_limit": done.resource_limit,
        }
        if self._hooks is not None:
            self._hooks.ran(
                command, turn, done.exit_code, done.stdout, done.stderr, done.duration_ms
            )
        note = None if done.resource_limit is None else limit_line(done.resource_limit)
        answer = Answer(done.text, truncated=done.truncated, exit_code=done.exit_code, note=note)
        return answer, row

    def trace_skill(
        self, name: str, turn: int, task_id: str | None, size: int, duration_ms: int
    ) -> None:
        """The line of a skill that was read; `size` is its text's in bytes."""
        self._trace.write(
            "skill_call",
            turn=turn,
            task_id=task_id,
            skill_name=name,
            output_bytes=size,
            duration_ms=duration_ms,
            status="ok",
            origin="runtime" if name in self._pulled else "operator",
            trust="untrusted" if name in self._pulled else "trusted",
        )

    def trace_tool(
        self,
        call: ToolCall,
        turn: int,
        task_id: str | None,
        given_bytes: int,
        output: str,
        duration_ms: int,
        is_error: bool,
        answer: Answer | None,
    ) -> None:
        """The line of a tool's call. `given_bytes` is the size of its input's text, `output` what
        it came to; `answer` is None for a call that was not made here."""
        self._trace.write(
            "tool_call",
            turn=turn,
            task_id=task_id,
            tool_name=call.name,
            tool_call_id=call.id or None,
            input=hide_tokens(call.input),
            input_bytes=given_bytes,
            output=hide_tokens(self._capture.output(output)),
            output_bytes=len(output.encode("utf-8", "replace")),
            duration_ms=duration_ms,
            status="error" if is_error else "ok",
            state_effect=answer.state_effect if answer is not None else None,
            resource_id=answer.resource_id if answer is not None else None,
        )

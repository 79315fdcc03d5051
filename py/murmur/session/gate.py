"""What every call passes before it is made: required fields, read-only paths, policy hooks.

spec/sessions.md 11.2. The first refusal wins and the later checks are not asked. Each is written to
the trace here; the model reads its text as an ordinary error result.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping

from murmur.core.diagnostics import Diagnostic, warning
from murmur.inference.reply import ToolCall
from murmur.read_only.check import Write
from murmur.read_only.check import refusal_text as protection_text
from murmur.session.hooks.gate import CallHooks
from murmur.session.inventory import Tool, ToolKind, missing_fields, refusal_text
from murmur.session.protection import Protection
from murmur.session.runtime_tools import unknown_tool
from murmur.session.shell_text import BadCommand, ShellCommand, read_command
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A call that is not made. `recorded` says that its own trace line is the only one."""

    text: str
    recorded: bool = False


class Gate:
    """The checks of one session; `protection` None is a capsule without read-only paths."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        trace: TraceWriter,
        protection: Protection | None,
        hooks: CallHooks | None,
        warn: Callable[[Diagnostic], None] = lambda found: None,
    ) -> None:
        self._warn = warn
        self._warned: set[str] = set()
        self._tools = tools
        self._trace = trace
        self._protection = protection
        self._hooks = hooks

    @property
    def names(self) -> Collection[str]:
        """The names of the inventory."""
        return self._tools.keys()

    def tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def refuses(self, call: ToolCall, turn: int, *, of_plan: bool = False) -> Refused | None:
        """Why a call is not made; None for one that may be. `of_plan`: a plan's step says so itself
        when fields are missing."""
        tool = self._tools.get(call.name)
        if tool is None:
            return Refused(unknown_tool(call.name))
        self._warn_unchecked(tool)
        missing = missing_fields(tool, call.input)
        if missing:
            text = refusal_text(call.name, missing)
            if not of_plan:
                self._trace.write(
                    "tool_input_refused",
                    turn=turn,
                    tool_name=call.name,
                    tool_call_id=call.id or None,
                    missing=missing,
                    reason=text,
                )
            return Refused(text)
        if tool.kind is ToolKind.SHELL:
            return self._refuses_shell_tool(call, turn)
        write = self._protection.write_of(tool, call.input) if self._protection else None
        if write is not None:
            return self._protected(call.name, write, turn, "tool")
        denied = None if self._hooks is None else self._hooks.refuses_tool(
            call.name, call.input, turn
        )  # fmt: skip
        return None if denied is None else Refused(denied, recorded=True)

    def _warn_unchecked(self, tool: Tool) -> None:
        """W-RUN-004 at the first call of a tool whose fields cannot be checked."""
        if tool.fault is not None and tool.name not in self._warned:
            self._warned.add(tool.name)
            self._warn(warning("W-RUN-004", tool=tool.name, fault=tool.fault))

    def _refuses_shell_tool(self, call: ToolCall, turn: int) -> Refused | None:
        try:
            command = read_command(call.name, call.input)
        except BadCommand:
            return None  # nothing that could be run
        return self.refuses_command(command, turn)

    def refuses_command(self, command: ShellCommand, turn: int) -> Refused | None:
        """Why a command is not run; None for one that may be."""
        write = None
        if self._protection is not None:
            write = self._protection.write_of_command(command.binary, command.argv)
        if write is not None:
            return self._protected(command.binary, write, turn, "shell")
        denied = None if self._hooks is None else self._hooks.refuses_command(command, turn)
        return None if denied is None else Refused(denied, recorded=True)

    def _protected(self, target: str, write: Write, turn: int, call: str) -> Refused:
        text = protection_text(target, write)
        self._trace.write(
            "protected_path_denied",
            turn=turn,
            call=call,
            target=target,
            path=write.path,
            rule=write.rule,
            signal=write.signal,
            reason=text,
        )
        return Refused(text, recorded=True)

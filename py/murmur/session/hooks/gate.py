"""Hooks around each call that the model asks for: policy hooks before it, all after it.

spec/artifacts.md 8.2 and 15.4. A shell command is an `on-shell` event, any other call an
`on-tool-call` event.
"""

from collections.abc import Callable, Mapping
from typing import Any

from murmur.core.safefs import Root
from murmur.session.hooks import events
from murmur.session.hooks.contracts import Handler
from murmur.session.hooks.dispatch import Hooks
from murmur.session.hooks.recipes import recipe_of
from murmur.session.shell_text import ShellCommand
from murmur.trace.writer import TraceWriter


class CallHooks:
    """The hooks as dispatcher and plans meet them. `resolve` gives a command's path, or its name
    where there is none.
    """

    def __init__(
        self, hooks: Hooks, trace: TraceWriter, work: Root, resolve: Callable[[str], str]
    ) -> None:
        self._hooks = hooks
        self._trace = trace
        self._work = work
        self._resolve = resolve

    def refuses_tool(self, name: str, given: Mapping[str, Any], turn: int) -> str | None:
        """Why a tool may not be called, for the model, after writing `call_denied`; or None."""
        if not self._hooks.decides("on-tool-call"):
            return None
        return self._refusal("on-tool-call", events.tool_event(turn, name, given), name, turn)

    def refuses_command(self, command: ShellCommand, turn: int) -> str | None:
        """Why a command may not be run, as `refuses_tool`."""
        if not self._hooks.decides("on-shell"):
            return None
        event = self._shell_event(command, turn)
        return self._refusal("on-shell", event, event["binary"], turn)

    def called(
        self,
        name: str,
        given: Mapping[str, Any],
        turn: int,
        text: str,
        duration_ms: int,
        *,
        is_error: bool,
    ) -> None:
        """A tool has answered with `text`."""
        self._hooks.observe(
            "on-tool-call",
            lambda: events.with_outcome(
                events.tool_event(turn, name, given),
                events.tool_outcome(text, duration_ms, is_error=is_error),
            ),
        )

    def ran(
        self,
        command: ShellCommand,
        turn: int,
        exit_code: int,
        stdout: bytes,
        stderr: bytes,
        duration_ms: int,
    ) -> None:
        """A command has ended in the foreground."""
        self._hooks.observe(
            "on-shell",
            lambda: events.with_outcome(
                self._shell_event(command, turn),
                events.shell_outcome(exit_code, stdout, stderr, duration_ms),
            ),
        )

    def _shell_event(self, command: ShellCommand, turn: int) -> events.Event:
        recipe = recipe_of(self._work, command.argv)
        return events.shell_event(turn, self._resolve(command.binary), command, recipe)

    def _refusal(self, handler: Handler, event: events.Event, target: str, turn: int) -> str | None:
        denial = self._hooks.refusal(handler, event)
        if denial is None:
            return None
        self._trace.write(
            "call_denied",
            turn=turn,
            event=handler,
            hook_name=denial.hook,
            target=target,
            reason=denial.reason,
        )
        return denial.text

"""What a plan's steps are dispatched to: tools, commands, sub-capsules.

spec/sessions.md 16.3 and 16.5. A step passes the gate of every call, and hooks hear of each attempt
as of any other call, once the step has settled: not from the thread that it ran in. Commands run to
their end and are never moved to the background.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, Final

from murmur.core.peer_handles import hide_tokens
from murmur.core.words import split_words
from murmur.inference.reply import ToolCall
from murmur.sandbox.results import CommandResult
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.background_text import limit_line
from murmur.session.commands import Commands
from murmur.session.dispatch import Dispatcher
from murmur.session.hooks.gate import CallHooks
from murmur.session.inventory import ToolKind
from murmur.session.plans.plan import Step
from murmur.session.plans.schedule import Done, Settled
from murmur.session.shell_text import BadCommand, ShellCommand, read_command
from murmur.trace.writer import TraceWriter

# What a capsule step asks for when nothing is locked under its name.
_VERSION: Final = "0.1.0"


@dataclasses.dataclass(frozen=True, slots=True)
class StepRunner:
    """Dispatches the steps of one plan run. `version_of` knows a capsule's locked version."""

    plan_id: str
    attempt: Attempt
    turn: int
    dispatcher: Dispatcher
    commands: Commands | None
    trace: TraceWriter
    version_of: Callable[[str], str | None] = lambda name: None
    hooks: CallHooks | None = None
    _untold: dict[str, list[Callable[[CallHooks], None]]] = dataclasses.field(default_factory=dict)

    def started(self, step: Step) -> None:
        self.trace.write(
            "plan_step_start",
            plan_id=self.plan_id,
            step_id=step.id,
            kind=step.kind,
            depends_on=step.depends_on,
        )

    def settled(self, settled: Settled) -> None:
        step = settled.step
        for tell in self._untold.pop(step.id, []):
            if self.hooks is not None:
                tell(self.hooks)
        self.trace.write(
            "plan_step",
            plan_id=self.plan_id,
            step_id=step.id,
            kind=step.kind,
            status=settled.status,
            attempts=settled.attempts,
            duration_ms=settled.duration_ms,
            error=hide_tokens(settled.error),
            input=hide_tokens(settled.input) if step.kind == "tool" else None,
            state_effect=settled.state_effect,
            resource_id=settled.resource_id,
        )

    def refuses(self, step: Step, given: object) -> str | None:
        """The gate's refusal of a step, as its error."""
        if step.kind == "capsule":
            return None
        if step.kind == "shell":
            refused = self.dispatcher.gate.refuses_command(_command(step.target), self.turn)
        else:
            refused = self.dispatcher.gate.refuses(_call(step, given), self.turn, of_plan=True)
        return refused.text if refused is not None else None

    def run(self, step: Step, given: object) -> Done:
        """One attempt at a step."""
        if step.kind == "capsule":
            return self._capsule(step)
        if step.kind == "shell":
            return self._command(step, _command(step.target))
        return self._tool(step, given)

    def _tool(self, step: Step, given: object) -> Done:
        tool = self.dispatcher.gate.tool(step.target)
        assert tool is not None
        if tool.kind is ToolKind.SHELL:
            try:
                return self._command(step, read_command(tool.name, given))
            except BadCommand as bad:
                return Done(error=str(bad))
        call, turn, began = _call(step, given), self.turn, time.monotonic()
        answer = self.dispatcher.perform(tool, call.input, self.attempt, turn)
        took = int((time.monotonic() - began) * 1000)

        def tell(hooks: CallHooks) -> None:
            failed = answer.is_error
            hooks.called(call.name, call.input, turn, answer.text, took, is_error=failed)

        self._note(step, tell)
        return _done(answer)

    def _command(self, step: Step, command: ShellCommand) -> Done:
        assert self.commands is not None
        turn, result = self.turn, self.commands.complete(command.argv, self.attempt.cancel)

        def tell(hooks: CallHooks) -> None:
            streams = (result.stdout, result.stderr)
            hooks.ran(command, turn, result.exit_code, *streams, result.duration_ms)

        if result.set_up_failure is None:
            self._note(step, tell)
        return _command_done(result)

    def _note(self, step: Step, tell: Callable[[CallHooks], None]) -> None:
        self._untold.setdefault(step.id, []).append(tell)

    def _capsule(self, step: Step) -> Done:
        """A spawn that is refused: a session that may spawn does not come this far yet."""
        reason = f"capabilities.spawn.allow does not name {step.target}"
        self.trace.write(
            "delegation",
            capsule=step.target,
            version=self.version_of(step.target) or _VERSION,
            delegation_id=None,
            child_session_id=None,
            duration_ms=0,
            outcome="refused",
            reason=reason,
        )
        return Done(error=reason)


def _call(step: Step, given: Any) -> ToolCall:
    return ToolCall(id="", name=step.target, input={} if given is None else given)


def _command(line: str) -> ShellCommand:
    """The command of a `shell` step: words, no shell."""
    words = split_words(line)
    return ShellCommand(binary=words[0], argv=tuple(words), shown=line, line=line)


def _done(answer: Answer) -> Done:
    noted = {"state_effect": answer.state_effect, "resource_id": answer.resource_id}
    if answer.is_error:
        return Done(error=answer.text, **noted)
    return Done(output=answer.text, **noted)


def _command_done(result: CommandResult) -> Done:
    """Success is an exit with 0 and no limit in play; else its errors, or the limit."""
    if result.set_up_failure is not None:
        return Done(error=f"shell execution failed: {result.set_up_failure}")
    if result.resource_limit is not None:
        return Done(error=limit_line(result.resource_limit))
    if result.exit_code == 0:
        return Done(output=result.stdout.decode("utf-8", "replace"))
    said = result.stderr.decode("utf-8", "replace")
    return Done(error=said if said.strip() else f"it exited with {result.exit_code}")

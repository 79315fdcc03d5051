"""What the runtime answers a tool's questions with. spec/artifacts.md 3.

`murmur:task` waits for whoever sent the task, `murmur:process` starts programs, and where the
capsule declares `capabilities.install` `murmur:artifact-manager` installs artifacts; any other
question is answered as unserved.
"""

from typing import Any

from murmur.guest.calls import GuestResult, ToolInput
from murmur.guest.client import Ask
from murmur.guest.questions import (
    MANAGE_INTERFACE,
    PROCESS_INTERFACE,
    TASK_INTERFACE,
    Answer,
    Answering,
    Question,
    Value,
    unserved,
)
from murmur.session.attempt import Attempt
from murmur.session.guest_calls import GuestCalls
from murmur.session.processes import Processes


def tool_answering(
    ask: Ask | None, processes: Answering, manage: Answering | None = None
) -> Answering:
    """The answers to a tool called during an attempt at a task; `ask` None is no task, `manage`
    None a capsule whose tools install nothing."""

    def answer(question: Question) -> Answer:
        if question.interface == TASK_INTERFACE and ask is not None:
            (prompt,) = question.arguments
            return Value(ask(prompt))
        if question.interface == PROCESS_INTERFACE:
            return processes(question)
        if question.interface == MANAGE_INTERFACE and manage is not None:
            return manage(question)
        return unserved(question)

    return answer


class ToolCaller:
    """Calls WASM tools for the model: `session.dispatch.CallTool`."""

    def __init__(
        self, calls: GuestCalls, processes: Processes, manage: Answering | None = None
    ) -> None:
        self._manage = manage
        self._calls = calls
        self._processes = processes

    def __call__(self, artifact: str, data: str, attempt: Attempt, turn: int) -> GuestResult:
        own = self._processes.of(artifact, turn)

        def on_event(kind: str, facts: dict[str, Any]) -> None:
            if kind == "dropped":
                own.dropped(facts)
            else:
                attempt.tool_event(kind, facts)

        try:
            return self._calls.call_tool(
                artifact,
                ToolInput(data),
                on_event=on_event,
                answering=tool_answering(attempt.ask, own, self._manage),
                cancel=attempt.cancel,
            )
        finally:
            own.close()

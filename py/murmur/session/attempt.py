"""One attempt at a task: what it is given, and the ways it can end. spec/sessions.md 12.1."""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.diagnostics import MurmurError
from murmur.core.tasks import TaskFrame, TaskState, TextFrame, ThinkingFrame
from murmur.guest.client import Ask
from murmur.inference.reply import TurnFailure
from murmur.inference.spend import SpendRefused
from murmur.session.history import History

KILLED: Final = "task canceled; the harness was killed and its session may not resume cleanly"
"""How a task ended that was cancelled, and whose harness did not stop by itself."""


@dataclasses.dataclass(slots=True)
class Interrupted:
    """What a call was doing when it was broken off: written by the call, read by the loop.

    `timed_out` is a wait for the task's sender whose time ran out; `phase` is what a cancel met, in
    the words of `task_canceled.phase`.
    """

    timed_out: bool = False
    phase: str | None = None


@dataclasses.dataclass(slots=True)
class Turns:
    """How many turns a task has taken, over all its attempts; the next one's number."""

    taken: int = 0

    def left(self, limit: int | None) -> int | None:
        """How many remain of `limit`; None for no limit."""
        return None if limit is None else max(0, limit - self.taken)


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task: where its frames go, what cancels it, who answers questions.

    `history` holds the message that the attempt answers. A task's next attempt has the same
    `history` and `turns`. `interrupted` is written by what runs within a turn; `continuable` says
    whether the conversation so far can be gone on with: a harness may have lost its.
    """

    task_id: str | None
    cache_key: str
    history: History
    frame: Callable[[TaskFrame], None]
    cancel: threading.Event
    ask: Ask | None
    interrupted: Interrupted = dataclasses.field(default_factory=Interrupted)
    turns: Turns = dataclasses.field(default_factory=Turns)
    continuable: Callable[[], bool] = lambda: True

    def tool_event(self, kind: str, facts: Mapping[str, Any]) -> None:
        """A tool's own `murmur:stream/events`: its text and thinking reach the task's stream.

        Its tool-call functions do nothing: they count for the session driver alone.
        """
        if kind == "emit-chunk":
            self.frame(TextFrame(str(facts["chunk"])))
        elif kind == "emit-thinking-chunk":
            self.frame(ThinkingFrame(str(facts["chunk"])))


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended.

    `status` is a `task_end.exit_status`; `result` the text of `out/result.txt` (None: left as it
    is); `said` the final status frame's text; `reason` what E-RUN-040 says; `cause` and `turn`
    what `task_failed` records; `ends_session` is set where no further task is taken; `error` is
    what a launch that ends so is told beside E-RUN-040.
    """

    status: str
    said: str
    reason: str = ""
    result: str | None = None
    cause: str | None = None
    turn: int | None = None
    phase: str | None = None
    response: str | None = None
    ends_session: bool = False
    error: MurmurError | None = None

    @property
    def state(self) -> TaskState:
        if self.status == "ok":
            return TaskState.COMPLETED
        if self.status == "deadline_reached":
            return TaskState.CANCELED if self.response is None else TaskState.COMPLETED
        return TaskState.CANCELED if self.status == "canceled" else TaskState.FAILED


def failed(reason: str, cause: str, turn: int | None, said: str = "session ended") -> Ending:
    """An attempt that failed; the result file gets the reason."""
    return Ending(
        status="failed",
        said=said,
        reason=reason,
        result=f"error: {reason}",
        cause=cause,
        turn=turn,
    )


def driver_failed(failure: TurnFailure, turn: int) -> Ending:
    """A model call without an answer."""
    if failure.error_code == "driver_failed":
        said = f"driver invocation failed: {failure.error}"
        return failed(failure.error, "driver_error", turn, said)
    return failed(failure.error, failure.error_code, turn)


def unanswered(turn: int) -> Ending:
    """A request-input that nobody answered in time. spec/sessions.md 12.2."""
    reason = "input-timeout: nobody answered within lifecycle.input_timeout_secs"
    return failed(reason, "input_timeout", turn, said="input-timeout")


def harness_failed(
    refused: MurmurError, turn: int | None, *, status: str = "failed", cause: str | None
) -> Ending:
    """A run of a harness that came to nothing. spec/door.md 16.4."""
    message = refused.diagnostic.message
    return Ending(
        status=status,
        said=f"error[{refused.diagnostic.code}]: {message}",
        reason=message,
        result=f"error: {message}",
        cause=cause,
        turn=turn,
        error=refused,
    )


def broken_off(failure: Exception) -> Ending:
    """An attempt that met a fault of the runtime's own."""
    text = f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__
    return failed(text, "runtime_error", None)


def out_of_turns(limit: int) -> Ending:
    """Every turn that inference.max_turns allows was used."""
    said = f"max_turns exceeded: the task used all {limit} inference turns"
    return Ending(
        status="max_turns_reached",
        said=said,
        reason=said,
        result=f"error: the loop exceeded {limit} turns (inference.max_turns)",
    )


def out_of_tokens(refused: SpendRefused, turn: int) -> Ending:
    """A model call that a spend ceiling did not admit. spec/sessions.md 20."""
    return Ending(
        status="spend_ceiling_reached",
        said=str(refused),
        reason=str(refused),
        result=f"stopped: {refused}",
        turn=turn,
    )


def not_compacted(ending: Ending) -> Ending:
    """A context that could not be compacted ends the session, not its task alone."""
    return dataclasses.replace(ending, ends_session=True)


def canceled(phase: str, turn: int | None) -> Ending:
    """The task was cancelled; the result file keeps what it held."""
    return Ending(
        status="canceled", said="task canceled", reason="it was canceled", phase=phase, turn=turn
    )


def overdue(ending: Ending) -> Ending:
    """A task that the deadline cancelled."""
    reason = "the session's deadline was reached"
    return dataclasses.replace(ending, status="deadline_reached", reason=reason)


def budget_exhausted(said: str) -> Ending:
    """A hook wanted the task reopened, and one of its budgets is spent; `said` names which."""
    return Ending(
        status="reopen_budget_exhausted",
        said=said,
        reason=said,
        result=f"error: {said}",
        cause="reopen_budget_exhausted",
    )

"""Tasks as the door, the session and the board between them see them.

The door (on the event loop) submits, reads, cancels and watches; the session's worker thread takes
tasks and reports on them. Both speak to a `TaskBoard`; neither imports the other. Everything here
is a value: a `Task` is a snapshot, and a later one has a higher `revision`. spec/door.md 9 to 16.
"""

import enum
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol


class TaskState(enum.StrEnum):
    """A task's state in murmur's word; `wire` is A2A's name for it. spec/door.md 9."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"

    @property
    def wire(self) -> str:
        return "TASK_STATE_" + self.name

    @property
    def ended(self) -> bool:
        return self in _ENDED


_ENDED: Final = frozenset(
    {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED}
)


class Lane(enum.StrEnum):
    """A waiting line of the queue, most urgent first."""

    USER = "user"
    PEER = "peer"
    BG = "bg"


class Origin(enum.StrEnum):
    """Where a task came from; it alone decides the lane. spec/door.md 14."""

    USER = "user"
    SCHEDULE = "schedule"
    SYSTEM = "system"
    EVENT = "event"
    PEER = "peer"
    COMPLETION = "completion"

    @property
    def lane(self) -> Lane:
        if self is Origin.USER:
            return Lane.USER
        return Lane.PEER if self is Origin.PEER else Lane.BG


class Trust(enum.StrEnum):
    """Whether someone vouches for a task's text; the text of an untrusted one is fenced."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


class Acceptance(enum.StrEnum):
    """`lifecycle.task_acceptance`. spec/door.md 13."""

    NONE = "none"
    SINGLE = "single"
    QUEUE = "queue"


Source = Literal["a2a", "task_md", "detached_shell", "detached_lost"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom the door let in; recorded with the task, decides nothing. `name` is the credential's
    or the formation member's."""

    kind: Literal["operator", "credential", "member", "public"]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    media_type: str | None = None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class DataPart:
    """A part holding any JSON value, null included."""

    value: object
    media_type: str | None = None
    filename: str | None = None


Part = TextPart | DataPart


@dataclass(frozen=True, slots=True)
class Message:
    """A message from outside, as read from the wire. spec/door.md 10.1."""

    message_id: str
    parts: tuple[Part, ...]
    task_id: str | None = None
    context_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """A message on its way to the board; `text` is what the agent is to read, not yet fenced."""

    text: str
    message_id: str
    origin: Origin
    trust: Trust
    caller: Caller
    task_id: str | None = None
    context_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()
    traceparent: str | None = None
    forget_session: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One task as it stood at `revision`, a count of all changes on the board.

    `text` is the task's text as first given, not fenced: fencing an untrusted one is the session's.
    `caller` and `message_id` are None for a task that the session submitted itself; `source` says
    how it came: through the door, with the launch, or as news of a command in the background.
    """

    id: str
    context_id: str
    state: TaskState
    text: str
    origin: Origin
    trust: Trust
    submitted_ms: int
    updated_ms: int
    revision: int
    message_id: str | None = None
    caller: Caller | None = None
    reference_task_ids: tuple[str, ...] = ()
    traceparent: str | None = None
    forget_session: bool = False
    status_text: str | None = None
    response: str | None = None
    prompt: str | None = None
    no_answer: bool = False
    no_answer_below: tuple[tuple[str, str], ...] = ()
    source: Source = "a2a"

    @property
    def lane(self) -> Lane:
        return self.origin.lane


# Frames: what a task says about itself while it runs. spec/door.md 16.4.


@dataclass(frozen=True, slots=True)
class StatusFrame:
    """A change of state, or news within one; `response` only with `completed`."""

    state: TaskState
    text: str
    response: str | None = None
    reopen: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ArtifactFrame:
    """What one tool call, or one hook artifact, gave the model, byte for byte."""

    tool_name: str
    content: str
    fence_source: str | None = None
    tool_call_id: str | None = None
    is_error: bool = False
    duration_ms: int | None = None
    exit_code: int | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class TextFrame:
    """A piece of the model's text; `final` ends a turn's pieces, never the task."""

    text: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class ThinkingFrame:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStartedFrame:
    tool_call_id: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class ToolCallProgressFrame:
    tool_call_id: str
    input_bytes: int


TaskFrame = (
    StatusFrame
    | ArtifactFrame
    | TextFrame
    | ThinkingFrame
    | ToolCallStartedFrame
    | ToolCallProgressFrame
)


@dataclass(frozen=True, slots=True)
class GapFrame:
    """Events before `first_available_id` that were asked for are gone."""

    first_available_id: int


@dataclass(frozen=True, slots=True)
class LaggedFrame:
    """This connection lost `missed` frames because it read too slowly."""

    missed: int


@dataclass(frozen=True, slots=True)
class Event:
    """One frame on its way to a stream.

    `id` is None for frames outside the session's numbering. `state` is the task's state when the
    frame was written, and None, like the ids, on a stream that follows the whole session.
    """

    id: int | None
    task_id: str | None
    context_id: str | None
    state: TaskState | None
    time_ms: int
    frame: TaskFrame | GapFrame | LaggedFrame

    @property
    def final(self) -> bool:
        """Whether nothing more follows about this event's task."""
        return isinstance(self.frame, StatusFrame) and self.frame.state.ended


class Watch(Protocol):
    """One stream's view of the board. Safe to use from any thread."""

    @property
    def task(self) -> Task | None:
        """The task followed, as it stood when the watch began; None for the whole session."""

    @property
    def closed(self) -> bool:
        """Whether no event will follow those that `take` still returns."""

    def take(self) -> tuple[Event, ...]:
        """The events since the last call, possibly none."""

    def close(self) -> None:
        """Ends the watch; nothing is notified afterwards."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that was taken in. `task.state` is `rejected` when there was no room."""

    task: Task
    watch: Watch | None


@dataclass(frozen=True, slots=True)
class CancelReport:
    """A cancelled task and what its cancel leaves behind or has ended (spec/door.md 11)."""

    task: Task
    residue: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class StopReport:
    """The tasks that one stop cancelled, sorted by id, and what they leave behind."""

    canceled: tuple[str, ...]
    residue: tuple[Mapping[str, object], ...]


class BoardRefusal(Exception):
    """The board does not do what was asked; nothing has changed."""


class UnknownTask(BoardRefusal):
    """No task with this id was ever held."""

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id)
        self.task_id = task_id


class TaskNotOpen(BoardRefusal):
    """The task is in a state that does not allow it; `task` says which."""

    def __init__(self, task: Task) -> None:
        super().__init__(f"{task.id} is {task.state}")
        self.task = task


class ContextMismatch(BoardRefusal):
    """A reply names a context other than that of the task waiting for it."""


Notify = Callable[[], None]


class TaskBoard(Protocol):
    """Accept, read, cancel, watch; take and report. Every method may be called from any thread.

    `notify` is called, from any thread and while the board is locked, whenever a watch has news: it
    must not block and must not call the board.
    """

    # The door's side.

    def accept(
        self, submission: Submission, notify: Notify | None = None, after: int | None = None
    ) -> Accepted:
        """Routes a message: a new task, or the reply to one that waits (spec/door.md 10.3).

        With `notify` the answer carries a watch that misses nothing. Raises UnknownTask,
        TaskNotOpen or ContextMismatch.
        """

    def get(self, task_id: str) -> Task:
        """Raises UnknownTask."""

    def tasks(self) -> tuple[Task, ...]:
        """Every task held, most recently changed first."""

    @property
    def generation(self) -> int:
        """How many tasks have ended so far; messages refused for room are no tasks."""

    def cancel(self, task_id: str) -> CancelReport:
        """Ends a task now, whatever it is doing. Raises UnknownTask, or TaskNotOpen if ended."""

    def cancel_all(self) -> StopReport:
        """Cancels every task that has not ended; the session lives on."""

    def watch(self, task_id: str | None, notify: Notify, after: int | None = None) -> Watch:
        """Follows one task, or with None the session, replaying numbered events after `after`.

        Raises UnknownTask, or TaskNotOpen if the task has ended.
        """

    # The worker's side.

    def submit_local(
        self,
        text: str,
        origin: Origin = Origin.USER,
        trust: Trust = Trust.TRUSTED,
        context_id: str | None = None,
        source: Source = "task_md",
        task_id: str | None = None,
    ) -> Task:
        """Queues a task of the session's own, whatever the acceptance; `task_id` names it where
        a trace line had to come first."""

    def take(self, timeout: float | None = None) -> Task | None:
        """The next task, or None after `timeout` seconds or once the board is closing."""

    def start(self, task: Task) -> bool:
        """The taken task begins to work; False when it was cancelled meanwhile."""

    def frame(self, task_id: str, frame: TaskFrame) -> None:
        """Reports progress. Says nothing once the task has ended."""

    def request_input(self, task_id: str, prompt: str, timeout: float | None) -> str | None:
        """Waits for a reply to `prompt`; None after `timeout` seconds or on cancel."""

    def set_residue(self, task_id: str, items: tuple[Mapping[str, object], ...]) -> None:
        """What a cancel of the task, were it to come now, would answer as residue."""

    def set_left_running(self, items: tuple[Mapping[str, object], ...]) -> None:
        """What runs for tasks that are over, which a stop names beside what its cancels leave."""

    def finish(
        self,
        task_id: str,
        state: TaskState,
        text: str,
        *,
        response: str | None = None,
        no_answer: bool = False,
        no_answer_below: tuple[tuple[str, str], ...] = (),
    ) -> bool:
        """Ends the task and frees its place; False when a cancel was there first."""

    def cancelled(self, task_id: str) -> threading.Event:
        """Set once the task is cancelled. Raises UnknownTask."""

    def stop_accepting(self) -> None:
        """From now on no task starts and every message is refused as closing."""

    def reject_queued(self) -> tuple[Task, ...]:
        """Rejects what never started, because the session ends on its own."""

    def close(self) -> None:
        """Ends every watch. Implies `stop_accepting`."""

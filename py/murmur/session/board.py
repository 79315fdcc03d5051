"""The session's board: which tasks there are, which runs, and what they say.

The door submits and watches from the event loop, the worker takes and reports from its thread; one
lock orders them, so a message's routing, the capacity check and its place in the queue are one step
(spec/door.md 10.3, 13). Nothing under the lock waits, except on the lock's own condition.
"""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from murmur.core.ids import new_id
from murmur.core.tasks import (
    Acceptance,
    Accepted,
    CancelReport,
    ContextMismatch,
    Lane,
    Notify,
    Origin,
    Source,
    StatusFrame,
    StopReport,
    Submission,
    Task,
    TaskFrame,
    TaskNotOpen,
    TaskState,
    Trust,
    UnknownTask,
)
from murmur.session.event_log import EventLog, EventWatch, now_ms

BUSY: Final = "task rejected: capsule is busy"
CLOSING: Final = "task rejected: the session is closing"
CANCELED: Final = "task canceled"
CANCELED_QUEUED: Final = "task canceled before it started"

# Messages refused for room stay readable, but a flood of them must not fill the memory.
_REFUSED_KEPT: Final = 256
# So do tasks that ended, of which a session that sleeps sees no end: the newest, in number and in
# bytes of their texts. One that is gone is answered as one that was never held.
ENDED_KEPT: Final = 1024
ENDED_BYTES: Final = 16 << 20

Residue = tuple[Mapping[str, object], ...]


class _Held:
    """A task on the board, with what only the board knows about it."""

    __slots__ = ("cancelled", "local", "reply", "residue", "settled", "task")

    def __init__(self, task: Task, local: bool) -> None:
        self.task = task
        self.local = local
        self.cancelled = threading.Event()
        self.reply: str | None = None
        self.residue: Residue = ()
        self.settled = False


class Board:
    """`murmur.core.tasks.TaskBoard` for one session.

    `on_never_started` is told, outside the lock, of each task that was cancelled or rejected while
    it waited: no worker ever sees those, and the trace wants them.
    """

    def __init__(
        self,
        acceptance: Acceptance,
        queue_depth: int = 1,
        on_never_started: Callable[[Task], None] | None = None,
        first_context: str | None = None,
    ) -> None:
        """`first_context` is the context of the launch, which its first task runs under."""
        self._acceptance = acceptance
        self._queue_depth = queue_depth
        self._on_never_started = on_never_started
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._log = EventLog(self._lock)
        self._held: dict[str, _Held] = {}
        self._lanes: dict[Lane, deque[_Held]] = {lane: deque() for lane in Lane}
        self._taken: _Held | None = None
        self._refused: deque[str] = deque()
        self._ended: deque[tuple[str, int]] = deque()
        self._ended_bytes = 0
        self._first_context = first_context
        self._generation = 0
        self._left_running: Residue = ()
        self._used = False
        self._closing = False
        self._revision = 0

    # The door's side.

    def accept(
        self, submission: Submission, notify: Notify | None = None, after: int | None = None
    ) -> Accepted:
        with self._lock:
            if submission.task_id is not None:
                held = self._reply_to(submission.task_id, submission)
            else:
                held = self._admit(submission)
            # The watch is there before the first frame that the message causes.
            watch = None if notify is None else self._log.watch(held.task, notify, after)
            if held.task.state is TaskState.INPUT_REQUIRED:
                self._resume(held, submission.text)
            elif held.task.state is TaskState.REJECTED:
                self._log.write(held.task, StatusFrame(TaskState.REJECTED, _said(held.task)))
            self._changed.notify_all()
            return Accepted(held.task, watch)

    def get(self, task_id: str) -> Task:
        with self._lock:
            return self._find(task_id).task

    def tasks(self) -> tuple[Task, ...]:
        with self._lock:
            newest_first = sorted(self._held.values(), key=lambda held: -held.task.revision)
            return tuple(held.task for held in newest_first)

    @property
    def generation(self) -> int:
        with self._lock:
            return self._generation

    def cancel(self, task_id: str) -> CancelReport:
        with self._lock:
            held = self._find(task_id)
            if held.task.state.ended or held.settled:
                raise TaskNotOpen(held.task)
            queued = held.task.state is TaskState.SUBMITTED
            self._end(held, TaskState.CANCELED, CANCELED_QUEUED if queued else CANCELED)
            held.cancelled.set()
            self._leave_queue(held)
            report = CancelReport(held.task, held.residue)
        if queued:
            self._tell_never_started((report.task,))
        return report

    def cancel_all(self, spare: str | None = None) -> StopReport:
        """`spare` is a task that is interrupted only: what it is doing ends, and its worker says
        how it ended."""
        canceled: list[str] = []
        residue: list[Mapping[str, object]] = []
        with self._lock:
            open_ids = [key for key, held in self._held.items() if not held.task.state.ended]
            if spare in open_ids:
                open_ids.remove(spare)
                self._held[spare].cancelled.set()
        for task_id in sorted(open_ids):
            try:
                report = self.cancel(task_id)
            except TaskNotOpen:
                continue  # It ended on its own in between.
            canceled.append(task_id)
            residue += report.residue
        with self._lock:
            residue += [item for item in self._left_running if item not in residue]
        return StopReport(tuple(canceled), tuple(residue))

    def watch(self, task_id: str | None, notify: Notify, after: int | None = None) -> EventWatch:
        with self._lock:
            task = None if task_id is None else self._find(task_id).task
            if task is not None and task.state.ended:
                raise TaskNotOpen(task)
            return self._log.watch(task, notify, after)

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
        with self._lock:
            task = self._new_task(text, origin, trust, self._context(context_id))
            task = dataclasses.replace(task, id=task_id or task.id, source=source)
            self._enqueue(_Held(task, local=True))
            self._changed.notify_all()
            return task

    def take(self, timeout: float | None = None) -> Task | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self._closing:
                held = self._next()
                if held is not None:
                    self._taken = held
                    return held.task
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return None
                self._changed.wait(remaining)
            return None

    def start(self, task: Task) -> bool:
        with self._lock:
            held = self._find(task.id)
            if held.task.state.ended:
                self._release(held)
                return False
            self._update(held, state=TaskState.WORKING)
            return True

    def frame(self, task_id: str, frame: TaskFrame) -> None:
        with self._lock:
            held = self._find(task_id)
            if held.task.state.ended:
                return
            if isinstance(frame, StatusFrame) and frame.state is not held.task.state:
                if frame.state.ended:
                    raise ValueError("a task ends through finish or cancel")
                self._update(held, state=frame.state)
            self._log.write(held.task, frame)

    def request_input(self, task_id: str, prompt: str, timeout: float | None) -> str | None:
        with self._lock:
            held = self._find(task_id)
            if held.task.state.ended:
                return None
            held.reply = None
            self._update(held, state=TaskState.INPUT_REQUIRED, prompt=prompt)
            self._log.write(held.task, StatusFrame(TaskState.INPUT_REQUIRED, prompt))
            self._changed.wait_for(lambda: held.task.state is not TaskState.INPUT_REQUIRED, timeout)
            if held.task.state is TaskState.INPUT_REQUIRED:
                # Nobody answered. From here on a reply is refused: the task no longer waits.
                self._update(held, state=TaskState.WORKING, prompt=None)
            return held.reply

    def set_residue(self, task_id: str, items: Residue) -> None:
        with self._lock:
            self._find(task_id).residue = items

    def set_left_running(self, items: Residue) -> None:
        with self._lock:
            self._left_running = items

    def settle(self, task_id: str) -> bool:
        """The task's ending is decided: no cancel is taken any more. False when one came first.

        Between this and `finish` the worker writes the ending down, so that records, trace and
        streams tell of one ending.
        """
        with self._lock:
            held = self._find(task_id)
            if held.task.state.ended:
                return False
            held.settled = True
            return True

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
        if not state.ended:
            raise ValueError(f"{state} is no end")
        with self._lock:
            held = self._find(task_id)
            self._release(held)
            if held.task.state.ended:
                return False
            self._update(held, no_answer=no_answer, no_answer_below=no_answer_below)
            self._end(held, state, text, response)
            return True

    def reword(self, task_id: str, text: str) -> None:
        """Another status text for a task that was cancelled, once it is known how that went.

        Streams have been told its end already, in the words of then.
        """
        with self._lock:
            self._update(self._find(task_id), status_text=text)

    def cancelled(self, task_id: str) -> threading.Event:
        with self._lock:
            return self._find(task_id).cancelled

    def stop_accepting(self) -> None:
        with self._lock:
            self._closing = True
            self._changed.notify_all()

    def reject_queued(self) -> tuple[Task, ...]:
        with self._lock:
            waiting = [held for lane in self._lanes.values() for held in lane]
            for lane in self._lanes.values():
                lane.clear()
            for held in waiting:
                self._end(held, TaskState.REJECTED, CLOSING)
            rejected = tuple(held.task for held in waiting)
        self._tell_never_started(rejected)
        return rejected

    def close(self) -> None:
        with self._lock:
            self.stop_accepting()
            self._log.end()

    # Under the lock.

    def _find(self, task_id: str) -> _Held:
        held = self._held.get(task_id)
        if held is None:
            raise UnknownTask(task_id)
        return held

    def _reply_to(self, task_id: str, submission: Submission) -> _Held:
        held = self._find(task_id)
        if held.task.state is not TaskState.INPUT_REQUIRED:
            raise TaskNotOpen(held.task)
        if submission.context_id not in (None, held.task.context_id):
            raise ContextMismatch(task_id)
        return held

    def _resume(self, held: _Held, text: str) -> None:
        held.reply = text
        self._update(held, state=TaskState.WORKING, prompt=None)
        self._log.write(held.task, StatusFrame(TaskState.WORKING, "resumed"))

    def _admit(self, submission: Submission) -> _Held:
        task = self._new_task(
            submission.text,
            submission.origin,
            submission.trust,
            self._context(submission.context_id),
            submission,
        )
        refusal = self._no_room()
        if refusal is None:
            held = _Held(task, local=False)
            self._enqueue(held)
            return held
        held = _Held(
            dataclasses.replace(task, state=TaskState.REJECTED, status_text=refusal), local=False
        )
        self._held[task.id] = held
        self._refused.append(task.id)
        if len(self._refused) > _REFUSED_KEPT:
            del self._held[self._refused.popleft()]
        return held

    def _no_room(self) -> str | None:
        """Why a new message is refused, or None. Lanes play no part (spec/door.md 14)."""
        if self._closing:
            return CLOSING
        if self._acceptance is Acceptance.QUEUE:
            waiting = sum(not held.local for lane in self._lanes.values() for held in lane)
            return BUSY if waiting >= self._queue_depth else None
        if self._acceptance is Acceptance.SINGLE and not self._used:
            return None
        active = any(not held.task.state.ended for held in self._held.values())
        return BUSY if active else CLOSING

    def _new_task(
        self,
        text: str,
        origin: Origin,
        trust: Trust,
        context_id: str,
        submission: Submission | None = None,
    ) -> Task:
        now = now_ms()
        self._revision += 1
        task = Task(
            id=new_id("tsk"),
            context_id=context_id,
            state=TaskState.SUBMITTED,
            text=text,
            origin=origin,
            trust=trust,
            submitted_ms=now,
            updated_ms=now,
            revision=self._revision,
        )
        if submission is None:
            return task
        return dataclasses.replace(
            task,
            message_id=submission.message_id,
            caller=submission.caller,
            reference_task_ids=submission.reference_task_ids,
            traceparent=submission.traceparent,
            forget_session=submission.forget_session,
        )

    def _context(self, given: str | None) -> str:
        """The context a task runs under; the launch's own is the first task's without one."""
        if given is not None:
            return given
        first, self._first_context = self._first_context, None
        return first or new_id("ctx")

    def _enqueue(self, held: _Held) -> None:
        self._used = True
        self._held[held.task.id] = held
        self._lanes[held.task.lane].append(held)

    def _leave_queue(self, held: _Held) -> None:
        lane = self._lanes[held.task.lane]
        if held in lane:
            lane.remove(held)

    def _next(self) -> _Held | None:
        if self._taken is not None:
            return None  # One task at a time, and a cancelled one until its worker let go.
        for lane in self._lanes.values():
            if lane:
                return lane.popleft()
        return None

    def _release(self, held: _Held) -> None:
        if self._taken is held:
            self._taken = None
            self._changed.notify_all()

    def _update(self, held: _Held, **changes: object) -> None:
        self._revision += 1
        held.task = dataclasses.replace(
            held.task,
            updated_ms=now_ms(),
            revision=self._revision,
            **changes,  # type: ignore[arg-type]
        )

    def _end(self, held: _Held, state: TaskState, text: str, response: str | None = None) -> None:
        self._update(held, state=state, status_text=text, response=response, prompt=None)
        self._generation += 1
        self._log.write(held.task, StatusFrame(state, text, response))
        self._changed.notify_all()
        self._keep_ended(held, len(held.task.text) + len(response or ""))

    def _keep_ended(self, held: _Held, size: int) -> None:
        """Forgets the oldest tasks that ended once there are too many, and what nobody reads."""
        self._ended.append((held.task.id, size))
        self._ended_bytes += size
        while len(self._ended) > ENDED_KEPT or self._ended_bytes > ENDED_BYTES:
            oldest, freed = self._ended[0]
            kept = self._held[oldest]
            if kept is held or kept is self._taken:
                break  # Its worker still asks for it.
            self._ended.popleft()
            self._ended_bytes -= freed
            del self._held[oldest]

    def _tell_never_started(self, tasks: tuple[Task, ...]) -> None:
        if self._on_never_started is not None:
            for task in tasks:
                self._on_never_started(task)


def _said(task: Task) -> str:
    return task.status_text or ""

"""One task from start to end: trace lines, attempt, result file, final status.

spec/sessions.md 9 and 12. Each started task writes one `task_start` and one `task_end`.
"""

import contextlib
import dataclasses
import threading
import time
from typing import Protocol

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import Root
from murmur.core.tasks import Task, TaskFrame, TaskState
from murmur.guest.client import InputRefused
from murmur.inference.payload import cache_key
from murmur.manifest.capsule import Capsule
from murmur.session.attempt import (
    KILLED,
    Attempt,
    Ending,
    Interrupted,
    broken_off,
    canceled,
    overdue,
)
from murmur.session.background import Background
from murmur.session.board import Board
from murmur.session.course import Course, Rules, task_message
from murmur.session.history import Conversations, user_message
from murmur.session.hooks.tasks import TaskHooks
from murmur.session.notices import lose
from murmur.session.results import RESULT, result_of, write_result
from murmur.session.runtime_files import remove_task, write_task
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


class Loop(Protocol):
    """What runs attempts: the agent loop, or a harness in its place."""

    def run(self, attempt: Attempt) -> Ending: ...

    def compact_loaded(self, attempt: Attempt) -> Ending | None: ...


class Elsewhere(Protocol):
    """Who holds the conversations, where it is not the runtime."""

    def begin(self, task: Task) -> None:
        """A task starts; what it wants forgotten is."""

    def continues(self, task_id: str | None) -> bool:
        """Whether another attempt at the task would go on where the last one ended."""


@dataclasses.dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks in the session's worker thread."""

    loop: Loop
    board: Board
    trace: TraceWriter
    capture: Capture
    records: Root
    runtime: Root
    capsule: Capsule
    conversations: Conversations
    rules: Rules
    background: Background | None = None
    hooks: TaskHooks | None = None
    elsewhere: Elsewhere | None = None

    def run(self, task: Task) -> Ending | None:
        """Runs one taken task; None when it was cancelled before it could start.

        Raises E-RUN-007 when the trace cannot be written; the task has ended `failed` then.
        """
        if not self.board.start(task):
            return None
        began = time.monotonic()
        started = False
        try:
            self._put_task(task.text)
            self._trace_start(task)
            started = True
            ending, course = self._attempts(task)
            if not self.board.settle(task.id) and ending.status != "canceled":
                # The cancel is what every stream has been told; records and trace say the same.
                ending = canceled("turn", ending.turn)
            if ending.status == "canceled" and self.rules.overdue:
                ending = overdue(ending)
            self._write_down(ending, task.id)
            self._trace_end(task, ending.status, began, course)
        except MurmurError as failure:
            self._write_result(f"error: {failure.message}")
            if started:
                self._trace_aside(task, failure.message, began)
            self.board.finish(task.id, TaskState.FAILED, "session ended")
            raise
        finally:
            if self.hooks is not None:
                self.hooks.end()
        self._take_task_away()
        state = TaskState.FAILED if ending.status == "canceled" else ending.state
        finished = self.board.finish(task.id, state, ending.said, response=ending.response)
        if not finished and ending.said == KILLED:
            self.board.reword(task.id, KILLED)
        return ending

    def _attempts(self, task: Task) -> tuple[Ending, Course]:
        """The task's attempts; a fault of ours fails the task, a lost trace the session."""
        elsewhere = self.elsewhere
        if elsewhere is not None:
            elsewhere.begin(task)
        history = self.conversations.open(task.context_id)
        interrupted = Interrupted()
        attempt = Attempt(
            task_id=task.id,
            cache_key=cache_key(self.capsule.name, self.capsule.version, task.context_id),
            history=history,
            frame=lambda frame: self.board.frame(task.id, frame),
            cancel=self.board.cancelled(task.id),
            ask=lambda prompt: self._ask(task, prompt, interrupted),
            interrupted=interrupted,
            continuable=lambda: elsewhere is None or elsewhere.continues(task.id),
        )
        refused = self._resumed(task, attempt)
        if self.hooks is not None:
            self.hooks.begin(task, history)
        history.add(task_message(task, task.text))
        given = task.text

        def rewrite(text: str) -> None:
            nonlocal given
            given = text
            self._put_task(text)

        def run_attempt(attempt: Attempt) -> Ending:
            if refused is not None:
                return refused
            if self.hooks is not None:
                self.hooks.begin_attempt(task, given, attempt)
            return self._run_loop(attempt)

        course = Course(
            self.rules,
            self.trace,
            task,
            attempt,
            run_attempt=run_attempt,
            rewrite=rewrite,
            on_failed=lambda ending: self._trace_failed(ending, task.id),
        )
        try:
            return course.run(), course
        except MurmurError:
            raise
        except Exception as failure:
            return broken_off(failure), course
        finally:
            history.close()

    def _resumed(self, task: Task, attempt: Attempt) -> Ending | None:
        """Compacts what `--resume-mode compact` loaded; an ending when the hooks failed at it."""
        if self.hooks is None or not self.conversations.to_compact(attempt.history):
            return None
        self.hooks.hooks.scope.begin_task(task.id, task.context_id)
        return self.loop.compact_loaded(attempt)

    def _run_loop(self, attempt: Attempt) -> Ending:
        try:
            return self.loop.run(attempt)
        except MurmurError:
            raise
        except Exception as failure:
            return broken_off(failure)

    def run_idle(self, cancel: threading.Event, context_id: str | None = None) -> Ending:
        """The one run with an empty task, after nobody sent one. spec/sessions.md 9.

        `context_id` is the launch's own; without one nothing is recorded. Raises E-RUN-007 when the
        trace cannot be written.
        """
        history = self.conversations.open(context_id or "")
        history.add(user_message(""))
        ending = self._run_loop(
            Attempt(
                task_id=None,
                cache_key=cache_key(self.capsule.name, self.capsule.version, context_id),
                history=history,
                frame=_no_stream,
                cancel=cancel,
                ask=None,
            )
        )
        self._write_down(ending, None)
        return ending

    def _write_down(self, ending: Ending, task_id: str | None) -> None:
        """The result file, then the trace lines that say how it came to this."""
        if ending.result is not None:
            self._write_result(ending.result)
            if task_id is not None and self.rules.lifecycle.conversation == "threaded":
                self._write_result(ending.result, result_of(task_id))
        self._trace_ending(ending, task_id)

    def _write_result(self, text: str, name: str = RESULT) -> None:
        try:
            write_result(self.records, text, name)
        except OSError as failure:
            lose(self.records, name, failure)

    def _put_task(self, text: str) -> None:
        try:
            write_task(self.runtime, text)
        except OSError as failure:
            lose(self.records, "task.md", failure)

    def _take_task_away(self) -> None:
        try:
            remove_task(self.runtime)
        except OSError as failure:
            lose(self.records, "task.md", failure)

    def never_started(self, task: Task) -> None:
        """The trace of a task that ended while it waited: cancelled or rejected."""
        if task.state is TaskState.CANCELED:
            self.trace.write_aside(
                "task_canceled",
                task_id=task.id,
                phase="queued",
                detached_work_ids=[],
                delegation_ids=[],
            )
        elif task.state is TaskState.REJECTED:
            self.trace.write_aside(
                "task_rejected",
                task_id=task.id,
                context_id=task.context_id,
                source=task.source,
                cause="session_ended",
                reason=task.status_text or "",
            )

    def _trace_start(self, task: Task) -> None:
        if task.caller is not None:
            self.trace.write(
                "a2a_task_received",
                task_id=task.id,
                context_id=task.context_id,
                message_id=task.message_id or "",
                traceparent_from_caller=task.traceparent,
                caller=task.caller.kind,
                caller_credential=task.caller.name if task.caller.kind == "credential" else None,
                caller_member=task.caller.name if task.caller.kind == "member" else None,
                message_sha256=self.capture.message(task.text),
            )
        self.trace.write(
            "task_start",
            task_id=task.id,
            context_id=task.context_id,
            source=task.source,
            origin=str(task.origin),
            trust=str(task.trust),
            lane=str(task.lane),
            message_parts_bytes=len(task.text.encode("utf-8", "surrogatepass")),
        )

    def _trace_failed(self, ending: Ending, task_id: str | None) -> None:
        self.trace.write(
            "task_failed",
            task_id=task_id,
            turn=ending.turn,
            cause=ending.cause,
            reason=ending.reason,
        )

    def _trace_ending(self, ending: Ending, task_id: str | None) -> None:
        if ending.cause is not None:
            self._trace_failed(ending, task_id)
        if ending.state is TaskState.CANCELED and task_id is not None:
            self.trace.write(
                "task_canceled",
                task_id=task_id,
                turn=ending.turn,
                phase=ending.phase or "turn",
                detached_work_ids=self.background.running_of(task_id) if self.background else [],
                delegation_ids=[],
            )

    def _trace_end(
        self, task: Task, status: str, began: float, course: Course | None = None
    ) -> None:
        stopped_by = course.stopped_by if course is not None else None
        self.trace.write(
            "task_end",
            task_id=task.id,
            exit_status=status,
            duration_ms=int((time.monotonic() - began) * 1000),
            reopen_count=course.reopens if course is not None else 0,
            keep_working=None if stopped_by is None else {"stopped_by": stopped_by},
            **self.trace.task_counts.task_end(),
        )

    def _trace_aside(self, task: Task, reason: str, began: float) -> None:
        """The last lines of a task whose session ends with E-RUN-007, where they can be written."""
        self.trace.write_aside(
            "task_failed", task_id=task.id, turn=None, cause="runtime_error", reason=reason
        )
        with contextlib.suppress(MurmurError):
            self._trace_end(task, "failed", began)

    def _ask(self, task: Task, prompt: str, interrupted: Interrupted) -> str:
        """Waits for the reply to a guest's request-input. Raises InputRefused."""
        seconds = self.capsule.lifecycle.input_timeout_secs
        reply = self.board.request_input(task.id, prompt, seconds)
        if reply is not None:
            return reply
        if self.board.cancelled(task.id).is_set():
            interrupted.phase = "input"
            raise InputRefused("the task was canceled")
        interrupted.timed_out = True
        raise InputRefused("input-timeout")


def _no_stream(frame: TaskFrame) -> None:
    """Where the frames of a run without a task go."""


def is_local(task: Task) -> bool:
    """Whether the launch itself gave this task."""
    return task.source == "task_md"

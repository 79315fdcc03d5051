"""One task from start to end: trace lines, attempt, result file, final status.

spec/sessions.md 9 and 12. Each started task writes one `task_start` and one `task_end`.
"""

import dataclasses
import threading
import time

from murmur.core.safefs import Root
from murmur.core.tasks import Origin, Task, TaskFrame, TaskState, Trust
from murmur.guest.client import InputRefused
from murmur.inference.payload import cache_key
from murmur.manifest.capsule import Capsule
from murmur.session.attempt import Attempt, Ending, canceled
from murmur.session.board import Board
from murmur.session.fence import fence
from murmur.session.loop import AgentLoop
from murmur.session.results import write_result
from murmur.session.runtime_files import remove_task, write_task
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks in the session's worker thread."""

    loop: AgentLoop
    board: Board
    trace: TraceWriter
    capture: Capture
    records: Root
    runtime: Root
    capsule: Capsule

    def run(self, task: Task) -> Ending | None:
        """Runs one taken task; None when it was cancelled before it could start."""
        if not self.board.start(task):
            return None
        began = time.monotonic()
        write_task(self.runtime, task.text)
        self._trace_start(task)
        text = task.text
        if task.trust is Trust.UNTRUSTED:
            text = fence(f"task:{task.origin}", text)
        cancel = self.board.cancelled(task.id)
        ending = self.loop.run(
            Attempt(
                task_id=task.id,
                context_id=task.context_id,
                cache_key=cache_key(self.capsule.name, self.capsule.version, task.context_id),
                text=text,
                frame=lambda frame: self.board.frame(task.id, frame),
                cancel=cancel,
                ask=lambda prompt: self._ask(task, prompt),
            )
        )
        if cancel.is_set() and ending.status != "canceled":
            # The cancel is what every stream has been told; the trace says the same.
            ending = canceled("turn", ending.turn)
        self._trace_ending(ending, task.id)
        if ending.result is not None:
            write_result(self.records, ending.result)
        self.trace.write(
            "task_end",
            task_id=task.id,
            exit_status=ending.status,
            duration_ms=int((time.monotonic() - began) * 1000),
            reopen_count=0,
            **self.trace.task_counts.task_end(),
        )
        remove_task(self.runtime)
        finished = self.board.finish(
            task.id,
            ending.state if ending.state is not TaskState.CANCELED else TaskState.FAILED,
            ending.said,
            response=ending.response,
        )
        return ending if finished or ending.status == "canceled" else canceled("turn", ending.turn)

    def run_idle(self, cancel: threading.Event) -> Ending:
        """The one run with an empty task, after nobody sent one. spec/sessions.md 9."""
        ending = self.loop.run(
            Attempt(
                task_id=None,
                context_id="",
                cache_key=cache_key(self.capsule.name, self.capsule.version, None),
                text="",
                frame=_no_stream,
                cancel=cancel,
                ask=None,
            )
        )
        self._trace_ending(ending, None)
        if ending.result is not None:
            write_result(self.records, ending.result)
        return ending

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
                source="a2a",
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
            source="a2a" if task.caller is not None else "task_md",
            origin=str(task.origin),
            trust=str(task.trust),
            lane=str(task.lane),
            message_parts_bytes=len(task.text.encode("utf-8", "surrogatepass")),
        )

    def _trace_ending(self, ending: Ending, task_id: str | None) -> None:
        if ending.cause is not None:
            self.trace.write(
                "task_failed",
                task_id=task_id,
                turn=ending.turn,
                cause=ending.cause,
                reason=ending.reason,
            )
        if ending.status == "canceled" and task_id is not None:
            self.trace.write(
                "task_canceled",
                task_id=task_id,
                turn=ending.turn,
                phase=ending.phase or "turn",
                detached_work_ids=[],
                delegation_ids=[],
            )

    def _ask(self, task: Task, prompt: str) -> str:
        """Waits for the reply to a guest's request-input. Raises InputRefused."""
        seconds = self.capsule.lifecycle.input_timeout_secs
        reply = self.board.request_input(task.id, prompt, seconds)
        if reply is None:
            raise InputRefused("input-timeout")
        return reply


def _no_stream(frame: TaskFrame) -> None:
    """Where the frames of a run without a task go."""


def is_local(task: Task) -> bool:
    """Whether the launch itself gave this task."""
    return task.caller is None and task.origin is Origin.USER

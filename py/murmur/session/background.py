"""Commands of a session that were moved to the background: watched, told of, given up at the end.

spec/sessions.md 14.4. Each has a thread of its own for as long as it runs, beside the processes
that it has anyway: writing its log may wait for the disk, which must hold up neither the event loop
nor the agent, and below the Full tier a command can be waited for but not polled.

What a command came to is told to the agent once: by `background-command` when it asks first, else
by a task of origin `completion`. That is decided between tasks, so that an agent which asks while
its own task still runs gets no task for what it has read.
"""

import dataclasses
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from murmur.core.diagnostics import MurmurError
from murmur.core.ids import new_id
from murmur.core.safefs import Root
from murmur.core.streams import complain
from murmur.core.tasks import BoardRefusal, Origin, TaskBoard
from murmur.sandbox.results import CommandResult
from murmur.sandbox.running import KILL_S, TERMINATE_S
from murmur.session.background_text import abandoned_report, completion_text
from murmur.session.command_output import CommandOutput
from murmur.session.notices import keep
from murmur.trace.writer import TraceWriter

_JOIN_S: Final = 5.0
# How many ended commands stay known to `background-command`.
_ENDED_KEPT: Final = 100
_TURN_S: Final = 1.0


class Started(Protocol):
    """A command that was started: sandbox.running.RunningCommand, or its kin."""

    def wait(self, timeout: float | None = None) -> CommandResult | None: ...
    def let_go(self) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


@dataclasses.dataclass(slots=True)
class Detached:
    """A command in the background. `result` is set once it has ended, and `ended` with it.

    `told` says that the agent has read how it ended, `closed` that its last trace line is written.
    """

    work_id: str
    task_id: str | None
    context_id: str
    binary: str
    command: str
    running: Started
    output: CommandOutput
    began: float
    started_at_ms: int
    result: CommandResult | None = None
    ended: threading.Event = dataclasses.field(default_factory=threading.Event)
    waiting: int = 0
    told: bool = False
    closed: bool = False

    @property
    def log(self) -> str:
        """Relative to the records directory."""
        return f"logs/{self.work_id}.log"

    @property
    def elapsed_ms(self) -> int:
        if self.result is not None:
            return self.result.duration_ms
        return int((time.monotonic() - self.began) * 1000)

    @property
    def ok(self) -> bool:
        """Ended by itself with 0, and no limit in play."""
        result = self.result
        return result is not None and result.exit_code == 0 and result.resource_limit is None

    def residue(self) -> dict[str, object]:
        """How a cancel names it. spec/door.md 11."""
        return {
            "kind": "detached_shell",
            "work_id": self.work_id,
            "binary": self.binary,
            "command": self.command,
            "started_at_ms": self.started_at_ms,
        }


class Background:
    """The session's background commands. Its methods may be called from any thread."""

    def __init__(
        self, session_id: str, records: Root, records_path: str, trace: TraceWriter
    ) -> None:
        self._session_id = session_id
        self._records = records
        self._records_path = records_path
        self._trace = trace
        self._lock = threading.RLock()
        self._commands: dict[str, Detached] = {}
        self._foreground: tuple[str | None, Mapping[str, object]] | None = None
        self._threads: list[threading.Thread] = []
        self._board: TaskBoard | None = None
        self._between_tasks = False
        self._closing = False

    def attach(self, board: TaskBoard) -> None:
        """The board that tells the agent, and whose cancels name what is left running."""
        self._board = board

    # The life of a command.

    def foreground(self, task_id: str | None, item: Mapping[str, object] | None) -> None:
        """A command runs in the foreground, or none does (None): a cancel would leave it running,
        so a cancel that comes now says so."""
        with self._lock:
            self._foreground = None if item is None else (task_id, item)
            self._tell_residue(task_id)

    def adopt(self, detached: Detached, turn: int, grace_ms: int | None) -> None:
        """Takes over a command that still runs; `grace_ms` None when no clock moved it.

        Its `shell_detached` line is written here; where that fails the command goes on, and
        standard error says what it costs.
        """
        detached.output.move_to_log(detached.log)
        detached.running.let_go()
        facts: dict[str, Any] = {
            "turn": turn,
            "task_id": detached.task_id,
            "work_id": detached.work_id,
            "binary": detached.binary,
        }
        lost = self._trace.write_aside(
            "shell_detached", **facts, command=detached.command, grace_ms=grace_ms
        )
        if lost is not None:
            self._say_unrecorded(detached, lost, facts)
        watcher = threading.Thread(
            target=self._watch, args=(detached,), name=f"murmur-{detached.work_id}", daemon=True
        )
        with self._lock:
            self._foreground = None
            self._forget_old()
            self._commands[detached.work_id] = detached
            self._threads = [each for each in self._threads if each.is_alive()] + [watcher]
            self._tell_residue(detached.task_id)
            watcher.start()

    def _forget_old(self) -> None:
        over = [each.work_id for each in self._commands.values() if each.closed]
        for work_id in over[:-_ENDED_KEPT]:
            del self._commands[work_id]

    def _say_unrecorded(self, detached: Detached, lost: MurmurError, facts: dict[str, Any]) -> None:
        line = (
            f"[capsule-runtime] warning: {detached.work_id} ({detached.command}) runs in the "
            f"background unrecorded: {lost.message}; if this runtime is killed, no later resume "
            f"will report it as lost"
        )
        if complain(line):
            keep(self._records, line)
        self._trace.write_aside("shell_detach_unrecorded", **facts, reason=lost.message)

    def _watch(self, detached: Detached) -> None:
        """Reads one command to its end, in its own thread."""
        result = None
        try:
            while result is None:
                result = detached.running.wait(_TURN_S)
        except Exception as fault:
            why = f"it could not be waited for: {type(fault).__name__}: {fault}"
            result = CommandResult(-1, b"", b"", detached.elapsed_ms, set_up_failure=why)
        detached.output.close()
        with self._lock:
            detached.result = result
            # Who waits for it reads it; nobody has to be told again.
            detached.told = detached.told or detached.waiting > 0
            detached.ended.set()
            self._tell_residue(detached.task_id)
            if self._between_tasks or detached.told:
                self._close(detached)

    def _tell_residue(self, task_id: str | None) -> None:
        if self._board is None:
            return
        running = [each for each in self._commands.values() if each.result is None]
        self._board.set_left_running(tuple(each.residue() for each in running))
        if task_id is None:
            return
        items = [each.residue() for each in self._running_of(task_id)]
        if self._foreground is not None and self._foreground[0] == task_id:
            items.append(dict(self._foreground[1]))
        try:
            self._board.set_residue(task_id, tuple(items))
        except BoardRefusal:
            pass  # the task has left the board: nobody can cancel it any more

    def _running_of(self, task_id: str | None) -> list[Detached]:
        return [
            each
            for each in self._commands.values()
            if each.task_id == task_id and each.result is None
        ]

    def running_of(self, task_id: str) -> list[str]:
        """The work ids of a task's commands that still run."""
        with self._lock:
            return [each.work_id for each in self._running_of(task_id)]

    # Telling the agent.

    def between_tasks(self, now: bool) -> None:
        """No task runs (True), or one is about to (False). What has ended meanwhile is told."""
        with self._lock:
            self._between_tasks = now
            if now:
                for each in list(self._commands.values()):
                    if each.result is not None:
                        self._close(each)

    def _close(self, detached: Detached) -> None:
        """Writes `shell_completed`, and queues the task that tells of it unless it was told."""
        if detached.closed or self._closing:
            return
        detached.closed = True
        result = detached.result
        assert result is not None
        task_id = None if detached.told or self._board is None else new_id("tsk")
        self._trace.write_aside(
            "shell_completed",
            work_id=detached.work_id,
            binary=detached.binary,
            command=detached.command,
            exit_code=result.exit_code,
            duration_ms=result.duration_ms,
            output_path=detached.log,
            output_bytes=detached.output.written,
            resource_limit=result.resource_limit,
            status="ok" if detached.ok else "error",
            completion_task_id=task_id,
        )
        if task_id is not None:
            assert self._board is not None
            self._board.submit_local(
                completion_text(detached, self._records_path),
                Origin.COMPLETION,
                context_id=detached.context_id,
                source="detached_shell",
                task_id=task_id,
            )

    # What `background-command` asks.

    def find(self, work_id: str) -> Detached | None:
        with self._lock:
            return self._commands.get(work_id)

    def wait(self, detached: Detached, seconds: float, cancel: threading.Event) -> bool:
        """Waits until the command has ended, `seconds` are over or `cancel` is set; whether it has
        ended. Its end counts as told then."""
        deadline = time.monotonic() + seconds
        with self._lock:
            detached.waiting += 1
        try:
            while not detached.ended.is_set() and not cancel.is_set():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                detached.ended.wait(min(left, 0.05))
        finally:
            with self._lock:
                detached.waiting -= 1
        return self.read(detached)

    def stop(self, detached: Detached) -> bool:
        """SIGTERM, and SIGKILL if need be; whether the command has ended."""
        with self._lock:
            detached.waiting += 1
        try:
            if not detached.ended.is_set():
                detached.running.terminate()
                if not detached.ended.wait(TERMINATE_S):
                    detached.running.kill()
                    detached.ended.wait(KILL_S)
        finally:
            with self._lock:
                detached.waiting -= 1
        return self.read(detached)

    def read(self, detached: Detached) -> bool:
        """Whether the command has ended; if so, the agent is about to be told."""
        with self._lock:
            if detached.result is None:
                return False
            detached.told = True
            self._close(detached)
            return True

    # The end of the session.

    def give_up(self) -> None:
        """Accounts for every command that nobody was told of: `shell_abandoned` and one report.

        From now on no end of a command is told; whoever calls this kills them next.
        """
        with self._lock:
            self._closing = True
            left = [each for each in self._commands.values() if not each.closed]
        for each in left:
            each.closed = True
            known = each.result is not None
            self._trace.write_aside(
                "shell_abandoned",
                work_id=each.work_id,
                binary=each.binary,
                command=each.command,
                running_ms=each.elapsed_ms,
                exit_code=each.result.exit_code if each.result is not None else None,
                output_path=each.log if known else None,
                output_bytes=each.output.written if known else None,
            )
        if left:
            self._report(left)

    def _report(self, left: Sequence[Detached]) -> None:
        text = abandoned_report(self._session_id, left, self._records_path)
        if complain(text):
            keep(self._records, text)

    def join(self) -> None:
        """Waits for the watchers of commands that were killed."""
        deadline = time.monotonic() + _JOIN_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

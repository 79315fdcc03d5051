"""The task loop of a session and how the launch ends. spec/sessions.md 9 and 21."""

import contextlib
import math
import threading
from collections.abc import Mapping
from typing import Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.ids import new_id
from murmur.core.tasks import Origin, TaskNotOpen, TaskState, UnknownTask
from murmur.session.attempt import Ending, canceled, overdue
from murmur.session.lost_commands import reconcile, report_text
from murmur.session.notices import say
from murmur.session.outcome import Outcome, settled
from murmur.session.session_end import close_commands, close_trace, session_ms
from murmur.session.start import Session
from murmur.session.task_runner import is_local

_IDLE_SECONDS: Final = 30.0


def run_tasks(session: Session) -> Outcome:
    """Runs tasks, one at a time, until the lifecycle ends the session, and tells the hooks of its
    beginning and its end. Blocks its thread.

    Never raises: a lost trace, and a fault of ours between tasks, is the outcome E-RUN-007.
    """
    if session.hooks is None:
        return settled(lambda: _run_tasks(session))
    session.hooks.begin(session.staged)
    outcome = settled(lambda: _run_tasks(session))
    session.board.stop_accepting()
    session.board.reject_queued()
    session.hooks.end(session_ms(session.staged), outcome.status)
    return outcome


def _run_tasks(session: Session) -> Outcome:
    deciding = _run_until_end(session)
    session.overdue.too_late(session.stopping)
    if session.overdue and (deciding is None or deciding.status == "deadline_reached"):
        return _deadline_reached(session)
    return Outcome("ok") if deciding is None else _outcome(session, deciding)


def _run_until_end(session: Session) -> Ending | None:
    """The first ending that decides the launch's failure; None when there is none."""
    lifecycle = session.staged.prepared.lifecycle
    board, stopping = session.board, session.stopping
    launched = None if session.staged.task is None else board.submit_local(session.staged.task)
    if launched is None and lifecycle.task_acceptance == "none":
        return None
    if launched is not None and stopping.is_set():
        # The signal was there before the task, so nothing has cancelled it yet.
        with contextlib.suppress(TaskNotOpen):
            board.cancel(launched.id)
    lost = _report_lost(session)
    sleeps = lifecycle.task_acceptance == "queue" and lifecycle.after_task == "sleep"
    patience = None if sleeps else idle_seconds(session.staged.prepared.launch.environ)
    deciding: Ending | None = None
    ended = False  # with the task that ends the session; news of lost commands is told after it
    while not stopping.is_set():
        _between_tasks(session, True)
        task = board.take(patience)
        _between_tasks(session, False)
        if task is None:
            if not stopping.is_set():
                context_id = session.staged.prepared.launch.context_id
                deciding = deciding or _failure(session.runner.run_idle(stopping, context_id))
            break
        ending = session.runner.run(task) or _canceled_queued(session)
        if is_local(task) or (task.source == "a2a" and (not sleeps or stopping.is_set())):
            deciding = deciding or _failure(ending)
        if ending.ends_session:
            deciding = deciding or _failure(ending)
            break
        if task.source == "detached_lost":
            lost = False
            if ended:
                break
        else:
            ended = not sleeps
            if ended and not lost:
                break
    if launched is not None and _was_canceled(session, launched.id):
        deciding = deciding or _canceled_queued(session)
    return deciding


def _report_lost(session: Session) -> bool:
    """Queues the task that tells of commands which died with the resumed session."""
    staged = session.staged
    resumed = staged.prepared.launch.resumed
    if resumed is None:
        return False
    task_id = new_id("tsk")
    try:
        lost = reconcile(staged.prepared.launch.home, resumed, staged.session_id, task_id)
    except MurmurError as failure:
        line = f"[capsule-runtime] warning: lost background commands cannot be told: {failure}"
        say(staged.directories.records_root, line)
        return False
    if not lost:
        return False
    session.board.submit_local(
        report_text(resumed, lost),
        Origin.COMPLETION,
        context_id=resumed.context_id,
        source="detached_lost",
        task_id=task_id,
    )
    return True


def _was_canceled(session: Session, task_id: str) -> bool:
    """Whether the launch's task was cancelled; one forgotten by now ended long ago, by its run."""
    with contextlib.suppress(UnknownTask):
        return session.board.get(task_id).state is TaskState.CANCELED
    return False


def _canceled_queued(session: Session) -> Ending:
    ending = canceled("queued", None)
    return overdue(ending) if session.overdue else ending


def _between_tasks(session: Session, now: bool) -> None:
    """While no task runs, the ends of background commands become tasks of their own."""
    if session.commands is not None:
        session.commands.background.between_tasks(now)


def idle_seconds(environ: Mapping[str, str]) -> float:
    """How long a session waits for its first task: `MURMUR_A2A_TIMEOUT_SECS`, 30 by default.

    What is no length of time is the default too.
    """
    try:
        seconds = float(environ.get("MURMUR_A2A_TIMEOUT_SECS", ""))
    except ValueError:
        return _IDLE_SECONDS
    if math.isnan(seconds) or seconds < 0:
        return _IDLE_SECONDS
    return min(seconds, threading.TIMEOUT_MAX)


def _failure(ending: Ending) -> Ending | None:
    """The ending, when it is one that decides a launch's failure."""
    return None if ending.status == "ok" else ending


def _deadline_reached(session: Session) -> Outcome:
    deadline = session.staged.prepared.launch.deadline
    assert deadline is not None
    seconds = deadline.secs if deadline.secs is not None else round(deadline.span)
    refused = error("E-RUN-053", seconds=seconds, source=deadline.source)
    return Outcome("deadline_reached", (refused.diagnostic,))


def _outcome(session: Session, ending: Ending) -> Outcome:
    staged = session.staged
    found: list[MurmurError] = []
    # The task's own status; of a launch there is no such word.
    status = "failed" if ending.status == "reopen_budget_exhausted" else ending.status
    if ending.cause == "credential_rejected":
        found.append(rejected_credential(session))
    if ending.error is not None:
        found.append(ending.error)
    found.append(
        error(
            "E-RUN-040",
            status=status,
            reason=ending.reason or ending.said,
            records=staged.directories.records,
            session=staged.session_id,
        )
    )
    return Outcome(status, tuple(each.diagnostic for each in found))


def rejected_credential(session: Session) -> MurmurError:
    """E-RUN-027 for the configured driver."""
    entry = session.staged.capsule.driver_entry
    assert entry is not None
    credential = session.staged.gateways[entry.name].credential
    assert credential is not None
    return error("E-RUN-027", artifact=entry.name, source=credential.origin)


def end_session(session: Session, outcome: Outcome) -> Outcome:
    """Rejects what still waits, ends every command, writes `session_end`. Never raises.

    The outcome as it is now: a `session_end` that cannot be written is a failure (E-RUN-007).
    """
    session.board.stop_accepting()
    session.board.reject_queued()
    staged = session.staged
    if session.handles is not None:
        session.handles.revoke()
    if session.room is not None:
        session.room.close()
    close_commands(session.commands, staged)
    session.guest_calls.close()
    if session.hooks is not None:
        session.hooks.close()
    return close_trace(session.trace, staged, outcome)

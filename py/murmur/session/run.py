"""The task loop of a session and how the launch ends. spec/sessions.md 9 and 21."""

import dataclasses
import time
from collections.abc import Mapping

from murmur.core.diagnostics import Diagnostic, MurmurError, error
from murmur.session.attempt import Ending
from murmur.session.start import Session
from murmur.session.task_runner import is_local

_IDLE_SECONDS = 30.0


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What `mur run` prints and exits with: a status word and, for a failure, its errors."""

    status: str
    errors: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if self.status == "ok" else 1


def run_tasks(session: Session) -> Outcome:
    """Runs tasks, one at a time, until the lifecycle ends the session. Blocks its thread."""
    lifecycle = session.staged.prepared.lifecycle
    if session.staged.task is not None:
        session.board.submit_local(session.staged.task)
    elif lifecycle.task_acceptance == "none":
        return Outcome("ok")
    sleeps = lifecycle.task_acceptance == "queue" and lifecycle.after_task == "sleep"
    deciding: Ending | None = None
    while not session.stopping.is_set():
        task = session.board.take(
            None if sleeps else idle_seconds(session.staged.prepared.launch.environ)
        )
        if task is None:
            if session.stopping.is_set():
                break
            deciding = deciding or _failure(session.runner.run_idle(session.stopping))
            break
        ending = session.runner.run(task)
        if ending is None:
            continue
        if is_local(task) or not sleeps or session.stopping.is_set():
            deciding = deciding or _failure(ending)
        if not sleeps:
            break
    return Outcome("ok") if deciding is None else _outcome(session, deciding)


def idle_seconds(environ: Mapping[str, str]) -> float:
    """How long a session waits for its first task: `MURMUR_A2A_TIMEOUT_SECS`, 30 by default."""
    try:
        return float(environ.get("MURMUR_A2A_TIMEOUT_SECS", ""))
    except ValueError:
        return _IDLE_SECONDS


def _failure(ending: Ending) -> Ending | None:
    """The ending, when it is one that decides a launch's failure."""
    return None if ending.status == "ok" else ending


def _outcome(session: Session, ending: Ending) -> Outcome:
    staged = session.staged
    found: list[MurmurError] = []
    if ending.cause == "credential_rejected":
        found.append(rejected_credential(session))
    found.append(
        error(
            "E-RUN-040",
            status=ending.status,
            reason=ending.reason or ending.said,
            records=staged.directories.records,
            session=staged.session_id,
        )
    )
    return Outcome(ending.status, tuple(each.diagnostic for each in found))


def rejected_credential(session: Session) -> MurmurError:
    """E-RUN-027 for the configured driver."""
    entry = session.staged.capsule.driver_entry
    assert entry is not None
    credential = session.staged.gateways[entry.name].credential
    assert credential is not None
    return error("E-RUN-027", artifact=entry.name, source=credential.origin)


def end_session(session: Session, outcome: Outcome) -> None:
    """Rejects what still waits, ends every command, writes `session_end`. Never skipped."""
    session.board.stop_accepting()
    session.board.reject_queued()
    if session.commands is not None:
        session.commands.close()
    session.guest_calls.close()
    staged = session.staged
    try:
        session.trace.write(
            "session_end",
            duration_ms=max(0, time.time_ns() // 1_000_000 - staged.started_at),
            exit_status=outcome.status,
            **session.trace.session_counts.session_end(),
        )
    finally:
        session.trace.close()

"""`mur stop`: ends a running capsule and says what it leaves behind. CLI reference, *mur stop*."""

import dataclasses
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from murmur.core.diagnostics import MurmurError, error, printable
from murmur.core.streams import emit

if TYPE_CHECKING:
    from murmur.running.processes import HeldProcess
    from murmur.running.record import Record

_ENDINGS_SECONDS: Final = 5.0
_AFTER_KILL_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05


@click.command("stop")
@click.argument("session")
@click.option(
    "--timeout",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Seconds to wait after SIGTERM before SIGKILL.",
)
def command(session: str, timeout: int) -> None:
    """End one running capsule, or every member of a formation, and report what was left behind."""
    from murmur.cli.reaching import named_session, records_home
    from murmur.running.processes import Standing
    from murmur.running.record import remove_record

    if session.startswith("frm_"):
        raise _formation(session)
    found = named_session(session)
    record = found.record
    if found.standing is not Standing.RUNS:
        reason = "the start time of its process cannot be read, and nothing was signalled"
        raise _unended(record, reason)
    asked = _ask(record)
    if asked is not None and asked.canceled:
        _await_endings(record, asked.canceled, _ENDINGS_SECONDS)
    sent = _end(record, timeout)
    remove_record(records_home(), record.session_id)
    for line in _report(record, sent, asked):
        emit(line)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What the door said to murmur.StopSession; `unknown` is why it could not be asked."""

    canceled: tuple[str, ...] = ()
    residue: tuple[Mapping[str, Any], ...] = ()
    unknown: str = ""


def _ask(record: "Record") -> Asked | None:
    """Step 1; None for a script capsule, which has no door."""
    from murmur.cli.reaching import door_of
    from murmur.door import methods
    from murmur.door.client import DoorRefused, DoorSilent, RpcRefused

    client = door_of(record)
    if client is None:
        return None
    try:
        answer = client.call(methods.STOP_SESSION, {})
    except (DoorSilent, DoorRefused, RpcRefused) as failure:
        return Asked(unknown=str(failure))
    if answer.get("session_id", answer.get("sessionId")) != record.session_id:
        return Asked(unknown="another session answered")
    canceled, residue = answer.get("canceled"), answer.get("residue")
    return Asked(
        tuple(str(each) for each in canceled) if isinstance(canceled, list) else (),
        tuple(each for each in residue if isinstance(each, dict))
        if isinstance(residue, list)
        else (),
    )


def _await_endings(record: "Record", tasks: Sequence[str], seconds: float) -> None:
    """Waits until the trace says how each task ended, at most so long."""
    deadline = time.monotonic() + seconds
    while _without_ending(record, tasks) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _without_ending(record: "Record", tasks: Sequence[str]) -> list[str]:
    """The tasks of which the trace records no ending: `task_end`, or a cancel while queued."""
    ended = set()
    try:
        descriptor = os.open(
            os.path.join(record.records_dir, "trace.jsonl"),
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
        )
    except OSError:
        return list(tasks)
    with os.fdopen(descriptor, "rb") as trace:
        for line in trace:
            if b'"task_end"' not in line and b'"task_canceled"' not in line:
                continue
            try:
                event = json.loads(line)
            except ValueError:
                continue
            kind = event.get("event_type") if isinstance(event, dict) else None
            if kind == "task_end" or (kind == "task_canceled" and event.get("phase") == "queued"):
                ended.add(event.get("task_id"))
    return [task for task in tasks if task not in ended]


def _end(record: "Record", timeout: int) -> str:
    """Steps 2 and 3; what was sent, in words. Raises E-RUN-022 or E-RUN-024."""
    from murmur.running.processes import Standing, held

    with held(record.pid, record.process_start) as (found, process):
        if found in (Standing.GONE, Standing.REUSED):
            # It ended while its door was asked: that is what was wanted.
            return "none — the process had already ended"
        if process is None:
            raise _unended(record, "its process cannot be confirmed; nothing was signalled")
        _send(record, process, signal.SIGTERM)
        if process.gone_within(timeout):
            return "SIGTERM"
        _send(record, process, signal.SIGKILL)
        if process.gone_within(_AFTER_KILL_SECONDS):
            return f"SIGKILL after {timeout}s"
    seconds = f"{_AFTER_KILL_SECONDS:g}"
    raise _unended(record, f"pid {record.pid} was still running {seconds} seconds after SIGKILL")


def _send(record: "Record", process: "HeldProcess", number: signal.Signals) -> None:
    try:
        process.send(number)
    except OSError as failure:
        reason = f"{number.name} to pid {record.pid} was refused: {failure.strerror}"
        raise _unended(record, reason) from None


def _report(record: "Record", sent: str, asked: Asked | None) -> list[str]:
    from murmur.cli.residue import residue_lines

    lines = [
        f"stopped: {record.session_id}",
        printable(f"capsule: {record.capsule}"),
        f"signal:  {sent}",
    ]
    if asked is None:
        return lines
    if asked.unknown:
        return [
            *lines,
            printable(f"residue: unknown — the capsule could not be asked: {asked.unknown}"),
        ]
    lines += [printable(f"canceled: {task}") for task in asked.canceled]
    lines += [
        printable(f"unended: {task} the trace does not record how this task ended")
        for task in _without_ending(record, asked.canceled)
    ]
    return [*lines, *(residue_lines(asked.residue) or ["residue: nothing else was left running"])]


def _unended(record: "Record", reason: str) -> MurmurError:
    what, hint = f"session {record.session_id} was not ended", "the process may be another user's"
    return error("E-RUN-024", what=what, reason=reason, hint=hint)


def _formation(formation: str) -> MurmurError:
    """Why a formation is not stopped. This build launches none and stops none."""
    from murmur.cli.reaching import records_home
    from murmur.core.ids import is_id
    from murmur.running.reading import read_running

    if not is_id(formation, "frm"):
        return error(
            "E-RUN-022",
            address=f"'{formation}' is not a formation id",
            reason="it is frm_ and 32 hex digits, in full",
            hint="copy it from the FORMATION column of `mur ps`",
        )
    reading = read_running(records_home(), sweep=True)
    members = [each for each in reading.found if each.record.formation_id == formation]
    if any(not each.gone for each in members):
        return error(
            "E-IO-003",
            what=f"mur stop {formation}",
            reason="this build of mur launches no formations and stops none",
            hint="stop its members one at a time, by the session ids that `mur ps` lists",
        )
    if members:
        reason = f"{len(members)} member record(s) named processes that are gone, and were removed"
        what = f"formation {formation} is not running"
    else:
        what = f"no member of formation {formation} is running on this machine"
        reason = "no record names it"
    return error("E-RUN-022", address=what, reason=reason, hint="`mur ps` lists what runs")

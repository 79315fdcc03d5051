"""The Formation section of `mur trace show`: members, the calls between them, tasks from outside.

CLI reference, *Listing a formation*.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from murmur.core.diagnostics import printable
from murmur.trace.formation import (
    Call,
    Formation,
    Member,
    Received,
    all_calls,
    member_names,
    outside_children,
)
from murmur.trace.show.section import heading, labelled
from murmur.trace.show.tasks import no_answer_below
from murmur.trace.wording import duration, number, text
from murmur.trace.writer import TRACE_FILE

_SENDERS: Final = ("operator", "credential", "public", "unknown caller")


@dataclass(slots=True)
class _Row:
    """A call or a task, its cells, when it began, and what was called inside it."""

    cells: tuple[str, str, str, str, str, str]
    started_ms: int
    within: str | None
    holds: str | None
    below: "list[_Row]" = field(default_factory=list)


def formation_lines(formation: Formation) -> Iterator[str]:
    """The whole section."""
    for line in _lines(formation):
        yield printable(line)


def _lines(formation: Formation) -> Iterator[str]:
    yield heading("Formation")
    yield labelled("formation", formation.formation_id)
    for searched in formation.searched:
        failed = f" could not be read: {searched.failure}" if searched.failure else ""
        yield labelled("searched", f"{searched.group}{failed}")
    yield from _aligned([_member_cells(member) for member in formation.members])
    if outside := outside_children(formation):
        yield f"delegated children not under these roots: {', '.join(outside)}"
    calls = list(all_calls(formation))
    tasks = [
        received
        for member in formation.members
        for received in member.received.values()
        if not received.from_member
    ]
    if calls:
        yield labelled("calls", str(len(calls)))
    if tasks:
        kinds = Counter(task.sender[0] for task in tasks)
        listed = ", ".join(f"{kind} {kinds[kind]}" for kind in _SENDERS if kinds[kind])
        yield labelled("tasks", f"{len(tasks)} not from a member — {listed}")
    ends = {
        task_id: member.ends.get(task_id)
        for member in formation.members
        for task_id in (*member.received, *member.ends)
    }
    rows = [_call_row(call, ends) for call in calls] + [_task_row(task) for task in tasks]
    yield from _aligned(list(_nested(rows)))


def _member_cells(member: Member) -> tuple[str, ...]:
    about = f"{text(member.start, 'capsule_name')}@{text(member.start, 'capsule_version')}"
    status = "no session_end" if member.status is None else member.status
    tail = ""
    if "spawned_by" in member.start:
        tail = f"spawned by {text(member.start, 'spawned_by')}"
    elif callees := member_names(member):
        tail = f"may call {', '.join(callees)}"
    return member.session_id, member.name, about, status, tail


def _call_row(call: Call, ends: Mapping[str, object]) -> _Row:
    status, took, delivery = "outstanding", "-", ""
    if call.recorded_by_callee_only:
        status = "unknown"
    elif call.ended is not None:
        status = text(call.ended, "status")
        took = duration(number(call.ended, "duration_ms"))
        delivery = "delivered" if call.ended.get("delivered") is True else "not delivered"
    tail = [note] if (note := _missing_side(call, ends)) else []
    if call.busy:
        tail.append(f"busy \N{MULTIPLICATION SIGN}{call.busy}")
    if call.ended is not None and (silent := no_answer_below(call.ended)):
        tail.append(silent)
    cells = call.call_id, f"{call.caller} → {call.callee}", status, took, delivery
    return _Row((*cells, "; ".join(tail)), call.started_ms, call.task_id, call.member_task_id)


def _missing_side(call: Call, ends: Mapping[str, object]) -> str:
    task = call.member_task_id
    if call.recorded_by_callee_only:
        return f"{call.caller}'s trace not found; {_ended(call.callee, ends.get(task or ''))}"
    if task is None:
        return "" if call.ended is None else f"never held by {call.callee}"
    if task not in ends:
        return f"{call.callee}'s trace not found"
    return "" if call.ended is not None else _ended(call.callee, ends[task])


def _ended(callee: str, end: object) -> str:
    if not isinstance(end, dict):
        return f"{callee}'s task has no task_end"
    return f"{callee}'s task ended {text(end, 'exit_status')}"


def _task_row(task: Received) -> _Row:
    status = "outstanding" if task.end is None else text(task.end, "exit_status")
    took = "-" if task.end is None else duration(number(task.end, "duration_ms"))
    digest = task.body
    message = "message not captured"
    if digest is not None:
        file = task.session.records / TRACE_FILE
        message = f"message: mur trace show {file} --body {digest[:12]}"
    cells = task.task_id, f"{task.sender[1]} → {task.session.label}", status, took, "", message
    return _Row(cells, number(task.event, "timestamp"), None, task.task_id)


def _nested(rows: list[_Row]) -> Iterator[tuple[str, ...]]:
    """Each row under the one whose task it was called in; by start time on every level."""
    by_task = {row.holds: row for row in rows if row.holds is not None}
    top: list[_Row] = []
    for row in sorted(rows, key=lambda row: row.started_ms):
        above = by_task.get(row.within) if row.within is not None else None
        (top if above is None or above is row else above.below).append(row)
    yield from _flattened(top)


def _flattened(top: list[_Row]) -> Iterator[tuple[str, ...]]:
    waiting = [(row, 0) for row in reversed(top)]
    while waiting:
        row, depth = waiting.pop()
        yield ("  " * depth + row.cells[0], *row.cells[1:])
        waiting += [(each, depth + 1) for each in reversed(row.below)]


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width)
        yield "  ".join(cells).rstrip()

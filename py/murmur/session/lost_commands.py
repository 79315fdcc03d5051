"""Background commands whose runtime died: reported once, to the session that resumes theirs.

spec/sessions.md 14.4 and 22; spec/observability.md 3 and 5.4. Each is marked `shell_lost` in its
own session's trace before the report, so that no later resume tells of it again; one that cannot be
marked is left out of the report.
"""

import dataclasses
import fcntl
import json
import os
import time
from collections.abc import Sequence
from typing import Any, Final

from murmur.core.durations import rfc3339
from murmur.core.home import Home
from murmur.core.ids import new_id
from murmur.core.safefs import Root, open_root
from murmur.session.resume import Resumed
from murmur.trace.events.background import SHELL_LOST
from murmur.trace.lines import TraceLines

_ENDS: Final = ("shell_completed", "shell_abandoned", "shell_lost")


@dataclasses.dataclass(frozen=True, slots=True)
class Lost:
    """One command of which nothing but its demotion is known."""

    work_id: str
    binary: str
    command: str
    detached_at_ms: int


def reconcile(home: Home, resumed: Resumed, session_id: str, task_id: str) -> list[Lost]:
    """Marks the lost commands of a dead session as told by `task_id`; those that could be marked.

    None for a session that still lives. Raises E-TRC-001 for a trace that cannot be read.
    """
    if _lives(home, resumed.session_id):
        return []
    lost, start = _lost_of(TraceLines(resumed.trace))
    if not lost:
        return []
    try:
        with open_root(resumed.trace.parent) as records:
            return _mark(records, resumed, lost, start, session_id, task_id)
    except OSError:
        return []


def report_text(resumed: Resumed, lost: Sequence[Lost]) -> str:
    """The text of the task that tells of them."""
    count = "A background command" if len(lost) == 1 else f"{len(lost)} background commands"
    parts = [
        f"{count} of the session that is continued here, {resumed.session_id}, did not outlive it. "
        f"Nobody knows how far the work came: there is no exit code, and the log may be cut short."
    ]
    parts += [
        f"work_id: {each.work_id}\nbinary: {each.binary}\ncommand: {each.command}\n"
        f"in the background since: {rfc3339(each.detached_at_ms / 1000)}\n"
        f"output: {resumed.trace.parent}/logs/{each.work_id}.log"
        for each in lost
    ]
    return "\n\n".join(parts)


def _lives(home: Home, session_id: str) -> bool:
    """Whether somebody holds the lock of the session's runtime directory."""
    try:
        with open_root(home.sessions) as sessions:
            descriptor = sessions.open_file(f"{session_id}/.lock", os.O_RDWR)
    except (OSError, ValueError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lost_of(lines: TraceLines) -> tuple[list[Lost], str | None]:
    """The demoted commands without an end, and the id of the trace's `session_start`."""
    open_commands: dict[str, Lost] = {}
    start: str | None = None
    for line in lines:
        kind, work_id = line.get("event_type"), line.get("work_id")
        if kind == "session_start" and isinstance(line.get("event_id"), str):
            start = line["event_id"]
        elif kind == "shell_detached" and isinstance(work_id, str):
            since = line.get("timestamp")
            open_commands[work_id] = Lost(
                work_id,
                str(line.get("binary", "")),
                _text(line.get("command", "")),
                since if isinstance(since, int) and since >= 0 else 0,
            )
        elif kind in _ENDS and isinstance(work_id, str):
            open_commands.pop(work_id, None)
    return list(open_commands.values()), start


def _text(command: Any) -> str:
    return command if isinstance(command, str) else json.dumps(command, ensure_ascii=False)


def _mark(
    records: Root,
    resumed: Resumed,
    lost: Sequence[Lost],
    start: str | None,
    session_id: str,
    task_id: str,
) -> list[Lost]:
    marked: list[Lost] = []
    descriptor = records.open_file(resumed.trace.name, os.O_RDWR | os.O_APPEND)
    try:
        for each in lost:
            line = _line(resumed, each, start, session_id, task_id)
            if not marked and _is_torn(descriptor):
                line = b"\n" + line
            if not _append(descriptor, line):
                break
            marked.append(each)
    finally:
        os.close(descriptor)
    return marked


def _line(resumed: Resumed, lost: Lost, start: str | None, session_id: str, task_id: str) -> bytes:
    """A `shell_lost` line; without `parent_id` where the old session's start is not known."""
    envelope: dict[str, Any] = {"event_type": SHELL_LOST.name, "event_id": new_id("evt")}
    if start is not None:
        envelope["parent_id"] = start
    envelope |= {
        "session_id": resumed.session_id,
        "timestamp": time.time_ns() // 1_000_000,
        **SHELL_LOST.payload(
            {
                "work_id": lost.work_id,
                "binary": lost.binary,
                "command": lost.command,
                "detached_at_ms": lost.detached_at_ms,
                "reconciled_by_session": session_id,
                "reconciled_task_id": task_id,
            }
        ),
    }
    text = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _is_torn(descriptor: int) -> bool:
    """Whether the file ends within a line, which nothing may join."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _append(descriptor: int, line: bytes) -> bool:
    """One line in one write; a part of it that a full disk took is taken back."""
    written = 0
    try:
        written = os.write(descriptor, line)
    except OSError:
        return False
    if written == len(line):
        return True
    os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
    return False

"""The sessions of one workdir root, newest first. CLI reference, *mur trace list*.

Looking changes nothing: no directory is made, no running record is removed or signalled.
"""

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import error
from murmur.core.durations import rfc3339
from murmur.core.home import Home
from murmur.core.ids import id_time_ms
from murmur.trace.addresses import recorded_sessions
from murmur.trace.writer import TRACE_FILE

_VERSION_AT: Final = 16


@dataclass(frozen=True, slots=True)
class Listed:
    """One session; `started_at` and `context_id` are None where nothing tells them."""

    session_id: str
    records_dir: Path
    started_at: str | None
    context_id: str | None
    running: bool

    def as_json(self) -> dict[str, Any]:
        """The entry of `sessions[]`."""
        return {
            "session_id": self.session_id,
            "records_dir": str(self.records_dir),
            "started_at": self.started_at,
            "context_id": self.context_id,
            "running": self.running,
        }


def listed_sessions(home: Home, root: Path, running: Collection[str]) -> tuple[Listed, ...]:
    """Every session of the workdir root; `running` are the ids whose process may be alive.

    Raises E-IO-003 for a records group or a trace that exists and cannot be read.
    """
    group = home.records_group(root)
    return tuple(
        Listed(name, group / name, _started_at(name), first_context(group / name), name in running)
        for name in recorded_sessions(group)
    )


def _started_at(session_id: str) -> str | None:
    """The moment in the id; None for one that no runtime made, whose digits tell no time."""
    if session_id[_VERSION_AT] != "7":
        return None
    try:
        return rfc3339(id_time_ms(session_id) / 1000)
    except (ValueError, OverflowError):
        return None


def first_context(records: Path) -> str | None:
    """The conversation of the session's first task; None for what the reference lists.

    Raises E-IO-003 when `trace.jsonl` exists and cannot be read.
    """
    path = records / TRACE_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            for event in _until_no_json(file):
                if event.get("event_type") == "task_start":
                    context = event.get("context_id")
                    return context if isinstance(context, str) else None
    except FileNotFoundError:
        return None
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=str(path), reason=reason, hint="") from None
    return None


def _until_no_json(file: Any) -> Iterator[dict[str, Any]]:
    for raw in file:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value

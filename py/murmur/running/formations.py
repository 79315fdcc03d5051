"""What one reading finds of the formations that running sessions name.

CLI reference, *mur ps --json* and *Formations*. Members are found by their records, and by the
traces in the session roots where a listed or a gone member ran and where the formation's own
directory says that its peers did. Nothing found here is said to be all of a formation.
"""

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.running.record import Record


@dataclasses.dataclass(frozen=True, slots=True)
class NotListed:
    """A member without a row: its record's process is gone, or it has only a trace."""

    session_id: str
    member: str | None
    ended: bool
    record_kept: bool

    def as_json(self) -> dict[str, object]:
        return {
            "session_id": self.session_id,
            "formation_member": self.member,
            "reason": "ended" if self.ended else "gone_without_ending",
            "record_kept": self.record_kept,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class FoundFormation:
    """One formation; `not_listed` comes newest session first."""

    id: str
    entry_member: str | None
    listed: int
    not_listed: tuple[NotListed, ...]
    searched_roots: int
    unreadable_roots: int

    def as_json(self) -> dict[str, object]:
        ended = sum(each.ended for each in self.not_listed)
        return {
            "formation_id": self.id,
            "entry_member": self.entry_member,
            "listed": self.listed,
            "ended": ended,
            "gone_without_ending": len(self.not_listed) - ended,
            "not_listed": [each.as_json() for each in self.not_listed],
            "searched_roots": self.searched_roots,
            "unreadable_roots": self.unreadable_roots,
        }


def find_formations(
    home: Home, formations: Sequence[str], listed: Sequence[Record], gone: Sequence[Record]
) -> list[FoundFormation]:
    """The formations in the given order, from the records of one reading and the traces."""
    return [_find(home, each, listed, gone) for each in formations]


def _find(
    home: Home, formation: str, listed: Sequence[Record], gone: Sequence[Record]
) -> FoundFormation:
    rows = [each for each in listed if each.formation_id == formation]
    stale = [each for each in gone if each.formation_id == formation]
    entries = (each.formation_member for each in (*rows, *stale) if each.formation_entry)
    missing = {
        each.session_id: NotListed(
            each.session_id, _member(each), _ended(Path(each.records_dir)), record_kept=True
        )
        for each in stale
    }
    known = {each.session_id for each in rows} | set(missing)
    searched = unreadable = 0
    for root in _roots(home, formation, (*rows, *stale)):
        try:
            names = os.listdir(root)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable += 1
            continue
        searched += 1
        for session_id in names:
            if session_id in known or not is_id(session_id, "ses"):
                continue
            start = _session_start(root / session_id)
            if start.get("formation_id") == formation:
                ended = _ended(root / session_id)
                member = _text(start.get("formation_member"))
                missing[session_id] = NotListed(session_id, member, ended, record_kept=False)
                known.add(session_id)
    return FoundFormation(
        id=formation,
        entry_member=next(entries, None),
        listed=len(rows),
        not_listed=tuple(sorted(missing.values(), key=lambda m: m.session_id, reverse=True)),
        searched_roots=searched,
        unreadable_roots=unreadable,
    )


def _roots(home: Home, formation: str, records: Sequence[Record]) -> list[Path]:
    """The records groups to look in, each once: those of the members', those of the peers'."""
    groups = [Path(each.records_dir).parent for each in records]
    folder = home.root / "formations" / formation
    try:
        members = sorted(os.listdir(folder))
    except OSError:
        members = []
    groups += [Path(f"{home.records}{folder / member}") for member in members]
    return list(dict.fromkeys(groups))


def _member(record: Record) -> str | None:
    if record.formation_member is not None:
        return record.formation_member
    return _text(_session_start(Path(record.records_dir)).get("formation_member"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lines(records: Path) -> Iterator[bytes]:
    """The lines of a session's trace; none when it cannot be read."""
    try:
        descriptor = os.open(
            records / "trace.jsonl", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with os.fdopen(descriptor, "rb") as trace:
            yield from trace
    except OSError:
        return


def _session_start(records: Path) -> dict[str, Any]:
    for line in _lines(records):
        event = _event(line)
        return event if event.get("event_type") == "session_start" else {}
    return {}


def _ended(records: Path) -> bool:
    """Whether the trace holds a session_end."""
    return any(
        b'"session_end"' in line and _event(line).get("event_type") == "session_end"
        for line in _lines(records)
    )


def _event(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

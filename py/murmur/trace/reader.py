"""Reading a trace back, also one whose writer was killed.

spec/observability.md 3, torn lines. Unknown event types and keys are kept as they are; what they
mean is the reader's caller's business.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur.core.diagnostics import error


@dataclass(frozen=True, slots=True)
class ReadTrace:
    """The lines of one trace; `torn` says that a last line was no JSON object and was left out."""

    events: tuple[dict[str, Any], ...]
    torn: bool = False

    def first(self, event_type: str) -> dict[str, Any] | None:
        """The first line of that type."""
        return next((e for e in self.events if e.get("event_type") == event_type), None)

    def of(self, event_type: str) -> list[dict[str, Any]]:
        """Every line of that type, in order."""
        return [event for event in self.events if event.get("event_type") == event_type]

    @property
    def ended(self) -> bool:
        """Whether the session wrote its end."""
        return self.first("session_end") is not None


def parse_trace(data: bytes, file: str) -> ReadTrace:
    """The trace in `data`; `file` names it in messages.

    Raises E-TRC-001 for a bad line that is not the last one.
    """
    lines = data.split(b"\n")
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    events: list[dict[str, Any]] = []
    for position, (number, line) in enumerate(numbered):
        event = _event(line)
        if event is not None:
            events.append(event)
        elif position == len(numbered) - 1:
            return ReadTrace(tuple(events), torn=True)
        else:
            raise error("E-TRC-001", file=file, reason=f"line {number} is no JSON object")
    return ReadTrace(tuple(events))


def read_trace(path: str | Path) -> ReadTrace:
    """The trace in the file `path`. Raises E-TRC-001 when it cannot be read, as `parse_trace`."""
    try:
        data = Path(path).read_bytes()
    except OSError as failure:
        raise error("E-TRC-001", file=path, reason=failure.strerror or str(failure)) from None
    return parse_trace(data, str(path))


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None

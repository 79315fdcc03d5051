"""Reading a trace one line at a time: what `mur trace` and `mur eval` hold of it is one line.

spec/observability.md 3 (torn lines, readers). Unknown event types and keys are handed on as they
are; a trace of any length is read in constant memory.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, error

Line = Mapping[str, Any]
_LONGEST: Final = 256 * 1024 * 1024


@dataclass(slots=True)
class TraceLines:
    """The lines of one trace file, in order, each parsed when it is asked for.

    `torn` is the number of a last line that is no JSON object, once the reading has passed it;
    0 otherwise. `count` is how many events were handed out.
    """

    path: Path
    torn: int = 0
    count: int = 0

    def __iter__(self) -> Iterator[Line]:
        """Raises E-TRC-001 for an unreadable file, and for a bad line with more after it."""
        self.torn = self.count = 0
        try:
            with open(self.path, "rb") as file:
                yield from self._lines(file)
        except OSError as failure:
            raise self.refusal(failure.strerror or str(failure)) from None

    def _lines(self, file: Any) -> Iterator[Line]:
        bad = number = 0
        while raw := file.readline(_LONGEST):
            number += 1
            if bad:
                if raw.strip():
                    raise self.refusal(f"line {bad} is no JSON object")
                continue
            event = _parsed(raw)
            if event is not None:
                self.count += 1
                yield event
            elif raw.strip():
                bad = number
        self.torn = bad

    def refusal(self, reason: str) -> MurmurError:
        """E-TRC-001 naming this file."""
        return error("E-TRC-001", file=self.path, reason=reason)


def started(lines: TraceLines) -> Iterator[Line]:
    """The lines of a trace that must begin as the runtime begins one.

    Raises E-TRC-001 as `TraceLines`, and for a file with no event or no `session_start` first.
    """
    for position, event in enumerate(lines):
        if position == 0 and event.get("event_type") != "session_start":
            raise lines.refusal("it has no session_start")
        yield event
    if not lines.count:
        raise lines.refusal("it holds no event")


# Not `json.loads`, which looks for an encoding and for blanks on each line.
_decode: Final = json.JSONDecoder().raw_decode


def _parsed(raw: bytes) -> Line | None:
    try:
        text = raw.decode().strip()
        value, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) and isinstance(value, dict) else None

"""The harness session of a context under `transport: process`. spec/sessions.md 18.4."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.safefs import Root

HARNESS_SESSION: Final = "harness-session.json"

_TYPE: Final = "murmur.harness-session"
_LARGEST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HarnessSession:
    """The conversation that a harness holds. All but `session_id` is information only."""

    session_id: str
    harness: str | None
    driver: str | None
    created_ms: int | None
    updated_ms: int | None

    def as_json(self) -> dict[str, object]:
        return {
            "session_id": self.session_id,
            "harness": self.harness,
            "driver": self.driver,
            "created_ms": self.created_ms,
            "updated_ms": self.updated_ms,
        }

    def line(self) -> bytes:
        """The content of the file."""
        row = {"type": _TYPE, **self.as_json()}
        return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def read_harness_session(folder: Root) -> HarnessSession | None:
    """The entry in a context's folder; None for a file that is absent or says something else.

    Those are the cases in which a new conversation is begun. Raises OSError for one that cannot be
    read.
    """
    try:
        data = folder.read_bytes(HARNESS_SESSION, _LARGEST)
    except FileNotFoundError:
        return None
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("type") != _TYPE:
        return None
    session_id = row.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        return None
    return HarnessSession(
        session_id=session_id,
        harness=_text(row, "harness"),
        driver=_text(row, "driver"),
        created_ms=_number(row, "created_ms"),
        updated_ms=_number(row, "updated_ms"),
    )


def _text(row: Mapping[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) else None


def _number(row: Mapping[str, Any], key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None

"""How figures, ids and hashes read in what `mur trace` prints. spec/observability.md 10."""

import json
from typing import Any, Final

INPUT_CHARACTERS: Final = 120
TURN_ERROR_CHARACTERS: Final = 200
STEP_ERROR_CHARACTERS: Final = 120
REASON_CHARACTERS: Final = 80


def duration(milliseconds: float) -> str:
    """`500ms` below a second, `1.2s` from there on."""
    return f"{milliseconds:.0f}ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f}s"


def thousands(value: float) -> str:
    """A whole figure in groups of three."""
    return f"{value:,.0f}"


def cut(text: str, length: int) -> str:
    """The first `length` characters, marked when more follow."""
    return text if len(text) <= length else text[:length] + "…"


def quoted(text: str) -> str:
    """A reason as Reopens and Denied calls quote it."""
    return f"“{text[:REASON_CHARACTERS]}”"


def short_hash(digest: str) -> str:
    """The first 12 digits of a content hash."""
    return digest[:12] + "…"


def short_id(name: str) -> str:
    """An id's first 12 characters, its prefix included."""
    return cut(name, 12)


def plural(count: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def compact(value: Any) -> str:
    """A JSON value without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def mark(status: object) -> str:
    """Whether a call succeeded."""
    return "✓" if status == "ok" else "✗"


def text(event: Any, key: str, default: str = "?") -> str:
    """A field that should hold a string, whatever an unknown writer put there."""
    value = event.get(key)
    return value if isinstance(value, str) else default


def number(event: Any, key: str) -> int:
    """A field that should hold a whole number; 0 for what does not."""
    value = event.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def names(event: Any, key: str) -> list[str]:
    """A field that should hold strings; those that it does hold."""
    value = event.get(key)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

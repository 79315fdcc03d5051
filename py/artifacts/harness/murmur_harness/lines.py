"""Output lines of a harness: JSON that may be anything, of which strings must reach the runtime."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from murmur_guest.untyped import compact, mapping, string

from murmur_harness.contract import Event, Note

NOTE_CHARACTERS = 512
DEEPEST = 100
"""Arrays and objects within one another."""

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_U32 = 2**32 - 1
_U64 = 2**64 - 1


def record(line: str) -> Mapping[str, Any] | None:
    """The JSON object that a line is, else None.

    Nested beyond DEEPEST it counts as none: a component that exhausts its stack is gone, and with
    it the run.
    """
    if _nested_beyond(line, DEEPEST):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def meaning(line: str, read: Callable[[Mapping[str, Any]], list[Event] | None]) -> list[Event]:
    """What `read` makes of a line. A blank one is nothing; what is no object, or means nothing to
    `read` (None), is a note.
    """
    if not line.strip():
        return []
    said = record(line)
    events = read(said) if said is not None else None
    return [note(line)] if events is None else events


def _nested_beyond(line: str, most: int) -> bool:
    if line.count("[") + line.count("{") <= most:
        return False
    depth = 0
    for token in _BRACKETS.finditer(line):
        depth += _STEPS.get(token[0], 0)
        if depth > most:
            return True
    return False


def note(text: str) -> Note:
    """A note of at most 512 characters (spec/artifacts.md 13.6)."""
    return Note(whole(text)[:NOTE_CHARACTERS])


def whole(text: str) -> str:
    """The text as UTF-8 carries it: JSON may escape half of a pair, which no string is."""
    return text.encode("utf-8", "replace").decode()


def text(value: object) -> str:
    """A string member, empty where it is none."""
    return whole(string(value))


def json_text(value: object) -> str:
    """A value as compact JSON text."""
    return whole(compact(value))


def count(value: object) -> int | None:
    """A token count or point in time, absent where it is no such number."""
    return _whole_number(value, _U64)


def small_count(value: object) -> int | None:
    """The same, for what the contract holds in 32 bits."""
    return _whole_number(value, _U32)


def fraction(value: object) -> float | None:
    """A part of one; more than all of it is all of it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return float(min(value, 1))


def content_text(content: object) -> str:
    """What a tool's result says in MCP's content blocks, or a string that stands for them."""
    if not isinstance(content, list):
        return text(content)
    return "\n".join(_block(mapping(block)) for block in content)


def _block(block: Mapping[str, Any]) -> str:
    if block.get("type") == "text":
        return text(block.get("text"))
    return f"[{text(block.get('type')) or 'unknown content'}]"


def _whole_number(value: object, most: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value

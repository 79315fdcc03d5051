"""One JSON line for one event: its name and whatever of it is a number, a text or a truth."""

import json
from enum import Enum

FILE = "hook-debug.jsonl"


def line(event: str, record: object) -> str:
    """The line, with a newline. Records within the record are written as `outer.inner`."""
    return json.dumps({"event": event, **_scalars(record)}, ensure_ascii=False) + "\n"


def _scalars(record: object, prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in vars(record).items():
        key = prefix + name
        if isinstance(value, Enum):
            found[key] = value.name
        elif value is None or isinstance(value, str | int | float | bool):
            found[key] = value
        elif hasattr(value, "__dict__"):
            found |= _scalars(value, f"{key}.")
    return found

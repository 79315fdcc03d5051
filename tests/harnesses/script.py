"""The turns of a task that is a script."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def turns_of(task: str) -> list[Json]:
    """What its last line holds as a JSON list; any other task is answered with itself."""
    try:
        turns = json.loads(task.splitlines()[-1])
    except (ValueError, IndexError):
        return [{"text": task}]
    return turns if isinstance(turns, list) else [{"text": task}]

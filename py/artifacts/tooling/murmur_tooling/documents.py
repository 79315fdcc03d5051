"""JSON that others wrote, without trusting how deep it is nested.

A component's stack is small, and where it is exhausted the call ends without an answer; json has no
bound of its own there.
"""

import json
import re
from typing import Any

DEEPEST = 500
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


def read_json(text: str | bytes) -> Any:
    """The value. Raises ValueError for what is no JSON, no UTF-8, or nested above DEEPEST."""
    if isinstance(text, bytes):
        text = text.decode()
    if text.count("[") + text.count("{") > DEEPEST:
        depth = 0
        for found in _MARKS.finditer(text):
            mark = found.group()
            depth += 1 if mark in "[{" else -1 if mark in "]}" else 0
            if depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} deep")
    return json.loads(text)

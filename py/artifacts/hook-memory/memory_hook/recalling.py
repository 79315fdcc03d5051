"""Which messages of a conversation's record a task begins with.

The newest that fit the budget together, oldest first. A seed must be usable by any driver: so an
assistant's message keeps its text and loses its calls, and a tool's result becomes a user's words.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_TOOL_MARK = "__murmur_tool_msg__"
RESULT_CHARACTERS = 2000


@dataclass(frozen=True)
class Remembered:
    """One message of the record, `content` as the runtime encodes it; `seeded` by a seed before."""

    role: str
    content: str
    id: str | None
    seeded: bool = False


@dataclass(frozen=True)
class Recalled:
    """One message of the seed, as plain text; `source` is the id of the one that it comes from."""

    role: str
    text: str
    source: str | None


def recall(
    newest_first: Iterable[Remembered], budget: int, count: Callable[[str], int]
) -> list[Recalled]:
    """The seed. `budget` is in tokens, and `count` counts them."""
    chosen: list[Recalled] = []
    left = budget
    for message in newest_first:
        recalled = _usable(message)
        if recalled is None:
            continue
        left -= count(counted(recalled))
        if left < 0:
            break
        chosen.insert(0, recalled)
    return chosen


def counted(message: Recalled) -> str:
    """The text whose tokens the runtime charges for a message."""
    block = {"text": message.text, "type": "text"}
    value = {"content": [block], "role": message.role}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _usable(message: Remembered) -> Recalled | None:
    if message.seeded or message.role not in ("user", "assistant", "tool"):
        return None
    try:
        value = json.loads(message.content)
    except ValueError:
        value = message.content
    if isinstance(value, dict) and value.get(_TOOL_MARK):
        text = _text(value.get("body"))[:RESULT_CHARACTERS].strip()
        return Recalled("user", f"(result of a tool) {text}", message.id) if text else None
    text = _text(value).strip()
    if not text or message.role == "tool":
        return None
    return Recalled(message.role, text, message.id)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "\n".join(
        str(block.get("text", ""))
        for block in value
        if isinstance(block, dict) and block.get("type") == "text"
    )

"""JSON that a model, a driver or a harness wrote, read as far as all behind it can carry it.

Half a character is no text of a file or a component, an endless number no JSON, and what is nested
without an end ends the stack of whoever walks it.
"""

import json
import math
from typing import Any, Final, NoReturn

_DEEPEST: Final = 64


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text, halves of characters replaced. Raises ValueError."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return _whole(value, _DEEPEST)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _whole(value: Any, deepest: int) -> Any:
    if deepest == 0:
        raise ValueError(f"it is nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it holds a number that is none")
    if isinstance(value, dict):
        return {_whole(key, deepest): _whole(item, deepest - 1) for key, item in value.items()}
    return [_whole(item, deepest - 1) for item in value] if isinstance(value, list) else value


def _text(text: str) -> str:
    """The text with a replacement character for each half of one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""An artifact's `config:` block as the one environment variable that carries it.

seeds/manifest-schema.md, Artifact config shape.
"""

import json
from collections.abc import Mapping
from typing import Final

from murmur.core.diagnostics import error

LONGEST: Final = 65536


def render_config(artifact: str, block: object) -> str:
    """The block as compact JSON, keys in the order written.

    Raises E-CAP-010 when it is no mapping, holds a key that is no string, holds a number that
    JSON lacks, or is longer than `LONGEST` bytes.
    """
    if not isinstance(block, Mapping):
        raise error("E-CAP-010", artifact=artifact, reason=f"it is {kind_of(block)}, not a mapping")
    if (stray := _stray_key(block)) is not None:
        raise error("E-CAP-010", artifact=artifact, reason=f"the key {stray} is not a string")
    try:
        text = json.dumps(block, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as problem:
        raise error("E-CAP-010", artifact=artifact, reason=f"no JSON: {problem}") from None
    if size > LONGEST:
        reason = f"it is {size} bytes as JSON, and at most {LONGEST} are accepted"
        raise error("E-CAP-010", artifact=artifact, reason=reason)
    return text


def _stray_key(value: object) -> str | None:
    """The first key, at any depth, that is no string; written as YAML would name its kind."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{json.dumps(key, default=str)} ({kind_of(key)})"
            if (found := _stray_key(item)) is not None:
                return found
    elif isinstance(value, list | tuple):
        for item in value:
            if (found := _stray_key(item)) is not None:
                return found
    return None


def kind_of(value: object) -> str:
    """What a YAML value is, in words."""
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a mapping" if isinstance(value, Mapping) else "a list"

"""Literal secrets in a manifest, the source of W-SEC-004. spec/registry.md 7."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Final

_WORDS: Final = ("api_key", "token", "secret", "password")
_REFERENCE: Final = re.compile(r"\$\{[A-Z0-9_]+\}")
_LONGEST_HARMLESS: Final = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """One suspicious value: its dotted path (list items as numbers) and a masked hint of it."""

    path: str
    masked: str


def is_credential_shaped(name: str) -> bool:
    """Whether a key's name says that its value is a credential."""
    lowered = name.lower()
    return any(word in lowered for word in _WORDS)


def _looks_literal(value: str) -> bool:
    if _REFERENCE.fullmatch(value):
        return False
    return value.startswith("sk-") or len(value) > _LONGEST_HARMLESS


def find_literals(value: object, path: str = "") -> Iterator[Literal]:
    """Every literal secret in a parsed manifest, in document order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            deeper = f"{path}.{key}" if path else str(key)
            if isinstance(inner, str):
                if is_credential_shaped(str(key)) and _looks_literal(inner):
                    yield Literal(deeper, inner[:4] + "****" if len(inner) > 4 else "****")
            else:
                yield from find_literals(inner, deeper)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from find_literals(inner, f"{path}.{index}" if path else str(index))

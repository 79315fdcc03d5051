"""A driver's `models:` table: what each model may read and write, in tokens.

spec/formations-and-newer-manifest.md A11; spec/artifacts.md 12.4. A model id matches by exact
equality. Unknown keys inside an entry are refused (open there; a misspelt optional ceiling would
otherwise vanish silently).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from murmur.manifest.config import kind_of

_REQUIRED: Final = ("max_output_tokens", "context_window")
_OPTIONAL: Final = ("max_input_tokens",)
_LARGEST: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What a driver declares for one model, in tokens."""

    max_output_tokens: int
    context_window: int
    max_input_tokens: int | None = None


class BadModelTable(ValueError):
    """Why a table cannot be used; the reason of E-RUN-052."""


def parse_models(table: object) -> dict[str, ModelLimits]:
    """The table by model id; empty when there is none. Raises BadModelTable."""
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise BadModelTable(f"models is {kind_of(table)}, not a mapping")
    return {_identifier(key): _limits(key, entry) for key, entry in table.items()}


def _identifier(key: object) -> str:
    if not isinstance(key, str):
        raise BadModelTable(f"the model id {key!r} is {kind_of(key)}; put it in quotes")
    return key


def _limits(model: object, entry: object) -> ModelLimits:
    where = f"models.{model}"
    if not isinstance(entry, Mapping):
        raise BadModelTable(f"{where} is {kind_of(entry)}, not a mapping")
    for key in entry:
        if key not in _REQUIRED + _OPTIONAL:
            raise BadModelTable(f"{where} has the unknown key '{key}'")
    values: dict[str, int] = {}
    for key in _REQUIRED + _OPTIONAL:
        value = entry.get(key)
        if value is None and key in _OPTIONAL:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LARGEST:
            raise BadModelTable(f"{where}.{key} must be an integer from 1 to {_LARGEST}")
        values[key] = value
    return ModelLimits(**values)

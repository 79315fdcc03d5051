"""What a trace event is made of: fields with a kind, a presence rule and a meaning.

spec/observability.md 3 (absence convention) and 4 (parents).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

_U16, _U32, _U64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


class Presence(Enum):
    """Whether a field's key is written when it has no value."""

    ALWAYS = "always"
    NULLABLE = "null when there is none"
    OPTIONAL = "absent when there is none"


class Parent(Enum):
    """The line that an event hangs under; each falls back to the one before it, PLAN to SESSION."""

    NONE = "none"
    SESSION = "session"
    TASK = "task"
    TURN = "turn"
    PLAN = "plan"


class Kind(Enum):
    """The JSON type of a field's value. FREE is any JSON value, written with sorted keys."""

    TEXT = "string"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    I32 = "i32"
    BOOL = "bool"
    TEXTS = "string[]"
    OBJECT = "object"
    OBJECTS = "object[]"
    FREE = "json"


_RANGES: Final = {
    Kind.U16: (0, _U16),
    Kind.U32: (0, _U32),
    Kind.U64: (0, _U64),
    Kind.I32: (-(1 << 31), (1 << 31) - 1),
}


def _is(kind: Kind, value: Any) -> bool:
    if kind in _RANGES:
        low, high = _RANGES[kind]
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if kind is Kind.TEXT:
        return isinstance(value, str)
    if kind is Kind.BOOL:
        return isinstance(value, bool)
    if kind is Kind.OBJECT:
        return isinstance(value, Mapping)
    if kind is Kind.TEXTS:
        return isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
    if kind is Kind.OBJECTS:
        return isinstance(value, list | tuple) and all(isinstance(v, Mapping) for v in value)
    return True


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an event. `values` closes a string's set; `limit` cuts it, in bytes, after
    known credentials in it were replaced."""

    name: str
    kind: Kind
    meaning: str
    presence: Presence = Presence.ALWAYS
    values: tuple[str, ...] = ()
    limit: int | None = None

    def problem(self, value: Any) -> str | None:
        """Why `value` cannot be written here, or None."""
        if value is None:
            return "it is required" if self.presence is Presence.ALWAYS else None
        if not _is(self.kind, value):
            return f"{value!r} is no {self.kind.value}"
        if self.values and value not in self.values:
            return f"{value!r} is none of {', '.join(self.values)}"
        return None


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of line: its fields in the order they are written, and where it hangs.

    `rule` says what is wrong with the fields taken together, or returns None.
    """

    name: str
    parent: Parent
    meaning: str
    fields: tuple[Field, ...]
    rule: Callable[[Mapping[str, Any]], str | None] | None = None

    def payload(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The event's own keys in order, absent ones left out.

        Raises TypeError for a field that the event lacks or a value that a field cannot hold:
        both are mistakes of the caller.
        """
        known = {field.name for field in self.fields}
        if stray := sorted(set(values) - known):
            raise TypeError(f"{self.name} has no field {', '.join(stray)}")
        result: dict[str, Any] = {}
        for field in self.fields:
            value = values.get(field.name)
            if problem := field.problem(value):
                raise TypeError(f"{self.name}.{field.name}: {problem}")
            if value is not None or field.presence is Presence.NULLABLE:
                result[field.name] = value
        if self.rule is not None and (problem := self.rule(result)):
            raise TypeError(f"{self.name}: {problem}")
        return result


def field(name: str, kind: Kind, meaning: str, *values: str, limit: int | None = None) -> Field:
    """A field that is always written."""
    return Field(name, kind, meaning, values=values, limit=limit)


def nullable(name: str, kind: Kind, meaning: str, *values: str) -> Field:
    """A field that is written as null when it has no value."""
    return Field(name, kind, meaning, Presence.NULLABLE, values)


def optional(name: str, kind: Kind, meaning: str, *values: str, limit: int | None = None) -> Field:
    """A field that is left out when it has no value."""
    return Field(name, kind, meaning, Presence.OPTIONAL, values, limit)

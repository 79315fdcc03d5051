"""A call's input, member by member, and the refusal that a wrong one becomes.

A refusal of kind `invalid_input` says which member is wrong, what was given and what is allowed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from murmur_tooling.documents import read_json


class ToolError(Exception):
    """A refusal or failure: `kind` is the result's `error_kind`, the text its message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def invalid(message: str) -> ToolError:
    """The refusal of an input that makes no sense."""
    return ToolError("invalid_input", message)


class Members:
    """The members of one call. Absent and null are the same: models that must fill every member
    of a schema send null for what does not apply. Every reader raises ToolError `invalid_input`.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def given(self, key: str) -> bool:
        """Whether the member has a value."""
        return self._values.get(key) is not None

    def value(self, key: str) -> Any:
        """The member as JSON has it; None where it is not given."""
        return self._values.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that UTF-8 can hold."""
        value = self._or(key, default)
        if not isinstance(value, str):
            raise invalid(f"{key} is {_found(value)}; it must be a string")
        return _sound(key, value)

    def whole(self, key: str, default: int | None, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        value = self._or(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            shown = value if isinstance(value, int) else _found(value)
            raise invalid(f"{key} is {shown}; it must be a whole number from {least} to {most}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._or(key, default)
        if not isinstance(value, bool):
            raise invalid(f"{key} is {_found(value)}; it must be true or false")
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self._or(key, default)
        if value not in allowed:
            shown = repr(value) if isinstance(value, str) else _found(value)
            raise invalid(f"{key} is {shown}; it must be one of {', '.join(allowed)}")
        return str(value)

    def texts(self, key: str, most: int) -> list[str]:
        """A list of 1 to `most` strings, none empty."""
        value = self.value(key)
        if not isinstance(value, list) or not all(isinstance(x, str) and x for x in value):
            raise invalid(f"{key} is {_found(value)}; it must be a list of non-empty strings")
        if not 1 <= len(value) <= most:
            raise invalid(f"{key} has {len(value)} entries; it must have 1 to {most}")
        return [_sound(key, each) for each in value]

    def mapping(self, key: str) -> dict[str, Any]:
        """An object."""
        value = self.value(key)
        if not isinstance(value, dict):
            raise invalid(f"{key} is {_found(value)}; it must be an object")
        return value

    def _or(self, key: str, default: object) -> Any:
        value = self.value(key)
        return default if value is None else value


def read_members(data: str | None, operations: Mapping[str, Sequence[str]]) -> tuple[str, Members]:
    """The operation and its members, of an input `{"operation": ..., ...}`.

    `operations` names each operation's members. Raises ToolError `invalid_input` for what is no
    object, for another operation and for a member that the operation does not take.
    """
    values = _object(data)
    operation = values.pop("operation", None)
    if not isinstance(operation, str) or operation not in operations:
        shown = repr(operation) if isinstance(operation, str) else _found(operation)
        raise invalid(f"operation is {shown}; it must be one of {', '.join(operations)}")
    known = operations[operation]
    for key, value in values.items():
        if value is not None and key not in known:
            raise invalid(f"{operation} takes {', '.join(known) or 'no member'}, not {key}")
    return operation, Members(values)


def read_plain(data: str | None, known: Sequence[str]) -> Members:
    """The members of an input without operations. Raises ToolError `invalid_input`."""
    values = _object(data)
    for key, value in values.items():
        if value is not None and key not in known:
            raise invalid(f"the input takes {', '.join(known)}, not {key}")
    return Members(values)


def _object(data: str | None) -> dict[str, Any]:
    try:
        value = read_json(data or "{}")
    except ValueError:
        raise invalid("the input is not JSON") from None
    if not isinstance(value, dict):
        raise invalid(f"the input is {_found(value)}; it must be an object")
    return value


def _sound(key: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(f"{key} holds half a surrogate pair") from None
    return value


def _found(value: object) -> str:
    if value is None:
        return "missing"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")

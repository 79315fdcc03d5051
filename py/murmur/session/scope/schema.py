"""The JSON Schema (2020-12) of `mur run --explain-scope --json`, generated from the model."""

import dataclasses
import types
import typing
from typing import Any, Final, Literal

from murmur.session.scope.model import OPTIONAL, ScopeReport

_SCALARS: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    type(None): "null",
}


def scope_schema() -> dict[str, Any]:
    """The schema of the one object; every object in it is closed."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mur run --explain-scope --json",
        **_schema(ScopeReport),
    }


def _schema(kind: Any) -> dict[str, Any]:
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(argument) for argument in arguments]}
    raise TypeError(f"the scope report has no such field type: {kind!r}")


def _object(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return {
        "type": "object",
        "properties": {field.name: _schema(hints[field.name]) for field in fields},
        "required": [field.name for field in fields if OPTIONAL not in field.metadata],
        "additionalProperties": False,
    }

"""Whether a record fits a type's JSON Schema.

The keywords of CONSTRAINTS are judged as draft 2020-12 says; those of ANNOTATIONS say nothing about
a value. A schema with any other keyword is refused as a whole: a rule that nobody checks would look
like one that holds.
"""

import re
from collections.abc import Iterator
from typing import Any

from murmur_tooling.members import ToolError

ANNOTATIONS = frozenset(
    (
        "$schema",
        "$id",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "contentEncoding",
        "contentMediaType",
    )
)
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf")
_OTHERS = ("type", "enum", "const", "required", "properties", "pattern", "uniqueItems")
CONSTRAINTS = frozenset((*_COUNTS, *_BOUNDS, *_SCHEMAS, *_LISTS, *_OTHERS))
_DEEPEST = 64


def check_schema(schema: object, where: str, depth: int = 0) -> None:
    """Raises ToolError `config_invalid` naming the place in the config that is no such schema."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise _bad(where, "a schema must be a mapping or a boolean")
    if depth > _DEEPEST:
        raise _bad(where, f"schemas are nested more than {_DEEPEST} deep")
    for key, value in schema.items():
        place = f"{where}.{key}"
        if key in ANNOTATIONS:
            continue
        if key not in CONSTRAINTS:
            known = ", ".join(sorted(CONSTRAINTS))
            raise _bad(place, f"this keyword is not judged here; those that are: {known}")
        if key in _SCHEMAS:
            check_schema(value, place, depth + 1)
        elif key in _LISTS:
            if not isinstance(value, list) or not value:
                raise _bad(place, "it must be a non-empty list of schemas")
            for number, each in enumerate(value):
                check_schema(each, f"{place}[{number}]", depth + 1)
        elif key == "properties":
            if not isinstance(value, dict):
                raise _bad(place, "it must be a mapping of schemas")
            for name, each in value.items():
                check_schema(each, f"{place}.{name}", depth + 1)
        else:
            _check_value(key, value, place)


def violations(value: object, schema: object, where: str = "record") -> Iterator[str]:
    """What of `value` breaks the schema, each with its place. The schema is one that
    `check_schema` has passed."""
    if isinstance(schema, bool):
        if not schema:
            yield f"{where}: nothing is allowed here"
        return
    assert isinstance(schema, dict)
    if "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(_is(value, name) for name in wanted):
            yield f"{where}: it is not of type {' or '.join(wanted)}"
            return
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        yield f"{where}: it is none of {', '.join(map(str, schema['enum']))}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{where}: it is not {schema['const']}"
    if isinstance(value, dict):
        yield from _object(value, schema, where)
    elif isinstance(value, list):
        yield from _array(value, schema, where)
    elif isinstance(value, str):
        yield from _count(len(value), schema, "Length", "characters", where)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: it does not match {schema['pattern']}"
    elif _is(value, "number"):
        yield from _number(value, schema, where)
    yield from _combined(value, schema, where)


def _object(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}: {name} is missing"
    known = schema.get("properties", {})
    beyond = schema.get("additionalProperties", True)
    for name, each in value.items():
        if name in known:
            yield from violations(each, known[name], f"{where}.{name}")
        elif beyond is False:
            yield f"{where}: {name} is not one of {', '.join(known) or 'no members'}"
        else:
            yield from violations(each, beyond, f"{where}.{name}")
    yield from _count(len(value), schema, "Properties", "members", where)


def _array(value: list[Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    for number, each in enumerate(value):
        yield from violations(each, schema.get("items", True), f"{where}[{number}]")
    yield from _count(len(value), schema, "Items", "entries", where)
    if schema.get("uniqueItems"):
        for number, each in enumerate(value):
            if any(_same(each, earlier) for earlier in value[:number]):
                yield f"{where}[{number}]: it is there twice"


def _number(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value} is below {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{where}: {value} is above {schema['maximum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{where}: {value} is not above {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield f"{where}: {value} is not below {schema['exclusiveMaximum']}"
    if "multipleOf" in schema and value % schema["multipleOf"] != 0:
        yield f"{where}: {value} is no multiple of {schema['multipleOf']}"


def _combined(value: object, schema: dict[str, Any], where: str) -> Iterator[str]:
    for each in schema.get("allOf", ()):
        yield from violations(value, each, where)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            fitting = sum(1 for each in schema[key] if _fits(value, each))
            if fitting == 0 or (key == "oneOf" and fitting > 1):
                yield f"{where}: it fits {fitting} of the schemas of {key}"
    if "not" in schema and _fits(value, schema["not"]):
        yield f"{where}: it fits what it must not"


def _fits(value: object, schema: object) -> bool:
    return next(violations(value, schema), None) is None


def _count(size: int, schema: dict[str, Any], what: str, unit: str, where: str) -> Iterator[str]:
    if size < schema.get(f"min{what}", 0):
        yield f"{where}: {size} {unit} are fewer than {schema[f'min{what}']}"
    if size > schema.get(f"max{what}", size):
        yield f"{where}: {size} {unit} are more than {schema[f'max{what}']}"


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _same(one: object, other: object) -> bool:
    """JSON's equality: true is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return one == other


def _check_value(key: str, value: Any, place: str) -> None:
    if key == "type":
        names = value if isinstance(value, list) and value else [value]
        if not all(isinstance(name, str) and name in TYPES for name in names):
            raise _bad(place, f"it must be of {', '.join(TYPES)}")
    elif key == "enum":
        if not isinstance(value, list) or not value:
            raise _bad(place, "it must be a non-empty list")
    elif key == "required":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise _bad(place, "it must be a list of names")
    elif key == "pattern":
        try:
            re.compile(value)
        except (re.error, TypeError):
            raise _bad(place, "it must be a regular expression") from None
    elif key == "uniqueItems":
        if not isinstance(value, bool):
            raise _bad(place, "it must be true or false")
    elif key in _COUNTS:
        if not _is(value, "integer") or value < 0:
            raise _bad(place, "it must be a whole number, 0 or more")
    elif key in _BOUNDS and (not _is(value, "number") or (key == "multipleOf" and value <= 0)):
        raise _bad(place, "it must be a number, for multipleOf above 0")


def _bad(place: str, reason: str) -> ToolError:
    return ToolError("config_invalid", f"{place}: {reason}")

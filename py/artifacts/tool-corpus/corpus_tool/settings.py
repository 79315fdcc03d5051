"""The entry's `config:` block: which types of record there are, and how much one call returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from murmur_tooling.documents import read_json
from murmur_tooling.members import ToolError

from corpus_tool.schema import check_schema

VARIABLE = "MURMUR_ARTIFACT_CONFIG"
_KEYS = ("config_version", "types", "read_recent", "search", "prefix_map")
_LARGEST = 1000


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type: the version that its records are written at, what they must fit, and what the
    names of its records begin with."""

    name: str
    schema_version: str | None
    schema: Any
    prefix: str


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole block. Numbers of records: (where none is asked for, at most)."""

    config_version: str | None
    types: Mapping[str, RecordType]
    read_recent: tuple[int, int]
    search: tuple[int, int]


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raises ToolError `config_missing` without a block or without types in it, and
    `config_invalid` naming the key, what is wrong with it and what is allowed."""
    text = environ.get(VARIABLE)
    if text is None:
        raise _missing("this artifact's entry has no `config:` block")
    try:
        block = read_json(text)
    except ValueError:
        raise _invalid("config", "it is not JSON") from None
    if not isinstance(block, dict):
        raise _invalid("config", "it must be a mapping")
    for key in block:
        if key not in _KEYS:
            raise _invalid(f"config.{key}", f"unknown; the keys are {', '.join(_KEYS)}")
    if not block.get("types"):
        raise _missing("`config.types` names no type")
    return Settings(
        config_version=_version(block.get("config_version"), "config.config_version"),
        types=_types(block["types"], block.get("prefix_map", {})),
        read_recent=_numbers(block, "read_recent", "default", "max", (20, 100)),
        search=_numbers(block, "search", "default_k", "max_k", (10, 50)),
    )


def _types(given: Any, prefixes: Any) -> dict[str, RecordType]:
    if not isinstance(given, dict):
        raise _invalid("config.types", "it must be a mapping of type names")
    if not isinstance(prefixes, dict):
        raise _invalid("config.prefix_map", "it must be a mapping of type names to prefixes")
    for name, prefix in prefixes.items():
        if name not in given:
            raise _invalid(f"config.prefix_map.{name}", "config.types has no such type")
        if not isinstance(prefix, str) or not prefix.isidentifier():
            raise _invalid(f"config.prefix_map.{name}", "it must be letters, digits and _")
    if len(set(prefixes.values())) < len(prefixes):
        raise _invalid("config.prefix_map", "two types have one prefix")
    types = {}
    for name, entry in given.items():
        where = f"config.types.{name}"
        if not isinstance(entry, dict):
            raise _invalid(where, "it must be a mapping")
        for key in entry:
            if key not in ("schema_version", "schema"):
                raise _invalid(f"{where}.{key}", "unknown; the keys are schema_version, schema")
        schema = entry.get("schema", True)
        check_schema(schema, f"{where}.schema")
        version = _version(entry.get("schema_version"), f"{where}.schema_version")
        types[name] = RecordType(name, version, schema, prefixes.get(name, "rec"))
    return types


def _numbers(
    block: Mapping[str, Any], key: str, usual: str, most: str, default: tuple[int, int]
) -> tuple[int, int]:
    given = block.get(key, {})
    if not isinstance(given, dict):
        raise _invalid(f"config.{key}", f"it must be a mapping of {usual} and {most}")
    for name, value in given.items():
        if name not in (usual, most):
            raise _invalid(f"config.{key}.{name}", f"unknown; the keys are {usual}, {most}")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _LARGEST:
            raise _invalid(f"config.{key}.{name}", f"it must be a number from 1 to {_LARGEST}")
    largest = given.get(most, max(default[1], given.get(usual, 0)))
    ordinary = given.get(usual, min(default[0], largest))
    if ordinary > largest:
        raise _invalid(f"config.{key}.{usual}", f"{ordinary} is above {most}, {largest}")
    return ordinary, largest


def _version(value: Any, where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _invalid(where, "it must be a string or a whole number")
    return str(value)


def _missing(reason: str) -> ToolError:
    return ToolError(
        "config_missing",
        f"{reason}; say there which records there are: `config: {{types: {{note: {{schema: "
        "{type: object, required: [text]}}}}`",
    )


def _invalid(where: str, reason: str) -> ToolError:
    return ToolError("config_invalid", f"{where}: {reason}")

"""The JSON Schema of a manifest, made from the models, for editors that complete and check.

Draft 7, which editors read. It knows the keys, their types, ranges and defaults; rules between
fields are left to `mur`, which also takes keys that it does not know (W-SEC-019) where the schema
calls them mistakes. design/decisions.md 12.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from murmur.core.version import VERSION
from murmur.manifest.explained import EXPLAINED, OLD_SPELLINGS
from murmur.manifest.models.base import Block
from murmur.manifest.models.capsule import CapsuleBlock
from murmur.manifest.models.packaged import PackagedBlock

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
# Their default hangs on the entry's role, and their sentence says how.
_CONDITIONAL: Final = frozenset(("local_source", "prompt_payload"))


def capsule_schema() -> dict[str, Any]:
    """The schema of a capsule's `murmur.yaml`."""
    return _schema_of(CapsuleBlock, "capsule")


def artifact_schema() -> dict[str, Any]:
    """The schema of the `murmur.yaml` that ships inside an artifact."""
    return _schema_of(PackagedBlock, "artifact")


def explanations(block: type[Block]) -> Mapping[str, str]:
    """The sentence on each key of a block."""
    name = block.__name__
    found = EXPLAINED.get(name)
    return EXPLAINED[f"{name}@{block.__module__.rpartition('.')[2]}"] if found is None else found


def default_of(block: type[Block], field: str) -> object:
    """The default of a field as JSON data; None when there is none, or it is a whole block."""
    result = getattr(block, "result_type", None)
    if result is None or field in _CONDITIONAL:
        return None
    for each in dataclasses.fields(result):
        if each.name == field:
            value = each.default
            if value is dataclasses.MISSING and each.default_factory is not dataclasses.MISSING:
                value = each.default_factory()
            if isinstance(value, str | bool | int | float):
                return value
            return list(value) if isinstance(value, tuple) else None
    return None


def _schema_of(block: type[Block], kind: str) -> dict[str, Any]:
    generated = block.model_json_schema(
        ref_template="#/definitions/{model}", schema_generator=_Generator, mode="validation"
    )
    definitions = generated.pop("$defs", {})
    return {
        "$schema": DIALECT,
        "title": f"murmur.yaml of a{'n' if kind == 'artifact' else ''} {kind} (mur {VERSION})",
        **generated,
        **({"definitions": definitions} if definitions else {}),
    }


class _Generator(GenerateJsonSchema):
    """pydantic's generator, with what the models say in words of their own."""

    schema_dialect = DIALECT

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(
        self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation"
    ) -> JsonSchemaValue:
        generated = super().generate(schema, mode)
        generated.pop("$schema", None)
        return generated

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        generated = super().model_schema(schema)
        block: type[Block] = schema["cls"]
        required = generated.get("required", [])
        sentences = explanations(block)
        properties = {
            key: {
                **_typed(block, key, generated["properties"][key], key in required),
                "description": sentences[key],
                **_default(block, name),
            }
            for key, name in block.known_keys().items()
        }
        for old, new in OLD_SPELLINGS.get(block.__name__, {}).items():
            sentence = f"Old spelling of {new}."
            properties[old] = {"description": sentence, "deprecated": True}
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _typed(
    block: type[Block], key: str, generated: Mapping[str, Any], required: bool
) -> dict[str, Any]:
    """The generated schema of a key; a key without a value counts as absent."""
    schema = {name: value for name, value in generated.items() if name != "default"}
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if choices:
        schema = {**schema, "anyOf": choices}
        if len(choices) == 1:
            rest = {name: value for name, value in schema.items() if name != "anyOf"}
            only = {"allOf": choices} if "$ref" in choices[0] else choices[0]
            schema = {**rest, **only}
    if not schema or required or key in block.present_when_empty:
        return schema
    alone = schema["allOf"][0] if set(schema) == {"allOf"} else schema
    return {"anyOf": [alone, {"type": "null"}]}


def _default(block: type[Block], name: str) -> dict[str, Any]:
    value = default_of(block, name)
    return {} if value is None else {"default": value}

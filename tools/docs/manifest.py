"""docs/reference/manifest.md, from the models of murmur.manifest."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from murmur.manifest.explained import OLD_SPELLINGS
from murmur.manifest.models.base import Block
from murmur.manifest.models.capsule import CapsuleBlock
from murmur.manifest.models.packaged import PackagedBlock
from murmur.manifest.schema import artifact_schema, capsule_schema, default_of
from tools.docs.markdown import MADE, page, table

_INTRODUCTION = f"""{MADE}

What `murmur.yaml` may hold. `mur schema` prints the same as a JSON Schema, for editors that
complete and check the file; with the YAML language server, save it and put
`# yaml-language-server: $schema=<file>` on the manifest's first line.

A key without a value counts as absent. A key that no field claims is reported (`W-SEC-019`) and
has no effect. Durations are seconds, or a number with `s`, `m`, `h` or `d`; sizes are bytes, or a
number with `Ki`, `Mi` or `Gi`."""


def manifest_page() -> str:
    """Both manifests, block by block."""
    return page(
        "The manifest",
        _INTRODUCTION,
        ["## A capsule"],
        *capsule_sections(),
        ["## Inside an artifact"],
        *_sections(PackagedBlock, "", artifact_schema(), {}, {}),
    )


def capsule_sections() -> Iterator[list[str]]:
    """The table of each block of a capsule's manifest, the capsule's own first."""
    schema = capsule_schema()
    return _sections(CapsuleBlock, "", schema, schema["definitions"], {})


def _sections(
    block: type[Block],
    path: str,
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    seen: dict[type[Block], str],
) -> Iterator[list[str]]:
    """A block's table, and those of the blocks below it; one that came before is referred to."""
    lines = [f"### `{path}`", ""] if path else []
    rows = []
    below: list[tuple[type[Block], str, Mapping[str, Any]]] = []
    for key, name in block.known_keys().items():
        given = schema["properties"][key]
        where = f"{path}.{key}" if path else key
        meaning = given["description"]
        for inner, suffix in _inner(block.model_fields[name].annotation):
            if inner in seen:
                meaning += f" Keys as in [`{seen[inner]}`](#{_anchor(seen[inner])})."
            else:
                seen[inner] = where + suffix
                below.append((inner, where + suffix, _definition(given, definitions)))
        required = "required" if key in schema.get("required", []) else _default(block, name)
        rows.append((f"`{key}`", _type(given, definitions), required, meaning))
    lines += table(("Key", "Type", "Default", "Meaning"), rows)
    for old, new in OLD_SPELLINGS.get(block.__name__, {}).items():
        lines += ["", f"`{old}` is an old spelling of `{new}`; it works, with `W-MAN-001`."]
    yield lines
    for inner, where, found in below:
        yield from _sections(inner, where, found, definitions, seen)


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    kept = (c for c in heading.lower() if c.isalnum() or c in "-_ ")
    return "".join(kept).replace(" ", "-")


def _inner(annotation: Any, suffix: str = "") -> Iterator[tuple[type[Block], str]]:
    """The blocks that a field holds, and what its path goes on with: `[]` or `.<name>`."""
    if isinstance(annotation, type) and issubclass(annotation, Block):
        yield annotation, suffix
    origin = getattr(annotation, "__origin__", None)
    further = {list: "[]", dict: ".<name>"}.get(origin, "") if origin is not None else ""
    for part in get_args(annotation):
        yield from _inner(part, suffix + further)


def _choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A property's alternatives, without the null that stands for absence."""
    choices = schema.get("anyOf") or schema.get("allOf")
    if choices is None:
        return [schema]
    return [part for choice in choices if choice != {"type": "null"} for part in _choices(choice)]


def _definition(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The block that a property leads to, through lists and mappings."""
    for choice in _choices(schema):
        if "$ref" in choice:
            found: Mapping[str, Any] = definitions[choice["$ref"].rpartition("/")[2]]
            return found
        for key in ("items", "additionalProperties"):
            if isinstance(choice.get(key), Mapping):
                return _definition(choice[key], definitions)
    raise LookupError(f"no block in {schema}")


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    words = [_words(choice) for choice in _choices(schema)]
    return " or ".join(dict.fromkeys(words))


def _words(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return "block"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{value}`" for value in values)
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        items = _type(schema["items"], {}) if schema.get("items") else "anything"
        return f"list of {items}"
    if kind == "object":
        return "mapping"
    if kind in ("integer", "number"):
        return kind + _range(schema)
    if kind == "string" and "+(" in schema.get("pattern", ""):
        return "number with unit"
    return kind


def _range(schema: Mapping[str, Any]) -> str:
    bounds = []
    for key, sign in (
        ("exclusiveMinimum", "above"),
        ("minimum", "at least"),
        ("exclusiveMaximum", "below"),
        ("maximum", "at most"),
    ):
        value = schema.get(key)
        if value is not None and value < 1 << 62:
            bounds.append(f"{sign} {value}")
    return f" {', '.join(bounds)}" if bounds else ""


def _default(block: type[Block], name: str) -> str:
    value = default_of(block, name)
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`"

"""What a tool's input schema declares about what it writes.

`"format": "murmur-destination"` on a string property, `"format": "murmur-opaque"` on an object or
an array, and `"murmur-destinations"` at the root. seeds/manifest-schema.md, Read-only paths. A
schema only refines where the check looks; nothing in it permits a path. `$ref` is not resolved.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from murmur.read_only.keys import is_judged

DESTINATION: Final = "murmur-destination"
OPAQUE: Final = "murmur-opaque"
DERIVED: Final = "murmur-destinations"

_DEEPEST: Final = 32
_MOST_NODES: Final = 4096
_ENTRY: Final = re.compile(r"\{([^{}]+)\}(?:/(.*))?", re.DOTALL)
_STEP: Final = re.compile(r"([^\[\]]+)((?:\[\])*)")


@dataclass(slots=True)
class Node:
    """One place of the input as the schema describes it; every schema of that place is merged.

    `others` describes properties that are not listed, `items` the elements of an array.
    """

    properties: dict[str, "Node"] = field(default_factory=dict)
    others: "Node | None" = None
    items: "Node | None" = None
    destination: bool = False
    opaque: bool = False
    text: bool = False

    def child(self, key: str) -> "Node | None":
        return self.properties.get(key, self.others)


@dataclass(frozen=True, slots=True)
class Derived:
    """One entry of `murmur-destinations`: a place of the input, and what is written below it."""

    text: str
    location: str
    steps: tuple[str | None, ...]
    suffix: str


@dataclass(frozen=True, slots=True)
class Declarations:
    """A schema, read once. `derived` None is no list, or one that is discarded as malformed."""

    root: Node
    derived: tuple[Derived, ...] | None = None

    @property
    def is_opaque(self) -> bool:
        """Whether the key-name rules leave the whole input alone."""
        return self.root.opaque

    def unjudged(self) -> list[str]:
        """The places that only the key-name rules judge, as a refusal would spell them. W-SEC-018.

        Empty where the schema declares a list of derived destinations, an empty one included.
        """
        if self.derived is not None or self.is_opaque:
            return []
        return list(_by_name(self.root, ""))


def read_declarations(schema: object) -> Declarations:
    """What `schema` declares; a schema that is no object declares nothing."""
    root = Node()
    budget = [_MOST_NODES]
    _describe(schema, root, 0, budget)
    derived = _derived(schema.get(DERIVED), root) if isinstance(schema, Mapping) else None
    return Declarations(root, derived)


def _describe(schema: object, node: Node, depth: int, budget: list[int]) -> None:
    """Merges one schema into the node of its place."""
    budget[0] -= 1
    if not isinstance(schema, Mapping) or depth > _DEEPEST or budget[0] < 0:
        return
    declared = schema.get("type")
    types = declared if isinstance(declared, list) else [declared]
    text = declared is None or "string" in types
    node.text = node.text or text
    match schema.get("format"):
        case "murmur-destination" if text:
            node.destination = True
        case "murmur-opaque" if "object" in types or "array" in types:
            node.opaque = True
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for key, inner in properties.items():
            _describe(inner, node.properties.setdefault(str(key), Node()), depth + 1, budget)
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        node.others = node.others or Node()
        _describe(others, node.others, depth + 1, budget)
    for key in ("items", "prefixItems"):
        found = schema.get(key)
        for inner in found if isinstance(found, list) else [found]:
            if isinstance(inner, Mapping):
                node.items = node.items or Node()
                _describe(inner, node.items, depth + 1, budget)
    for key in ("allOf", "anyOf", "oneOf"):
        found = schema.get(key)
        for inner in found if isinstance(found, list) else ():
            _describe(inner, node, depth + 1, budget)


def _by_name(node: Node, location: str) -> Iterator[str]:
    for key, child in node.properties.items():
        here = f"{location}.{key}" if location else key
        if child.opaque:
            continue
        if child.text and not child.destination and is_judged(key):
            yield here
        yield from _by_name(child, here)
    if node.items is not None and not node.items.opaque:
        yield from _by_name(node.items, f"{location}[]")


def _derived(entries: object, root: Node) -> tuple[Derived, ...] | None:
    """The list, or None: one entry that cannot be read discards all of it."""
    if not isinstance(entries, list):
        return None
    read = [_entry(entry, root) for entry in entries]
    kept = tuple(entry for entry in read if entry is not None)
    return kept if len(kept) == len(read) else None


def _entry(entry: object, root: Node) -> Derived | None:
    match = _ENTRY.fullmatch(entry) if isinstance(entry, str) else None
    if match is None or "\\" in match[0] or "\0" in match[0]:
        return None
    suffix = match[2]
    if suffix is not None and any(part in ("", ".", "..") for part in suffix.split("/")):
        return None
    steps = _steps(match[1], root)
    return None if steps is None else Derived(match[0], match[1], steps, suffix or "")


def _steps(location: str, root: Node) -> tuple[str | None, ...] | None:
    """The keys of a location, None for each array step; None when the schema lacks it."""
    node: Node | None = root
    steps: list[str | None] = []
    for part in location.split("."):
        match = _STEP.fullmatch(part)
        if match is None or node is None:
            return None
        node = node.properties.get(match[1])
        steps.append(match[1])
        for _ in range(len(match[2]) // 2):
            node = node.items if node is not None else None
            steps.append(None)
    return None if node is None else tuple(steps)

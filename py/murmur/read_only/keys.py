"""Property names that say what a tool's input writes, where its schema does not say it.

seeds/manifest-schema.md, Read-only paths. Names are compared without case, `-` and `_`.
"""

from collections.abc import Mapping
from typing import Final

DESTINATIONS: Final = (
    "dest",
    "dest_path",
    "destination",
    "destination_path",
    "target_path",
    "output_path",
    "out_path",
    "new_path",
    "to",
)
PATHS: Final = ("path", "file_path", "filepath", "filename", "file")
CONTENTS: Final = (
    "content",
    "contents",
    "text",
    "data",
    "body",
    "new_str",
    "new_string",
    "replacement",
    "patch",
    "diff",
)


def fold(name: str) -> str:
    """A property's name as the tables compare it."""
    return name.lower().replace("_", "").replace("-", "")


_DESTINATIONS: Final = frozenset(map(fold, DESTINATIONS))
_PATHS: Final = frozenset(map(fold, PATHS))
_CONTENTS: Final = frozenset(map(fold, CONTENTS))


def is_judged(name: str) -> bool:
    """Whether a property of this name is path-shaped or destination-shaped."""
    folded = fold(name)
    return folded in _DESTINATIONS or folded in _PATHS


def named_writes(given: Mapping[str, object]) -> list[str]:
    """The keys of one JSON object whose string values it writes, in the object's order."""
    folded = {key: fold(key) for key in given}
    has_content = any(name in _CONTENTS and given[key] is not None for key, name in folded.items())
    return [
        key
        for key, name in folded.items()
        if isinstance(given[key], str)
        and (name in _DESTINATIONS or (has_content and name in _PATHS))
    ]

"""Artifact names: `<scope>/<name>` in full, and what a bare name in a manifest means.

The bare part is what the model sees. spec/formations-and-newer-manifest.md A1 and A3.
"""

import re
from typing import Final

NAME_RULE: Final = "lowercase letters, digits and inner hyphens, at most 100 characters"
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LONGEST: Final = 100
_FIRST_PARTY: Final = "murmur-"


def is_bare_name(text: str) -> bool:
    """Whether `text` may stand as the `name:` of an artifact's own manifest."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


def is_full_name(text: str) -> bool:
    """Whether `text` is `<scope>/<name>`, both parts spelled as names are."""
    scope, slash, name = text.partition("/")
    return bool(slash) and is_bare_name(scope) and is_bare_name(name)


def bare_name(full_name: str) -> str:
    """The part after the scope: the model-visible name."""
    return full_name.rpartition("/")[2]


def full_name(name: str) -> str:
    """The full name that a manifest means by `name`; a name with a scope stays as it is.

    `murmur-<rest>` is the first party's own `murmur/<rest>`; any other bare name is
    `local/<name>`.
    """
    if "/" in name:
        return name
    rest = name.removeprefix(_FIRST_PARTY)
    if rest != name and is_bare_name(rest):
        return f"murmur/{rest}"
    return f"local/{name}"

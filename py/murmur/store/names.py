"""Names and versions of artifacts. spec/registry.md 1."""

import dataclasses
import re
from typing import Final, Self

from murmur.core.diagnostics import error
from murmur.manifest.names import is_full_name

NAME_LIMIT: Final = 100
LOCAL_SCOPE: Final = "local"
MURMUR_SCOPE: Final = "murmur"
RESERVED_VERSIONS: Final = ("latest", "stable", "edge")

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def bare_name_fault(name: str) -> str | None:
    """Why `name` is no bare artifact name; None when it is one."""
    if not name:
        return "it is empty"
    if len(name) > NAME_LIMIT:
        return f"it is {len(name)} characters long, and at most {NAME_LIMIT} are allowed"
    if "/" in name:
        return "a name holds no `/`: the scope comes from where the artifact is installed from"
    if name[0] == "-" or name[-1] == "-":
        return "it starts or ends with `-`"
    if _NAME.fullmatch(name) is None:
        strange = next(c for c in name if not re.fullmatch("[a-z0-9-]", c))
        return f"it holds {strange!r}"
    return None


def version_fault(version: str) -> str | None:
    """Why `version` cannot become a path segment; None when it can."""
    if not version:
        return "it is empty"
    if version in (".", ".."):
        return f"{version!r} is no version"
    for character in version:
        if character in "/\\" or ord(character) < 0x20 or ord(character) == 0x7F:
            return f"it holds {character!r}"
    return None


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class FullName:
    """`<scope>/<name>`, both halves bare names; ordered as its plain text."""

    text: str

    @classmethod
    def of(cls, scope: str, name: str) -> Self:
        return cls(f"{scope}/{name}")

    @property
    def scope(self) -> str:
        return self.text.partition("/")[0]

    @property
    def name(self) -> str:
        return self.text.partition("/")[2]

    def __str__(self) -> str:
        return self.text


def parse_full_name(text: str) -> FullName:
    """The full name written in `text`. Raises E-REG-007 when it is not one."""
    if not is_full_name(text):
        raise error("E-REG-007", name=text)
    return FullName(text)


def version_order(version: str) -> tuple[object, ...]:
    """A sort key: SemVer precedence, and below every such version the ones that are not SemVer."""
    match = _SEMVER.fullmatch(version)
    if match is None:
        return (0, version)
    numbers = tuple(int(match[i]) for i in (1, 2, 3))
    if match[4] is None:
        return (1, numbers, 1, ())
    # A numeric identifier ranks below an alphanumeric one; fewer identifiers rank below more.
    parts = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split(".")
    )
    return (1, numbers, 0, parts)

"""What an argument of `mur install` names. spec/registry.md 12."""

import dataclasses
import re
from typing import Final

from murmur.core.diagnostics import error
from murmur.store.archive import SUFFIX
from murmur.store.names import FullName, parse_full_name, version_fault

_GITHUB: Final = re.compile(r"github:([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)@(.+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Pinned:
    """`<scope>/<name>@<version>`."""

    name: FullName
    version: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


@dataclasses.dataclass(frozen=True, slots=True)
class Newest:
    """`<scope>/<name>`: the newest version that fits."""

    name: FullName


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """`github:<owner>/<repo>@<tag>`: every asset of a release."""

    owner: str
    repository: str
    tag: str

    def __str__(self) -> str:
        return f"github:{self.owner}/{self.repository}@{self.tag}"


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """The path of a `.mur.zip`."""

    path: str


Reference = Pinned | Newest | Release | File


def parse_reference(text: str) -> Reference:
    """The reference written in `text`. Raises E-REG-007 when it is none of the forms."""
    if text.startswith(("./", "../", "/")) or ("/" in text and text.endswith(SUFFIX)):
        return File(text)
    if text.startswith("github:"):
        match = _GITHUB.fullmatch(text)
        if match is None:
            raise error("E-REG-007", name=text)
        return Release(match[1], match[2], match[3])
    name, at, version = text.partition("@")
    full_name = parse_full_name(name)
    if not at:
        return Newest(full_name)
    if version_fault(version) is not None:
        raise error("E-REG-007", name=text)
    return Pinned(full_name, version)

"""A process driver's `harness_needs:` block: what its harness reaches of host and network.

A block of this project's own. The reference has a driver say this through an interface above the
served level (spec/artifacts.md 13.7); here its manifest does, in the same terms, so that it is
known without running anything. `mur build` (E-BLD-008) and staging (E-RUN-062) read it through this
one parser. It asks and grants nothing: only the operator's manifest allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from murmur.manifest.config import kind_of
from murmur.manifest.grants import HarnessPath
from murmur.manifest.network import BadRule, NetworkRule, parse_rule

KEY: Final = "harness_needs"


@dataclass(frozen=True, slots=True)
class HarnessNeeds:
    """Host paths and hosts, each in the form of the manifest's list that has to allow it."""

    paths: tuple[HarnessPath, ...] = ()
    hosts: tuple[NetworkRule, ...] = ()


class BadHarnessNeeds(ValueError):
    """Why a block cannot be used: the dotted `field`, and the `reason` with its value."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def parse_harness_needs(block: object, runtime: str | None = "driver") -> HarnessNeeds | None:
    """What the harness of a driver needs; None where its manifest does not say.

    An empty block says that it needs nothing. Raises BadHarnessNeeds.
    """
    if block is None:
        return None
    if runtime != "driver":
        role = f"a {runtime}" if runtime else "of no role"
        raise BadHarnessNeeds(KEY, f"only a driver has a harness, and this is {role}")
    keys = _mapping(KEY, block, ("paths", "hosts"))
    paths: list[HarnessPath] = []
    for where, entry in _entries(keys, "paths"):
        found = _path(where, entry)
        if any(found.path == other.path for other in paths):
            raise BadHarnessNeeds(f"{where}.path", f"'{found.path}' is given twice")
        paths.append(found)
    return HarnessNeeds(
        tuple(paths), tuple(_host(where, entry) for where, entry in _entries(keys, "hosts"))
    )


def _path(where: str, entry: object) -> HarnessPath:
    keys = _mapping(where, entry, ("path", "access"))
    path = _text(f"{where}.path", keys.get("path"))
    if not path.startswith(("/", "~/")):
        raise BadHarnessNeeds(f"{where}.path", f"'{path}' begins with neither / nor ~/")
    if ".." in path.split("/") or "\0" in path:
        raise BadHarnessNeeds(f"{where}.path", f"{path!r} holds '..' or a zero byte")
    return HarnessPath(path, _access(f"{where}.access", keys.get("access", "read")))


def _access(where: str, value: object) -> Literal["read", "read-write"]:
    match _text(where, value):
        case "read":
            return "read"
        case "read-write":
            return "read-write"
        case other:
            raise BadHarnessNeeds(where, f"'{other}' is neither read nor read-write")


def _host(where: str, entry: object) -> NetworkRule:
    try:
        return parse_rule(_text(where, entry))
    except BadRule as bad:
        raise BadHarnessNeeds(where, str(bad)) from None


def _mapping(where: str, value: object, accepted: tuple[str, ...]) -> dict[str, object]:
    """A mapping's entries that have a value; a misspelt key is refused, for it would vanish."""
    if not isinstance(value, Mapping):
        raise BadHarnessNeeds(where, f"it is {kind_of(value)}, not a mapping")
    for key in value:
        if key not in accepted:
            raise BadHarnessNeeds(f"{where}.{key}", f"it is none of {', '.join(accepted)}")
    return {str(key): item for key, item in value.items() if item is not None}


def _entries(keys: Mapping[str, object], key: str) -> list[tuple[str, object]]:
    """The entries of a list, each with its dotted field."""
    value, where = keys.get(key, []), f"{KEY}.{key}"
    if not isinstance(value, list):
        raise BadHarnessNeeds(where, f"it is {kind_of(value)}, not a list")
    return [(f"{where}[{index}]", entry) for index, entry in enumerate(value)]


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        found = "blank" if isinstance(value, str) else kind_of(value)
        raise BadHarnessNeeds(where, f"it is {found}, not a text")
    return value

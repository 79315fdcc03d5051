"""Host paths that commands reach beyond their own folders, each by a grant. containment.md 16.

Whoever grants, a grant comes to the same few facts; Landlock's rules (`rights`) and the composed
root's binds (`sealed_root`) are made from these alone.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from murmur.core.config import HostPath
from murmur.manifest.grants import InterpreterRuntime, StagedRuntime
from murmur.sandbox.binaries import inside
from murmur.sandbox.credential_locations import is_credential_location
from murmur.sandbox.interpreters import Runtime
from murmur.sandbox.probe import Tier

# The composed root makes these anew, so that nothing of the host's can be attached there.
_MADE_ANEW: Final = ("/dev", "/proc")


class UnusableGrant(Exception):
    """A declared grant that would undo the containment; the message names its field and path."""


@dataclasses.dataclass(frozen=True, slots=True)
class PathGrant:
    """One path and what commands may do below it, besides reading.

    `path` is canonical; `declared` how it was named, where that leads through a link. `required`:
    without it nothing runs at all.
    """

    path: str
    declared: str
    list_dir: bool = True
    execute: bool = False
    write: bool = False
    required: bool = False


def grant(declared: str, **facts: bool) -> PathGrant:
    """The grant of a path as somebody named it; PathGrant's facts, with its defaults."""
    return PathGrant(os.path.realpath(declared), os.path.normpath(declared), **facts)


def interpreter_grants(declared: Iterable[InterpreterRuntime]) -> tuple[PathGrant, ...]:
    """`shell.interpreter_runtime`."""
    return tuple(
        grant(each.path, list_dir=each.list_dir, execute=True)
        for runtime in declared
        for each in runtime.dirs
    )


def staged_grants(declared: Iterable[StagedRuntime]) -> tuple[PathGrant, ...]:
    """`shell.staged_runtime`; whether the trees exist is seen when the root is composed."""
    return tuple(grant(each.source_path, execute=True, required=True) for each in declared)


def derived_grants(derived: Mapping[str, Runtime]) -> tuple[PathGrant, ...]:
    """What interpreters read, none of it to be executed."""
    folders = {path for each in derived.values() for path in each.folders}
    files = {path for each in derived.values() for path in each.files}
    return (
        *(grant(path) for path in sorted(folders)),
        *(grant(path, list_dir=False) for path in sorted(files - folders)),
    )


def check_outside(grants: Iterable[PathGrant], writable: Sequence[str], field: str) -> None:
    """Raises UnusableGrant for an executable grant that reaches what commands write.

    Landlock adds rights up along a path, so that a grant above the work folder would make
    whatever is written there executable.
    """
    for each in grants:
        for folder in writable:
            if inside(each.path, (folder,)) or inside(folder, (each.path,)):
                relation = "lies in" if inside(each.path, (folder,)) else "holds"
                raise UnusableGrant(
                    f"{field}: {each.declared} {relation} {folder}, which commands write: what "
                    f"they write could then be executed; name a folder apart from it"
                )


@dataclasses.dataclass(frozen=True, slots=True)
class HostPathGrant:
    """What became of one of the operator's `host_paths`; never executable.

    `path` is canonical, `reason` says why `mechanism` is none.
    """

    path: str
    declared: Literal["read", "read-write"]
    access: Literal["read", "read-write"]
    mechanism: Literal["landlock", "bind", "none"]
    credential_location: bool
    reason: str = ""

    @property
    def grant(self) -> PathGrant:
        return PathGrant(self.path, self.path, write=self.access == "read-write")


def host_path_grants(
    declared: Iterable[HostPath], tier: Tier, writable: Sequence[str], murmur: str, home: str
) -> tuple[HostPathGrant, ...]:
    """The operator's `host_paths` at this tier, in their order.

    `murmur` is `~/.murmur`, no part of which is ever granted; `home` the operator's home.
    """
    found = []
    for each in declared:
        path = os.path.realpath(each.path)
        reason = _withheld(path, tier, writable, os.path.realpath(murmur) if murmur else "")
        mechanism: Literal["landlock", "bind"] = "bind" if tier == "Sealed" else "landlock"
        found.append(
            HostPathGrant(
                path=path,
                declared=each.access,
                access=each.access,
                mechanism="none" if reason else mechanism,
                credential_location=is_credential_location(path, home),
                reason=reason,
            )
        )
    return tuple(found)


def _withheld(path: str, tier: Tier, writable: Sequence[str], murmur: str) -> str:
    """Why a host path is not granted; empty when it is."""
    if tier not in ("Full", "Sealed"):
        return "no mechanism of this host mediates paths"
    if not os.path.exists(path):
        return "it does not exist"
    if murmur and (inside(path, (murmur,)) or inside(murmur, (path,))):
        return "it reaches ~/.murmur"
    if inside(path, writable):
        return "it lies in a folder of the session's"
    if path == "/" or (tier == "Sealed" and inside(path, _MADE_ANEW)):
        return "the session's root has its own"
    return ""

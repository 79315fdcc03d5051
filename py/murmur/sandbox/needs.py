"""What the host programs that a tool runs need, resolved on this host. Formations digest A15.

A need that does not resolve is nobody's failure: it grants nothing. Linux only.
"""

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from murmur.manifest.programs import Download, Need, Program
from murmur.sandbox import elf
from murmur.sandbox.binaries import Binary
from murmur.sandbox.widening import PathGrant, grant

FONTS: Final = (
    "/etc/fonts",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/fontconfig",
    "/var/cache/fontconfig",
)


@dataclasses.dataclass(frozen=True, slots=True)
class ToolProgram:
    """A program that an operator's tool runs and the capsule allows by name.

    `download` is the pinned copy for this platform, `stored` its executable in the program store;
    None where there is none.
    """

    artifact: str
    program: Program
    download: Download | None = None
    stored: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """Which copy of a program with a pinned download a session runs."""

    artifact: str
    program: str
    source: Literal["host", "pinned", "missing"]
    download: Download
    path: str | None = None

    @property
    def reason(self) -> str | None:
        """Why there is none."""
        if self.source != "missing":
            return None
        return "it is not on PATH, and `mur install` has put no copy into ~/.murmur/programs"


@dataclasses.dataclass(frozen=True, slots=True)
class NeedGrant:
    """One path that a need of a tool's program came to, for reading."""

    artifact: str
    grant: PathGrant


def choose_programs(
    programs: Sequence[ToolProgram], found: Mapping[str, Binary]
) -> tuple[ProgramOutcome, ...]:
    """The copy of each program with a pinned download; `found` are the names that PATH has."""
    chosen = []
    for each in programs:
        if each.download is None:
            continue
        name = each.program.name
        here = found.get(name)
        if here is not None:
            outcome = ProgramOutcome(each.artifact, name, "host", each.download, here.path)
        elif each.stored is not None:
            path = os.path.realpath(each.stored)
            outcome = ProgramOutcome(each.artifact, name, "pinned", each.download, path)
        else:
            outcome = ProgramOutcome(each.artifact, name, "missing", each.download)
        chosen.append(outcome)
    return tuple(chosen)


def pinned_grants(chosen: Sequence[ProgramOutcome]) -> tuple[PathGrant, ...]:
    """The unpacked files of the pinned copies that are run; the executable is granted apart."""
    return tuple(
        grant(_files(each.path))
        for each in chosen
        if each.source == "pinned" and each.path is not None
    )


def _files(executable: str) -> str:
    """`files/` of the store's folder that an executable was unpacked to."""
    folder = os.path.dirname(executable)
    while os.path.basename(folder) != "files" and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def resolve_needs(
    programs: Sequence[ToolProgram], found: Mapping[str, Binary], trust_store: Sequence[str]
) -> tuple[NeedGrant, ...]:
    """What every need comes to, each path once per tool; nothing on another system than Linux."""
    if not sys.platform.startswith("linux"):
        return ()
    grants: dict[tuple[str, str], NeedGrant] = {}
    for each in programs:
        binary = found.get(each.program.name)
        if binary is None:
            continue
        for need in each.program.needs:
            for path in _resolve(need, binary.all_paths, trust_store):
                real = os.path.realpath(path)
                made = grant(path, list_dir=os.path.isdir(real))
                grants.setdefault((each.artifact, real), NeedGrant(each.artifact, made))
    return tuple(grants.values())


def _resolve(need: Need, binaries: Sequence[str], trust_store: Sequence[str]) -> Iterator[str]:
    match need.form:
        case "library":
            for library in _libraries(need.value, binaries):
                yield library
                yield from elf.closure([library])
        case "file":
            for library in _libraries(need.beside or "", binaries):
                yield from _existing(os.path.join(os.path.dirname(library), need.value), file=True)
        case "program_folder":
            for binary in binaries:
                yield from _existing(os.path.join(os.path.dirname(binary), need.value))
        case "etc":
            yield from _existing(os.path.join("/etc", need.value))
        case "system":
            for place in FONTS if need.value == "fonts" else trust_store:
                yield from _existing(place)


def _libraries(name: str, binaries: Sequence[str]) -> Iterator[str]:
    for binary in binaries:
        found = elf.find_library(name, binary) if name else None
        if found is not None:
            yield os.path.realpath(found)


def _existing(path: str, *, file: bool = False) -> Iterator[str]:
    if os.path.isfile(path) if file else os.path.exists(path):
        yield path

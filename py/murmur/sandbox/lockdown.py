"""What a guest host may still do once it has locked itself down. design/decisions.md 7.

The runtime decides here and writes a launch spec per host; the forked host hands its descriptor to
`mur_lockdown` in the shared library, which is the helper's own code.
"""

import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from murmur.sandbox.launchspec import LaunchSpec, Rule, constant, encode, memfd

NAME: Final = "libmur-lockdown.so"
_VARIABLE: Final = "MURMUR_LOCKDOWN_LIBRARY"


@dataclasses.dataclass(frozen=True, slots=True)
class Opening:
    """A file or folder that the host still opens; never to execute it.

    `write` adds creating, changing and removing below it. `held` is a descriptor of the very
    object, compared with what the path leads to; -1: not compared. `optional`: skipped if missing.
    """

    path: str
    write: bool = False
    held: int = -1
    optional: bool = False


class LibraryMissing(Exception):
    """There is no libmur-lockdown.so. The message says where it was looked for."""


def find_library(helper: Path | None = None) -> Path:
    """libmur-lockdown.so: $MURMUR_LOCKDOWN_LIBRARY, else packed here, else beside the helper.

    Raises LibraryMissing.
    """
    named = os.environ.get(_VARIABLE)
    if named:
        return Path(named).absolute()
    packed = Path(__file__).with_name(NAME)
    if packed.exists():
        return packed.absolute()
    if helper is not None and (path := helper.resolve().parent / NAME).exists():
        return path
    where = "there is no helper" if helper is None else f"it is not beside {helper}"
    raise LibraryMissing(f"no {NAME}: {_VARIABLE} is not set, and {where}")


def interpreter_openings() -> tuple[Opening, ...]:
    """What this interpreter and its packages are read from, for modules imported after lockdown."""
    folders = dict.fromkeys(
        os.path.realpath(each) for each in (*sys.path, os.path.dirname(os.__file__)) if each
    )
    return tuple(Opening(each, optional=True) for each in folders)


@dataclasses.dataclass(frozen=True, slots=True)
class HostLockdown:
    """The lockdown of every guest host of a session, by the host's name.

    `library` is what find_library found. `landlock` false is for a kernel without it: the filter
    and the loss of capabilities stay.
    """

    library: str
    openings: Mapping[str, tuple[Opening, ...]]
    landlock: bool = True

    def open_spec(self, host: str) -> int:
        """A new descriptor of the launch spec for `host`; the caller closes it.

        Raises KeyError for a host without an entry, OSError when no memfd can be made.
        """
        return lockdown_spec(self.openings[host], landlock=self.landlock)


def lockdown_spec(openings: Iterable[Opening], *, landlock: bool = True) -> int:
    """A memfd with the launch spec of one guest host. Raises OSError."""
    spec = LaunchSpec(
        verb="LOCKDOWN",
        flags=["SECCOMP", *(["LANDLOCK"] if landlock else [])],
        seccomp=["GUEST"],
        rules=[_rule(each) for each in openings] if landlock else (),
    )
    return memfd(encode(spec))


def _rule(opening: Opening) -> Rule:
    names = ["READ_FILE", "READ_DIR"]
    if opening.write:
        names += ["WRITE_FILE", "REMOVE_DIR", "REMOVE_FILE", "MAKE_DIR", "MAKE_REG"]
        names += ["MAKE_FIFO", "MAKE_SYM", "REFER", "TRUNCATE"]
    access = 0
    for name in names:
        access |= constant(f"ACCESS_{name}")
    device = inode = 0
    if opening.held >= 0:
        status = os.fstat(opening.held)
        device, inode = status.st_dev, status.st_ino
    path = os.path.realpath(opening.path)
    return Rule(path, access, device, inode, optional=opening.optional)

"""What a guest host may still do once it has locked itself down. design/decisions.md 7.

A runtime writes the spec with `lockdown_spec`; the forked host hands its descriptor to
`lock_down`, which calls the helper's own code in the shared library libmur-lockdown.so. Nothing
here imports more than that needs: it runs in a process that is about to lose its rights.
"""

import ctypes
import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from murmur.sandbox.launchspec import LaunchSpec, Limit, Rule, constant, encode, memfd

NAME: Final = "libmur-lockdown.so"
_VARIABLE: Final = "MURMUR_LOCKDOWN_LIBRARY"
_ERROR_BYTES: Final = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Opening:
    """A file or folder that the host still opens.

    `write` adds creating, changing and removing below it. `held` is a descriptor of the very
    object, compared with what the path leads to; -1: not compared. `optional`: skipped if missing.
    """

    path: str
    write: bool = False
    held: int = -1
    optional: bool = False


class LockdownFailed(Exception):
    """A step failed; others may be in force already, so the process must end."""


def find_library(helper: Path | None = None) -> Path:
    """libmur-lockdown.so: $MURMUR_LOCKDOWN_LIBRARY, else beside the helper. Raises LockdownFailed."""
    named = os.environ.get(_VARIABLE)
    if named:
        return Path(named).absolute()
    if helper is not None and (path := helper.resolve().parent / NAME).exists():
        return path
    where = "nowhere to look" if helper is None else f"not beside {helper}"
    raise LockdownFailed(f"no {NAME}: {_VARIABLE} is not set, {where}")


def lockdown_spec(
    openings: Iterable[Opening],
    *,
    landlock: bool = True,
    unix_sockets: bool = False,
    limits: Iterable[Limit] = (),
) -> int:
    """A memfd with the spec of one guest host, to be passed to it. Raises OSError.

    `landlock` false is for a host kernel without it; the filter and the loss of capabilities stay.
    """
    spec = LaunchSpec(
        verb="LOCKDOWN",
        flags=["SECCOMP", *(["LANDLOCK"] if landlock else [])],
        seccomp=["GUEST", *(["UNIX_SOCKETS"] if unix_sockets else [])],
        rules=[_rule(each) for each in openings] if landlock else (),
        limits=tuple(limits),
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


def lock_down(spec_fd: int, library: Path) -> None:
    """Gives up, for good, everything that the spec does not grant: capabilities, opening other
    files, making processes, executing. Raises LockdownFailed with the step, call and errno; so it
    does when the process has more than one thread."""
    loaded = ctypes.CDLL(str(library))
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    if loaded.mur_lockdown(ctypes.c_int(spec_fd), error, ctypes.c_size_t(_ERROR_BYTES)) != 0:
        raise LockdownFailed(error.value.decode("utf-8", "replace"))

"""Landlock's rules for a session's commands. spec/containment.md 10.

The helper masks what the kernel's ABI lacks, and a folder's rights on a file.
"""

import os
from collections.abc import Iterable
from typing import Final

from murmur.sandbox.launchspec import Rule, constant
from murmur.sandbox.sealed_root import ETC_FILES, ETC_FOLDERS, FIXED
from murmur.sandbox.widening import PathGrant


def _access(*names: str) -> int:
    value = 0
    for name in names:
        value |= constant(f"ACCESS_{name}")
    return value


READ: Final = _access("READ_FILE")
READ_TREE: Final = _access("READ_FILE", "READ_DIR")
EXECUTE: Final = _access("EXECUTE", "READ_FILE")
WORK: Final = _access(
    "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE", "MAKE_DIR",
    "MAKE_REG", "MAKE_FIFO", "MAKE_SYM", "REFER", "TRUNCATE",
)  # fmt: skip
DEVICE: Final = _access("READ_FILE", "WRITE_FILE")


def folder_rules(
    written: Iterable[str], read: Iterable[str], executable: Iterable[str]
) -> tuple[Rule, ...]:
    """The session's own folders, which must open; `executable` are those where code may run."""
    code = frozenset(executable)
    return (
        *(_held(path, WORK | (EXECUTE if path in code else 0)) for path in written),
        *(_held(path, READ_TREE) for path in read),
    )


def common_rules(executables: Iterable[str], grants: Iterable[PathGrant]) -> tuple[Rule, ...]:
    """Devices, a private /proc, programs with what they load, and the grants."""
    return (
        Rule("/dev/null", DEVICE, optional=True),
        Rule("/dev/zero", READ, optional=True),
        Rule("/dev/urandom", READ, optional=True),
        Rule("/proc", READ_TREE, private_proc=True),
        Rule("/etc/ld.so.cache", READ, optional=True),
        *(Rule(path, EXECUTE, optional=True) for path in executables),
        *(Rule(each.path, _of(each), optional=True) for each in grants),
    )


def sealed_rules() -> tuple[Rule, ...]:
    """What a composed root holds besides: system trees, /etc, devices, terminals."""
    files = (*ETC_FILES, "passwd", "group")
    return (
        *(Rule(path, READ_TREE, optional=True) for path in FIXED),
        *(Rule(f"/etc/{name}", READ_TREE, optional=True) for name in ETC_FOLDERS),
        *(Rule(f"/etc/{name}", READ, optional=True) for name in files),
        Rule("/dev/full", DEVICE, optional=True),
        Rule("/dev/tty", DEVICE, optional=True),
        Rule("/dev/random", READ, optional=True),
        Rule("/dev/pts", DEVICE | READ_TREE, optional=True),
    )


def _of(each: PathGrant) -> int:
    access = WORK if each.write else READ
    if each.list_dir:
        access |= READ_TREE
    return access | EXECUTE if each.execute else access


def _held(path: str, access: int) -> Rule:
    status = os.stat(path)
    return Rule(path, access, status.st_dev, status.st_ino)

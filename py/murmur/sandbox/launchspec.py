"""Launch specs: the block of memory that tells mur-sandbox what to do (c/sandbox/spec.h).

Laid out through cffi from the helper's own header, so that neither side keeps a copy of the other's
offsets. Field names here are the header's.
"""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

from murmur.sandbox._spec import ffi

_MFD_NOEXEC_SEAL: Final = 0x0008
_ALIGNMENT: Final = 8


def constant(name: str) -> int:
    """The value of the header's enumerator `MUR_<name>`."""
    return int(ffi.integer_const(f"MUR_{name}"))


@dataclasses.dataclass(frozen=True, slots=True)
class Tree:
    """A folder or file attached in the session's mounts; device and inode as the runtime saw them.

    `optional`: left out when the source is missing. `link`: a symbolic link at `target` instead,
    of which `source` is the text.
    """

    source: str
    target: str
    device: int = 0
    inode: int = 0
    noexec: bool = False
    read_only: bool = False
    make_target: bool = False
    optional: bool = False
    link: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """A Landlock rule: `access` is a union of the header's MUR_ACCESS_* rights."""

    path: str
    access: int
    device: int = 0
    inode: int = 0
    optional: bool = False
    private_proc: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """An rlimit, in the unit of its resource."""

    resource: int
    soft: int
    hard: int


@dataclasses.dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One start of the helper. Descriptors are open in the helper under the same numbers."""

    verb: str
    flags: Sequence[str] = ()
    seccomp: Sequence[str] = ()
    report_fd: int = -1
    lifeline_fd: int = -1
    holder_fd: int = -1
    ruleset_fd: int = -1
    cwd_fd: int = -1
    control_fd: int = -1
    parent_pid: int = 0
    scope_fds: Sequence[int] = ()
    program: str | bytes = ""
    cwd: str = ""
    cwd_device: int = 0
    cwd_inode: int = 0
    arguments: Sequence[str | bytes] = ()
    variables: Sequence[str | bytes] = ()
    trees: Sequence[Tree] = ()
    rules: Sequence[Rule] = ()
    limits: Sequence[Limit] = ()
    ports: Sequence[int] = ()


class _Strings:
    """The string area: each text once, each followed by a NUL."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._known: dict[bytes, tuple[int, int]] = {}
        self._length = 0

    def add(self, text: str | bytes) -> tuple[int, int]:
        """(offset, length) of a text. Raises ValueError for one that holds a NUL."""
        data = os.fsencode(text)
        place = self._known.get(data)
        if place is None:
            if b"\0" in data:
                raise ValueError("a launch spec cannot carry a NUL")
            place = self._known[data] = (self._length, len(data))
            self._parts.append(data + b"\0")
            self._length += len(data) + 1
        return place

    def bytes(self) -> bytes:
        return b"".join(self._parts)


class _Writer:
    """Puts arrays one after another behind the head, 8-byte aligned."""

    def __init__(self) -> None:
        self.head: Any = ffi.new("struct mur_spec *")
        self.strings = _Strings()
        self._arrays: list[bytes] = []
        self._offset = _aligned(int(ffi.sizeof("struct mur_spec")))
        self._lead = self._offset - int(ffi.sizeof("struct mur_spec"))

    def array(self, span: Any, record: str, values: Iterable[Any]) -> None:
        """Writes the records and points `span` at them."""
        items = list(values)
        if not items:
            return
        block = ffi.new(f"struct {record}[]", items)
        data = bytes(ffi.buffer(block))
        data += bytes(_aligned(len(data)) - len(data))
        span.offset, span.count = self._offset, len(items)
        self._arrays.append(data)
        self._offset += len(data)

    def finish(self) -> bytes:
        """The whole spec."""
        strings = self.strings.bytes()
        self.head.magic = constant("SPEC_MAGIC")
        self.head.version = constant("SPEC_VERSION")
        self.head.strings_offset = self._offset
        self.head.strings_length = len(strings)
        self.head.size = self._offset + len(strings)
        head = bytes(ffi.buffer(self.head)) + bytes(self._lead)
        return head + b"".join(self._arrays) + strings


def _aligned(length: int) -> int:
    return (length + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _bits(prefix: str, names: Iterable[str]) -> int:
    value = 0
    for name in names:
        value |= constant(f"{prefix}_{name}")
    return value


def _tree_flags(tree: Tree) -> int:
    return (
        (constant("TREE_NOEXEC") if tree.noexec else 0)
        | (constant("TREE_READ_ONLY") if tree.read_only else 0)
        | (constant("TREE_MAKE_TARGET") if tree.make_target else 0)
        | (constant("TREE_OPTIONAL") if tree.optional else 0)
        | (constant("TREE_LINK") if tree.link else 0)
    )


def _rule_flags(rule: Rule) -> int:
    return (constant("RULE_OPTIONAL") if rule.optional else 0) | (
        constant("RULE_PRIVATE_PROC") if rule.private_proc else 0
    )


def encode(spec: LaunchSpec) -> bytes:
    """The bytes of a spec. Raises ValueError for a text with a NUL in it, IndexError for more
    ports than there is room for."""
    writer = _Writer()
    head, text = writer.head, writer.strings.add
    head.verb = constant(f"VERB_{spec.verb}")
    head.flags = _bits("FLAG", spec.flags)
    head.seccomp = _bits("SECCOMP", spec.seccomp)
    for name in ("report", "lifeline", "holder", "ruleset", "cwd", "control"):
        setattr(head, f"{name}_fd", getattr(spec, f"{name}_fd"))
    head.parent_pid = spec.parent_pid
    head.scope_count = len(spec.scope_fds)
    for index in range(len(head.scope_fds)):
        head.scope_fds[index] = spec.scope_fds[index] if index < len(spec.scope_fds) else -1
    head.program = text(spec.program)
    head.cwd = text(spec.cwd)
    head.cwd_device, head.cwd_inode = spec.cwd_device, spec.cwd_inode
    head.port_count = len(spec.ports)
    for index, port in enumerate(spec.ports):
        head.ports[index] = port
    writer.array(head.arguments, "mur_text", (text(each) for each in spec.arguments))
    writer.array(head.variables, "mur_text", (text(each) for each in spec.variables))
    writer.array(
        head.trees,
        "mur_tree",
        (
            (each.device, each.inode, text(each.source), text(each.target), _tree_flags(each), 0)
            for each in spec.trees
        ),
    )
    writer.array(
        head.rules,
        "mur_rule",
        (
            (each.device, each.inode, text(each.path), each.access, _rule_flags(each))
            for each in spec.rules
        ),
    )
    writer.array(
        head.limits, "mur_limit", ((each.soft, each.hard, each.resource, 0) for each in spec.limits)
    )
    return writer.finish()


def memfd(data: bytes) -> int:
    """A close-on-exec memfd with these bytes. Raises OSError."""
    try:
        descriptor = os.memfd_create("mur-spec", os.MFD_CLOEXEC | _MFD_NOEXEC_SEAL)
    except OSError:  # kernels before 6.3 do not know the flag
        descriptor = os.memfd_create("mur-spec", os.MFD_CLOEXEC)
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])
    return descriptor

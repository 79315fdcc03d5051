"""WebAssembly binaries as bytes: the sections of a module or component, and what some hold.

The format: https://webassembly.github.io/spec/core/binary/ and, for components, the component
model's Binary.md. Only what tools/wasm/slim.py needs; anything else in a file is carried over as it
stands.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Iterator

HEADER_BYTES = 8
CUSTOM, IMPORTS, GLOBALS, EXPORTS, START, ELEMENTS, CODE, DATA = 0, 2, 6, 7, 8, 9, 10, 11
"""Ids of a core module's sections."""
CORE_MODULE = 1
"""Id of a component's section that holds a core module."""

FUNCTION, TABLE, MEMORY, GLOBAL, TAG = range(5)
"""Kinds of imports and exports."""


class Unreadable(Exception):
    """The file holds something that is not expected of a component made of Python."""


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """One section; a custom section's name is still the beginning of its `payload`."""

    id: int
    payload: bytes

    @property
    def name(self) -> str:
        """A custom section's name."""
        length, at = unsigned(self.payload, 0)
        return self.payload[at : at + length].decode()


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """One import of a core module, by its two names."""

    module: str
    name: str
    kind: int


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number at `at`, and where it ends."""
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def signed(data: bytes, at: int) -> tuple[int, int]:
    """A signed LEB128 number at `at`, and where it ends."""
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return result - (1 << shift if byte & 0x40 else 0), at


def encode_unsigned(value: int) -> bytes:
    """The shortest LEB128 form."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_signed(value: int) -> bytes:
    """The shortest signed LEB128 form."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def sections(binary: bytes) -> Iterator[Section]:
    """The sections of a module or component, in order."""
    at = HEADER_BYTES
    while at < len(binary):
        size, start = unsigned(binary, at + 1)
        yield Section(binary[at], binary[start : start + size])
        at = start + size
    if at != len(binary):
        raise Unreadable("its last section is cut off")


def assemble(header: bytes, parts: Iterable[Section]) -> bytes:
    """A module or component of these sections."""
    out = bytearray(header)
    for part in parts:
        out.append(part.id)
        out += encode_unsigned(len(part.payload))
        out += part.payload
    return bytes(out)


def text(data: bytes, at: int) -> tuple[str, int]:
    """A name at `at`, and where it ends."""
    length, at = unsigned(data, at)
    return data[at : at + length].decode(), at + length


def imports(payload: bytes) -> list[Import]:
    """What an import section says."""
    found = []
    count, at = unsigned(payload, 0)
    for _ in range(count):
        module, at = text(payload, at)
        name, at = text(payload, at)
        kind = payload[at]
        at += 1
        if kind == FUNCTION:
            _, at = unsigned(payload, at)
        elif kind == GLOBAL:
            at += 2
        elif kind in (TABLE, MEMORY):
            at += kind == TABLE
            has_maximum = payload[at] & 1
            at += 1
            for _ in range(1 + has_maximum):
                _, at = unsigned(payload, at)
        else:
            raise Unreadable(f"it imports {module}.{name} of kind {kind}")
        found.append(Import(module, name, kind))
    return found


def exports(payload: bytes) -> dict[str, tuple[int, int]]:
    """What an export section says: name -> (kind, index)."""
    found = {}
    count, at = unsigned(payload, 0)
    for _ in range(count):
        name, at = text(payload, at)
        index, end = unsigned(payload, at + 1)
        found[name] = (payload[at], index)
        at = end
    return found


def global_values(payload: bytes) -> list[tuple[int | None, int]]:
    """The initial values of a global section's 32-bit globals.

    Each is a constant, and the index of the global that it is added to, if any.
    """
    found = []
    count, at = unsigned(payload, 0)
    for _ in range(count):
        if payload[at] != 0x7F:
            raise Unreadable("it has a global that is no 32-bit number")
        at += 2
        base = None
        if payload[at] == 0x23:  # global.get
            base, at = unsigned(payload, at + 1)
        if payload[at] != 0x41:  # i32.const
            raise Unreadable("it has a global without a constant")
        value, at = signed(payload, at + 1)
        at += base is not None and payload[at] == 0x6A  # i32.add
        if payload[at] != 0x0B:
            raise Unreadable("it has a global with a long initial value")
        at += 1
        found.append((base, value))
    return found


def bodies(payload: bytes) -> list[bytes]:
    """The functions of a code section, each without its size."""
    found = []
    count, at = unsigned(payload, 0)
    for _ in range(count):
        size, at = unsigned(payload, at)
        found.append(payload[at : at + size])
        at += size
    return found


def code_section(functions: Iterable[bytes]) -> Section:
    """The inverse of `bodies`."""
    out = bytearray()
    count = 0
    for body in functions:
        out += encode_unsigned(len(body))
        out += body
        count += 1
    return Section(CODE, encode_unsigned(count) + bytes(out))


def function_names(payload: bytes) -> dict[int, str]:
    """Function index -> name, from a module's custom section `name`."""
    _, at = text(payload, 0)
    while at < len(payload):
        kind = payload[at]
        size, start = unsigned(payload, at + 1)
        if kind == FUNCTION + 1:
            names = {}
            count, at = unsigned(payload, start)
            for _ in range(count):
                index, at = unsigned(payload, at)
                names[index], at = text(payload, at)
            return names
        at = start + size
    return {}


def element_functions(payload: bytes) -> list[int]:
    """The functions that active element segments put into the table."""
    found = []
    count, at = unsigned(payload, 0)
    for _ in range(count):
        flags, at = unsigned(payload, at)
        if flags != 0:
            raise Unreadable(f"it has an element segment of kind {flags}")
        at = _past_offset(payload, at)
        length, at = unsigned(payload, at)
        for _ in range(length):
            index, at = unsigned(payload, at)
            found.append(index)
    return found


def _past_offset(payload: bytes, at: int) -> int:
    """Where a constant expression ends that is one instruction."""
    opcode = payload[at]
    if opcode not in (0x23, 0x41):  # global.get, i32.const
        raise Unreadable(f"a segment's offset begins with {opcode:#x}")
    _, at = (unsigned if opcode == 0x23 else signed)(payload, at + 1)
    if payload[at] != 0x0B:
        raise Unreadable("a segment's offset is more than one instruction")
    return at + 1


def memory_image(payload: bytes) -> bytearray:
    """The memory that a data section of constant offsets describes."""
    segments = []
    count, at = unsigned(payload, 0)
    for _ in range(count):
        if payload[at] != 0 or payload[at + 1] != 0x41:
            raise Unreadable("it has a data segment without a constant offset")
        offset, _ = signed(payload, at + 2)
        at = _past_offset(payload, at + 1)
        size, at = unsigned(payload, at)
        segments.append((offset & 0xFFFFFFFF, payload[at : at + size]))
        at += size
    image = bytearray(max(offset + len(data) for offset, data in segments))
    for offset, data in segments:
        image[offset : offset + len(data)] = data
    return image


def data_section(segments: Iterable[tuple[int, bytes]]) -> Section:
    """A data section of (offset, bytes) for memory 0."""
    out = bytearray()
    count = 0
    for offset, data in segments:
        signed_offset = struct.unpack("<i", struct.pack("<I", offset))[0]
        out += b"\0\x41" + encode_signed(signed_offset) + b"\x0b" + encode_unsigned(len(data))
        out += data
        count += 1
    return Section(DATA, encode_unsigned(count) + bytes(out))

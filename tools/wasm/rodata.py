"""The constants of libpython that nothing left in a component reads: they are filled with zeros.

Three kinds. The standard library's frozen modules, which only importing reads: their table says
where they are, and a module without its code is one that importing refuses. The documentation of
built-in methods. And what the native modules left out (`spans.py`) refer to and nobody else, as the
tables of East Asian encodings.

The linker writes an address in full length, five bytes, wherever code takes one, and what stands
in data is written by one function at the start of every instance, so each reference is known. What
lies between two of them belongs to the first. After one that is still used some room is left: a
compiler may take a table's address from before its beginning, and the tail of one text may be
another text.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

from tools.wasm.binary import Unreadable, signed, unsigned

ROOM = 1024
_ADDRESS = re.compile(rb"\x41([\x80-\xff]{4}\x00)", re.DOTALL)
_FROZEN_TABLES = (
    "_PyImport_FrozenBootstrap",
    "_PyImport_FrozenStdlib",
    "_PyImport_FrozenTest",
)
_FROZEN_ENTRY = struct.Struct("<IIii")  # name, code, its size, whether it is a package
_LARGE = 1 << 27
_MEMORY_BASE = b"\x23\x01"  # global.get of the library's second global import


def taken(body: bytes) -> set[int]:
    """The addresses that a function may take: constants as long as only large numbers need be."""
    found = {signed(match[1], 0)[0] for match in _ADDRESS.finditer(body)}
    return {address for address in found if address < _LARGE}


@dataclasses.dataclass(frozen=True, slots=True)
class Relocations:
    """What is written into the library's data at the start of an instance.

    `data` are (place, address) for each address in that data, `functions` the places where
    something else is written: pointers to functions, and what other libraries hold.
    """

    data: list[tuple[int, int]]
    functions: set[int]


def relocations(body: bytes) -> Relocations:
    """What `__wasm_apply_data_relocs` writes. Raises `Unreadable` when it does anything else."""
    data = []
    functions = set()
    at = 1
    while body[at] == 0x41:  # i32.const place; global.get; i32.add; the value; i32.store
        place, at = signed(body, at + 1)
        if body[at : at + 3] != _MEMORY_BASE + b"\x6a" or body[at + 3] != 0x23:
            raise Unreadable(f"its libpython relocates {place:#x} in another way")
        is_data = body[at + 3 : at + 5] == _MEMORY_BASE
        _, at = unsigned(body, at + 4)
        address = 0
        if body[at] == 0x41:  # i32.const; i32.add
            address, at = signed(body, at + 1)
            at += 1
        if is_data:
            data.append((place, address))
        else:
            functions.add(place)
        if body[at] != 0x36:
            raise Unreadable(f"its libpython relocates {place:#x} in another way")
        _, at = unsigned(body, at + 1)  # the alignment
        _, at = unsigned(body, at)  # the offset
    if body[at:] != b"\x0b":
        raise Unreadable("its libpython relocates more than data")
    return Relocations(data, functions)


def documentation(relocated: Relocations, others: Collection[int]) -> list[tuple[int, int]]:
    """Texts that only tables of methods and attributes name as documentation.

    Each is an address and the next one that is known, where the text may go on as another. An entry
    of those tables is a name, a function, a word, and the text; `others` are addresses that are
    known otherwise.
    """
    addresses = dict(relocated.data)
    entries = {
        place + 12
        for place in addresses
        if place + 4 in relocated.functions and place + 12 in addresses
    }
    elsewhere = {address for place, address in relocated.data if place not in entries}
    marks = sorted({*addresses.values(), *others})
    texts = {addresses[place] for place in entries} - elsewhere - set(others)
    return [(text, _next(text, marks)) for text in sorted(texts)]


def _next(address: int, marks: Sequence[int]) -> int:
    after = bisect.bisect_right(marks, address)
    return marks[after] if after < len(marks) else address


def clear(image: bytearray, base: int, stretches: Iterable[tuple[int, int]]) -> None:
    """Zeroes stretches of the library's memory, which begins at `base`."""
    for first, past in stretches:
        image[base + first : base + past] = bytes(past - first)


def clear_texts(image: bytearray, base: int, texts: Iterable[tuple[int, int]]) -> None:
    """Makes texts of the library's memory empty that end before the next known address."""
    for address, limit in texts:
        end = image.find(0, base + address, base + limit)
        if end > 0:
            image[base + address : end] = bytes(end - base - address)


def clear_frozen(image: bytearray, base: int, exported: Mapping[str, int]) -> None:
    """Takes the code out of the frozen modules. `exported` are the library's addresses by name."""
    for name in _FROZEN_TABLES:
        at = struct.unpack_from("<I", image, base + exported[name])[0]
        while True:
            name_at, code, size, package = _FROZEN_ENTRY.unpack_from(image, at)
            if not name_at:
                break
            image[code : code + size] = bytes(size)
            _FROZEN_ENTRY.pack_into(image, at, name_at, 0, 0, package)
            at += _FROZEN_ENTRY.size


def unread(
    dropped: Iterable[bytes],
    others: Iterable[bytes],
    relocated: Sequence[tuple[int, int]],
    exported: Collection[int],
) -> list[tuple[int, int]]:
    """The stretches (first, past) of the library's memory that only `dropped` functions refer to.

    `exported` are addresses that are known by name. What dropped functions refer to may refer on.
    """
    live = set(exported).union(*map(taken, others))
    dead = set().union(*map(taken, dropped)) - live
    places = sorted(relocated)
    marks = sorted(live | dead | {address for _, address in places})
    owned = [(place, address, _owner(place, marks)) for place, address in places]
    while True:
        # An address in data is used unless it stands in what only dropped functions refer to.
        used = live | {address for _, address, owner in owned if owner not in dead}
        more = {address for _, address, owner in owned if owner in dead} - used - dead
        if not more and not dead & used:
            break
        dead = (dead | more) - used
    sure = sorted(used)
    found = []
    for first in sorted(dead):
        past = _next(first, marks)
        before = bisect.bisect_left(sure, first)
        if before:
            first = max(first, sure[before - 1] + ROOM)
        if first < past:
            found.append((first, past))
    return found


def _owner(place: int, marks: Sequence[int]) -> int:
    at = bisect.bisect_right(marks, place)
    return marks[at - 1] if at else -1

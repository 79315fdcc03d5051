"""What only dropped functions refer to is found; what anything else refers to is kept."""

from __future__ import annotations

import struct

from tools.wasm import rodata
from tools.wasm.binary import encode_signed


def takes(*addresses: int) -> bytes:
    """A function that takes addresses, as a linker writes them."""
    code = b""
    for address in addresses:
        short = encode_signed(address)
        code += (
            b"\x23\x01\x41" + short[:-1] + bytes([short[-1] | 0x80, *[0x80] * (4 - len(short)), 0])
        )
        code += b"\x6a\x1a"
    return b"\0" + code + b"\x0b"  # fmt: skip


def relocates(*pairs: tuple[int, int]) -> bytes:
    """The function that writes addresses into data, and one function pointer."""
    code = b"\0"
    for place, address in pairs:
        code += b"\x41" + encode_signed(place) + b"\x23\x01\x6a"
        code += b"\x23\x01\x41" + encode_signed(address) + b"\x6a\x36\x02\0"
    code += b"\x41\x10\x23\x01\x6a\x23\x02\x41\x05\x6a\x36\x02\0"
    code += b"\x41\x14\x23\x01\x6a\x23\xc8\x01\x36\x02\0"
    return code + b"\x0b"


def test_relocations_of_data_are_read_and_those_of_functions_passed_over() -> None:
    pairs = [(70000, 3), (4, 2000000)]
    found = rodata.relocations(relocates(*pairs))
    assert found.data == pairs
    assert found.functions == {0x10, 0x14}


def test_a_text_is_documentation_when_nothing_else_names_it() -> None:
    # Entries at 100, 200, 300 and 400: name, function, flags, text. The one at 300 has no function.
    data = [(at + offset, at * 10 + offset) for at in (100, 200, 300, 400) for offset in (0, 12)]
    data.append((500, 2012))
    relocated = rodata.Relocations(data, {104, 204, 404})
    assert rodata.documentation(relocated, {4012}) == [(1012, 2000)]


def test_a_text_is_emptied_unless_its_end_is_another_text() -> None:
    image = bytearray(b"--one\0two\0")
    rodata.clear_texts(image, 2, [(0, 4), (4, 6)])
    assert image == b"--\0\0\0\0two\0"


def test_a_stretch_ends_where_anything_else_is_referred_to() -> None:
    dropped, others = takes(10_000, 30_000), takes(20_000, 40_000)
    assert rodata.unread([dropped], [others], [], []) == [
        (10_000, 20_000),
        (30_000, 40_000),
    ]


def test_what_both_refer_to_is_kept_and_so_is_some_room_after_it() -> None:
    dropped, others = takes(10_000, 10_100, 15_000, 20_000), takes(10_000)
    found = rodata.unread([dropped], [others], [], [20_000])
    assert found == [(10_000 + rodata.ROOM, 15_000), (15_000, 20_000)]


def test_what_dropped_data_refers_to_is_dropped_with_it() -> None:
    # The table at 50,000 is the dropped function's and points to 10,000; the one at 60,000 is not.
    relocated = [(50_004, 10_000), (60_004, 20_000), (50_008, 30_000), (60_008, 30_000)]
    found = rodata.unread([takes(50_000)], [takes(60_000)], relocated, [])
    assert found == [(10_000, 20_000), (50_000, 60_000)]


def test_frozen_modules_lose_their_code_and_nothing_else() -> None:
    base = 0x100
    image = bytearray(b"\x55" * 0x400)
    tables = {name: 4 * at for at, name in enumerate(rodata._FROZEN_TABLES)}
    for at, place in enumerate(tables.values()):
        table = 0x200 + 64 * at
        struct.pack_into("<I", image, base + place, table)
        struct.pack_into("<IIii", image, table, 0x180, 0x300 + 32 * at, 16, 1)
        struct.pack_into("<IIii", image, table + 16, 0, 0, 0, 0)

    rodata.clear_frozen(image, base, tables)

    for at in range(len(tables)):
        assert struct.unpack_from("<IIii", image, 0x200 + 64 * at) == (0x180, 0, 0, 1)
        code = image[0x300 + 32 * at : 0x320 + 32 * at]
        assert code == bytes(16) + b"\x55" * 16

"""Calls are found, and numbers written short, whatever stands around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.wasm import instructions
from tools.wasm.binary import Unreadable, encode_signed, encode_unsigned


def long(short: bytes) -> bytes:
    """A number in the five bytes that a linker writes."""
    negative = short[-1] & 0x40
    filler = 0xFF if negative else 0x80
    last = 0x7F if negative else 0
    if len(short) == 5:
        return short
    return short[:-1] + bytes([short[-1] | 0x80, *[filler] * (4 - len(short)), last])


def unsigned_long(number: int) -> bytes:
    short = encode_unsigned(number)
    if len(short) == 5:
        return short
    return short[:-1] + bytes([short[-1] | 0x80, *[0x80] * (4 - len(short)), 0])


INDEX = st.integers(0, 2**20)
CONSTANT = st.integers(-(2**27) + 1, 2**27 - 1)
# One instruction: as a linker writes it, as short as can be, and the function that it names.
INSTRUCTION = st.one_of(
    st.builds(lambda n: (b"\x10" + unsigned_long(n), b"\x10" + encode_unsigned(n), n), INDEX),
    st.builds(lambda n: (b"\x23" + unsigned_long(n), b"\x23" + encode_unsigned(n), None), INDEX),
    st.builds(
        lambda n: (b"\x41" + long(encode_signed(n)), b"\x41" + encode_signed(n), None), CONSTANT
    ),
    st.builds(
        lambda n: (
            b"\x11" + unsigned_long(n) + unsigned_long(0),
            b"\x11" + encode_unsigned(n) + b"\0",
            None,
        ),
        INDEX,
    ),
    # A float whose bytes may look like anything, calls included.
    st.builds(
        lambda data: (b"\x44" + data, b"\x44" + data, None), st.binary(min_size=8, max_size=8)
    ),
    st.sampled_from(
        [
            (code, code, None)
            for code in (
                b"\x01",
                b"\x6a",
                b"\x20\x05",
                b"\x28\x02\x10",
                b"\x42\x90\x01",
                b"\x0e\x02\x10\x01\x00",
                b"\xfc\x0a\x00\x00",
                b"\xfc\x03",
            )
        ]
    ),
)


@given(st.lists(INSTRUCTION, max_size=40))
def test_calls_are_found_and_numbers_shortened(code: list[tuple[bytes, bytes, int | None]]) -> None:
    linked = b"\x01\x03\x7f" + b"".join(each[0] for each in code) + b"\x0b"
    short = b"\x01\x03\x7f" + b"".join(each[1] for each in code) + b"\x0b"
    expected = {each[2] for each in code if each[2] is not None}

    assert instructions.called(linked) == instructions.called(short) == expected
    assert instructions.shortened(linked) == short
    assert instructions.shortened(short) == short


@pytest.mark.parametrize("unknown", [b"\xfd\x0c", b"\x06\x40", b"\xfe\x00", b"\xff"])
def test_an_unknown_instruction_is_refused(unknown: bytes) -> None:
    for read in (instructions.called, instructions.shortened):
        with pytest.raises(Unreadable, match="instruction"):
            read(b"\0\x01" + unknown + b"\x0b")

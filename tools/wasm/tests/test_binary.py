"""Numbers, sections and memory survive being written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.wasm import binary
from tools.wasm.binary import Section, Unreadable


@given(st.integers(0, 2**32 - 1))
def test_an_unsigned_number_survives(number: int) -> None:
    encoded = binary.encode_unsigned(number)
    assert binary.unsigned(encoded, 0) == (number, len(encoded))


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_signed_number_survives(number: int) -> None:
    encoded = binary.encode_signed(number)
    assert binary.signed(encoded, 0) == (number, len(encoded))


@given(st.lists(st.tuples(st.integers(0, 12), st.binary(max_size=200))))
def test_sections_survive_byte_for_byte(parts: list[tuple[int, bytes]]) -> None:
    sections = [Section(*part) for part in parts]
    assert list(binary.sections(binary.assemble(b"\0asm\1\0\0\0", sections))) == sections


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_functions_survive(bodies: list[bytes]) -> None:
    assert binary.bodies(binary.code_section(bodies).payload) == bodies


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=20))
def test_memory_survives(pieces: list[bytes]) -> None:
    places = [(1000 * at, piece) for at, piece in enumerate(pieces)]
    image = binary.memory_image(binary.data_section(places).payload)
    assert all(image[at : at + len(piece)] == piece for at, piece in places)
    assert len(image) == places[-1][0] + len(pieces[-1])


def test_a_module_cut_off_is_refused() -> None:
    with pytest.raises(Unreadable, match="cut off"):
        list(binary.sections(b"\0asm\1\0\0\0\x0a\x05abc"))

"""Free chunks are zeroed, used ones are not touched, and what is no heap is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.wasm import heap
from tools.wasm.binary import Unreadable

BASE = 0x208  # where the first chunk's contents are aligned


def build(chunks: list[tuple[int, bool]]) -> bytearray:
    """Memory of one page with these chunks (size, in use), and a free one up to its end."""
    image = bytearray(b"\xaa" * heap.PAGE)
    at, before_in_use = BASE, True
    free = heap.PAGE - 0x38 - BASE - sum(size for size, _ in chunks)
    for size, in_use in [*chunks, (free, False)]:
        struct.pack_into("<I", image, at + 4, size | before_in_use | in_use << 1)
        at += size
        if not in_use:
            struct.pack_into("<I", image, at, size)
        before_in_use = in_use
    struct.pack_into("<I", image, at + 4, 0x38)
    return image


# Two free chunks side by side would have been one.
CHUNKS = st.lists(st.integers(2, 40).map(lambda n: 16 * n), max_size=30).map(
    lambda sizes: [(size, at % 2 == 0) for at, size in enumerate(sizes)] + [(64, True)]
)


@given(CHUNKS)
def test_only_what_is_free_is_zeroed(chunks: list[tuple[int, bool]]) -> None:
    if len(chunks) > 1 and chunks[-2][1]:
        chunks = [*chunks[:-1], (48, False), chunks[-1]]
    image = build(chunks)
    before = bytes(image)

    cleared = heap.clear_free(image, BASE)

    at = BASE
    for size, in_use in chunks:
        if in_use:
            assert image[at + 4 : at + size] == before[at + 4 : at + size]
        else:
            links = 24 if size >= 256 else 8
            assert image[at : at + 8 + links] == before[at : at + 8 + links]
            assert not any(image[at + 8 + links : at + size])
        at += size
    assert image[:BASE] == before[:BASE] and image[-0x38:] == before[-0x38:]
    assert cleared >= sum(size for size, in_use in chunks if not in_use)
    again = bytes(image)
    heap.clear_free(image, BASE)
    assert image == again


@pytest.mark.parametrize("at", [BASE + 4, BASE + 64 + 4])
def test_a_heap_that_contradicts_itself_is_refused_and_left_alone(at: int) -> None:
    image = build([(64, True), (96, False), (64, True)])
    struct.pack_into("<I", image, at, 40)
    before = bytes(image)
    with pytest.raises(Unreadable, match="heap"):
        heap.clear_free(image, BASE)
    assert image == before


@pytest.mark.parametrize("left", [0, 16, 0x48])
def test_a_heap_whose_first_page_has_no_room_for_a_chunk_begins_at_the_next(left: int) -> None:
    image = bytearray(b"\xaa" * heap.PAGE) + build([(64, True), (96, False), (64, True)])
    # Moved so that the chunks begin where those of a page of its own do.
    del image[heap.PAGE : heap.PAGE + BASE - 8]
    image.extend(bytes(BASE - 8))
    struct.pack_into("<I", image, 2 * heap.PAGE - 0x38 + 4, 0x38)
    end = heap.PAGE + 8 + 64 + 96 + 64
    struct.pack_into("<I", image, end + 4, (2 * heap.PAGE - 0x38 - end) | 1)
    before = bytes(image)
    assert heap.clear_free(image, heap.PAGE - left) > 0
    assert image[: heap.PAGE] == before[: heap.PAGE]

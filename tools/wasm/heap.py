"""The guest's heap in a snapshot of its memory: what the allocator holds free is filled with zeros.

wasi-libc's allocator is dlmalloc: chunks side by side, each with its size and two bits in the word
after the footer of the one before. https://gee.cs.oswego.edu/dl/html/malloc.html
A free chunk's links stay; the rest of it is never read before it is written, `calloc` included.
"""

from __future__ import annotations

import struct

from tools.wasm.binary import Unreadable

PAGE = 65536
_FIELDS = 8
_LINKS, _TREE_LINKS, _TREE_BYTES = 8, 24, 256
_IN_USE, _BEFORE_IN_USE, _FLAGS = 2, 1, 7
_END = 0x38
"""The size, without a flag, of what the allocator keeps at the end of its memory."""
_LEAST = 16 + _END
"""With no more bytes than these left of the page that the data ends in, it begins at the next one:
they do not hold the smallest chunk."""


def clear_free(image: bytearray, base: int) -> int:
    """Zeroes the free chunks of the heap that begins at `base`; how many bytes those were.

    Raises `Unreadable` unless the chunks lead from there to the heap's end, each agreeing with the
    one before: then there is no such heap, and nothing was changed.
    """
    free = []
    if -base % PAGE <= _LEAST:
        base += -base % PAGE
    at = base + (-(base + _FIELDS)) % 16
    size, in_use = 0, True
    while True:
        if at + _FIELDS > len(image):
            image.extend(bytes(PAGE))
        footer, head = struct.unpack_from("<II", image, at)
        if head == _END:
            break
        if bool(head & _BEFORE_IN_USE) != in_use or (not in_use and footer != size):
            raise Unreadable(f"its heap has a chunk at {at:#x} that contradicts the one before")
        size, in_use = head & ~_FLAGS, bool(head & _IN_USE)
        if size < 16 or size % 16:
            raise Unreadable(f"its heap has a chunk of {size} bytes at {at:#x}")
        if not in_use:
            free.append((at, size))
        at += size
    if (at + _END) % PAGE:
        raise Unreadable(f"its heap ends at {at:#x}, within a page")
    for at, size in free:
        start = at + _FIELDS + (_TREE_LINKS if size >= _TREE_BYTES else _LINKS)
        image[start : at + size] = bytes(at + size - start)
    return sum(size for _, size in free)

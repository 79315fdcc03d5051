"""A zip written field by field, so that every field of it can lie."""

import dataclasses
import struct
import zlib
from collections.abc import Sequence

UTF8 = 0x800
MANIFEST = b"name: my-tool\nversion: 0.1.0\nruntime: skill\nexecution: static\n"


@dataclasses.dataclass(frozen=True)
class Member:
    """One entry. What is None is told truthfully; `local_*` are the entry's own header."""

    name: bytes
    data: bytes = b""
    mode: int = 0o100644
    flags: int = 0
    method: int = 8
    packed: bytes | None = None
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    offset: int | None = None
    extra: bytes = b""
    disk: int = 0
    system: int = 3
    before: bytes = b""
    after: bytes = b""
    local_name: bytes | None = None
    local_flags: int | None = None
    local_method: int | None = None
    local_size: int | None = None
    local_extra: bytes = b""


@dataclasses.dataclass(frozen=True)
class End:
    """The end of the directory; None is told truthfully."""

    count: int | None = None
    here: int | None = None
    disk: int = 0
    size: int | None = None
    start: int | None = None
    comment: bytes = b""
    comment_length: int | None = None
    before: bytes = b""


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def honest(*members: Member) -> bytes:
    """The members behind a manifest, as an honest packer would write them."""
    return write([Member(b"murmur.yaml", MANIFEST), *members])


def write(members: Sequence[Member], end: End | None = None, behind: bytes = b"") -> bytes:
    """An archive of just these members; `behind` lies before the directory."""
    end = end or End()
    out = b""
    directory = b""
    for member in members:
        packed = member.packed
        if packed is None:
            packed = deflated(member.data) if member.method == 8 else member.data
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        size = len(member.data) if member.size is None else member.size
        packed_size = len(packed) if member.packed_size is None else member.packed_size
        out += member.before
        offset = len(out) if member.offset is None else member.offset
        local_name = member.name if member.local_name is None else member.local_name
        out += struct.pack(
            "<4s5H3L2H",
            b"PK\x03\x04",
            20,
            member.flags if member.local_flags is None else member.local_flags,
            member.method if member.local_method is None else member.local_method,
            0,
            33,
            crc,
            packed_size,
            size if member.local_size is None else member.local_size,
            len(local_name),
            len(member.local_extra),
        )
        out += local_name + member.local_extra + packed + member.after
        directory += struct.pack(
            "<4s6H3L5H2L",
            b"PK\x01\x02",
            member.system << 8 | 20,
            20,
            member.flags,
            member.method,
            0,
            33,
            crc,
            packed_size,
            size,
            len(member.name),
            len(member.extra),
            0,
            member.disk,
            0,
            member.mode << 16,
            offset,
        )
        directory += member.name + member.extra
    out += behind
    count = len(members) if end.count is None else end.count
    start = len(out) if end.start is None else end.start
    out += directory + end.before
    return out + (
        struct.pack(
            "<4s4H2LH",
            b"PK\x05\x06",
            end.disk,
            end.disk,
            count if end.here is None else end.here,
            count,
            len(directory) if end.size is None else end.size,
            start,
            len(end.comment) if end.comment_length is None else end.comment_length,
        )
        + end.comment
    )

"""The one guard at the door of every `.mur.zip`: its structure, entry by entry.

Zip readers disagree about archives in which the central directory, the entries themselves and the
file around them tell different stories, and such archives exist to use that. Here there is one
story or none: the directory ends the file, the entries fill it from the first byte to the
directory without overlap, and each says of itself what the directory says of it. What an honest
packer never writes for an artifact (encryption, other methods than deflate, zip64, several disks,
links, devices) is refused by name. Nothing is unpacked here, and of the archive only its directory
(at most 4 MiB) is ever in memory. spec/registry.md 2.
"""

import dataclasses
import stat
import struct
from typing import Final

from murmur.store.content import Content
from murmur.store.entry_names import collision, name_fault

MAX_ENTRIES: Final = 10_000
DIRECTORY_LIMIT: Final = 4 << 20
STORED: Final = 0
DEFLATED: Final = 8

_END: Final = struct.Struct("<4s4H2LH")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_END_SIGNATURE: Final = b"PK\x05\x06"
_END64_LOCATOR: Final = b"PK\x06\x07"
_CENTRAL_SIGNATURE: Final = b"PK\x01\x02"
_LOCAL_SIGNATURE: Final = b"PK\x03\x04"
_MAX_COMMENT: Final = 0xFFFF
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_SIZES_FOLLOW: Final = 0x8
_PATCH: Final = 0x20
_UTF8: Final = 0x800
_ZIP64_EXTRA: Final = 0x0001
_UNICODE_PATH_EXTRA: Final = 0x7075
_LONGEST_DESCRIPTOR: Final = 24
_UNIX: Final = 3
_DARWIN: Final = 19


class BadArchive(Exception):
    """An archive that cannot be used; the text says why, for a diagnostic of the caller."""


class Refused(BadArchive):
    """An archive refused for one entry of it. `links` says that the entry is a symbolic link."""

    def __init__(self, entry: str, reason: str, *, links: bool = False) -> None:
        super().__init__(f"the entry {entry!r} {reason}")
        self.entry = entry
        self.links = links


class Colliding(BadArchive):
    """An archive refused for two entries that cannot be told apart everywhere."""

    def __init__(self, one: str, other: str, how: str) -> None:
        pair = f"{one!r}" if one == other else f"{one!r} and {other!r}"
        super().__init__(f"it holds {pair} {how}")
        self.one = one
        self.other = other


@dataclasses.dataclass(frozen=True, slots=True)
class ZipEntry:
    """One file in an archive: where its packed bytes lie and what they must unpack to."""

    name: str
    method: int
    crc: int
    packed_size: int
    size: int
    offset: int
    """Of the packed bytes themselves, behind the entry's own header."""
    executable: bool


@dataclasses.dataclass(frozen=True, slots=True)
class _Header:
    """An entry as the directory describes it."""

    name: str
    raw_name: bytes
    system: int
    flags: int
    method: int
    crc: int
    packed_size: int
    size: int
    mode: int
    offset: int


def read_directory(content: Content) -> tuple[ZipEntry, ...]:
    """The files in an archive, in its order. Raises BadArchive with what is wrong with it."""
    start, size, count = _end(content)
    headers = _headers(content.read(start, size), count)
    places = {header.offset: _place(content, header, start) for header in headers}
    _check_filled(headers, places, start)
    files = [header for header in headers if not header.name.endswith("/")]
    folders = [header.name[:-1] for header in headers if header.name.endswith("/")]
    alike = collision((header.name for header in files), folders)
    if alike is not None:
        raise Colliding(*alike)
    return tuple(
        ZipEntry(
            header.name,
            header.method,
            header.crc,
            header.packed_size,
            header.size,
            places[header.offset],
            bool(header.mode & 0o111),
        )
        for header in files
    )


def _end(content: Content) -> tuple[int, int, int]:
    """Where the directory starts, its size and how many entries it lists."""
    tail_start = max(0, content.size - _END.size - _MAX_COMMENT)
    tail = content.read(tail_start, content.size - tail_start)
    found = tail.rfind(_END_SIGNATURE)
    if found < 0 or len(tail) - found < _END.size:
        raise BadArchive("not a zip archive, or one that was cut off: its directory has no end")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(tail, found)
    position = tail_start + found
    if position + _END.size + comment != content.size:
        raise BadArchive("there are bytes after the end of the archive")
    if content.read(max(0, position - 20), 20).startswith(_END64_LOCATOR):
        raise BadArchive("it is a zip64 archive, which no artifact needs to be")
    if disk or first_disk or here != count:
        raise BadArchive("it is one part of an archive in several")
    if count > MAX_ENTRIES:
        raise BadArchive(f"it holds {count} entries, and at most {MAX_ENTRIES} entries are read")
    if size > DIRECTORY_LIMIT:
        raise BadArchive(f"its directory is larger than {DIRECTORY_LIMIT} bytes")
    if start + size != position:
        what = "before its first entry" if start + size < position else "missing from it"
        raise BadArchive(f"there are bytes {what}: it was concatenated or cut")
    return start, size, count


def _headers(directory: bytes, count: int) -> list[_Header]:
    headers = []
    at = 0
    for _ in range(count):
        header, at = _central(directory, at)
        _check_header(header)
        headers.append(header)
    if at != len(directory):
        raise BadArchive("its directory holds more than the entries that it counts")
    return headers


def _central(directory: bytes, at: int) -> tuple[_Header, int]:
    if len(directory) - at < _CENTRAL.size or not directory.startswith(_CENTRAL_SIGNATURE, at):
        raise BadArchive("its directory is damaged")
    fields = _CENTRAL.unpack_from(directory, at)
    _, made_by, _, flags, method, _, _, crc, packed, size = fields[:10]
    name_length, extra_length, comment_length, disk, _, attributes, offset = fields[10:]
    at += _CENTRAL.size
    end = at + name_length + extra_length + comment_length
    if end > len(directory):
        raise BadArchive("its directory is damaged")
    raw = directory[at : at + name_length]
    name = _name(raw, flags)
    extra = directory[at + name_length : at + name_length + extra_length]
    for kind in _extras(extra, name):
        if kind == _ZIP64_EXTRA:
            raise Refused(name, "is of zip64 form, which no artifact needs")
        if kind == _UNICODE_PATH_EXTRA:
            raise Refused(name, "has a second name in an extra field")
    if disk:
        raise Refused(name, "lies in another part of an archive in several")
    system = made_by >> 8
    mode = attributes >> 16 if system in (_UNIX, _DARWIN) else 0
    return _Header(name, raw, system, flags, method, crc, packed, size, mode, offset), end


def _name(raw: bytes, flags: int) -> str:
    if not flags & _UTF8 and not raw.isascii():
        raise Refused(raw.decode("cp437"), "has a name in an encoding that it does not tell")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(raw.decode("utf-8", "replace"), "has a name that is not UTF-8") from None


def _extras(extra: bytes, name: str) -> list[int]:
    """The kinds of an entry's extra fields."""
    kinds = []
    at = 0
    while at < len(extra):
        if len(extra) - at < 4:
            # Some packers pad with zeros.
            if extra.count(0, at) == len(extra) - at:
                break
            raise Refused(name, "has a damaged extra field")
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4 + length
        if at > len(extra):
            raise Refused(name, "has a damaged extra field")
        kinds.append(kind)
    return kinds


def _check_header(header: _Header) -> None:
    name = header.name
    fault = name_fault(name.removesuffix("/"))
    if fault is not None:
        raise Refused(name, f"cannot be used: {fault}")
    kind = stat.S_IFMT(header.mode)
    if kind == stat.S_IFLNK:
        raise Refused(name, "is a symbolic link", links=True)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refused(name, "is no file: a device, a pipe or a socket")
    if (kind == stat.S_IFDIR) != name.endswith("/") and kind != 0:
        raise Refused(name, "is a file by its name and a folder by its mode, or the reverse")
    if name.endswith("/") and (header.size or header.packed_size > 2):
        raise Refused(name, "is a folder with content")
    if header.flags & _ENCRYPTED:
        raise Refused(name, "is encrypted")
    if header.flags & _PATCH:
        raise Refused(name, "is a patch to something else")
    if header.method not in (STORED, DEFLATED):
        raise Refused(name, f"is packed with method {header.method}, not deflate")
    if 0xFFFFFFFF in (header.size, header.packed_size, header.offset):
        raise Refused(name, "is of zip64 form, which no artifact needs")
    if header.method == STORED and header.size != header.packed_size:
        raise Refused(name, "is stored as it is, yet in two sizes")


def _place(content: Content, header: _Header, limit: int) -> int:
    """Where the packed bytes lie, once the entry's own header says what the directory says."""
    local = content.read(header.offset, _LOCAL.size) if header.offset < limit else b""
    if len(local) < _LOCAL.size or not local.startswith(_LOCAL_SIGNATURE):
        raise Refused(header.name, "is not where the directory says")
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(local)
    if name_length != len(header.raw_name) or (
        content.read(header.offset + _LOCAL.size, name_length) != header.raw_name
    ):
        raise Refused(header.name, "bears another name than in the directory")
    told = (crc, packed, size)
    expected = (header.crc, header.packed_size, header.size)
    if header.flags & _SIZES_FOLLOW and told in ((0, 0, 0), (0, 0xFFFFFFFF, 0xFFFFFFFF)):
        told = expected
    if (flags, method) != (header.flags, header.method) or told != expected:
        raise Refused(header.name, "is described in two ways")
    place: int = header.offset + _LOCAL.size + name_length + extra_length
    if place + header.packed_size > limit:
        raise Refused(header.name, "reaches into the directory")
    return place


def _check_filled(headers: list[_Header], places: dict[int, int], start: int) -> None:
    """Raises unless the entries fill the archive up to its directory without overlap."""
    at = slack = 0
    for header in sorted(headers, key=lambda each: each.offset):
        if header.offset < at:
            raise Refused(header.name, "overlaps another entry")
        if header.offset > at + slack:
            raise Refused(header.name, "has hidden bytes before it")
        at = places[header.offset] + header.packed_size
        slack = _LONGEST_DESCRIPTOR if header.flags & _SIZES_FOLLOW else 0
    if start > at + slack:
        raise BadArchive("there are hidden bytes before its directory")

"""Reading and writing `.mur.zip` archives. spec/registry.md 2.

An archive is hostile until proven otherwise: `zip_directory` refuses one whose structure or names
are not those of an honest packer, and entries are then only ever read by name, a piece at a time,
each under the decompression ceiling and up to exactly the size and checksum that it states.
Writing is deterministic: the same entries give the same bytes.
"""

import dataclasses
import io
import json
import os
import re
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from murmur.store.content import CHUNK, Content
from murmur.store.zip_directory import (
    MAX_ENTRIES,
    STORED,
    BadArchive,
    Colliding,
    Refused,
    ZipEntry,
    read_directory,
)

__all__ = [
    "MAX_ENTRIES",
    "Archive",
    "BadArchive",
    "Colliding",
    "Entry",
    "MissingEntry",
    "NoPayload",
    "Refused",
    "archive_bytes",
    "build_record",
    "decompression_ceiling",
    "select_component",
    "write_whole",
]

MANIFEST: Final = "murmur.yaml"
COMPONENT: Final = "capsule.wasm"
SKILL: Final = "skill.md"
BUILD_RECORD: Final = "murmur-build.json"
SUFFIX: Final = ".mur.zip"

CEILING_VARIABLE: Final = "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"
DEFAULT_CEILING: Final = 524_288_000

# The oldest moment a zip can hold; a fixed one keeps archives byte-identical.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class NoPayload(BadArchive):
    """A WASM artifact without exactly one root component that can be selected."""


class MissingEntry(BadArchive):
    """An entry that the caller needs is not in the archive."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One file to be packed, under its archive name."""

    name: str
    data: bytes
    executable: bool = False


def decompression_ceiling(environ: Mapping[str, str]) -> int:
    """The most bytes one entry may unpack to; an unset or unreadable value means the default."""
    text = environ.get(CEILING_VARIABLE, "")
    if re.fullmatch(r"\+?[0-9]{1,20}", text) and int(text) < 1 << 64:
        return int(text)
    return DEFAULT_CEILING


def select_component(names: Sequence[str]) -> str:
    """The payload of a WASM artifact among its entry names: `capsule.wasm`, else the only other.

    Raises NoPayload. One rule for build and launch (spec/registry.md 2).
    """
    candidates = sorted(
        {name for name in names if name.endswith(".wasm") and not re.search(r"[/\\]", name)}
    )
    if COMPONENT in candidates:
        return COMPONENT
    if not candidates:
        raise NoPayload("missing root .wasm file: a wasm artifact packs exactly one")
    if len(candidates) > 1:
        raise NoPayload(f"multiple root .wasm files: {', '.join(candidates)}")
    return candidates[0]


class Archive:
    """An opened `.mur.zip`. Only its directory is in memory; entries are read when asked for."""

    def __init__(self, content: Content | bytes, ceiling: int) -> None:
        """Raises BadArchive for an archive that the guard refuses."""
        self._content = content if isinstance(content, Content) else Content.of(content)
        self._ceiling = ceiling
        self._entries = {entry.name: entry for entry in read_directory(self._content)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its files, in archive order."""
        return tuple(self._entries)

    def has(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, limit: int | None = None) -> bytes:
        """One entry, unpacked. Raises as `stream`."""
        return b"".join(self.stream(name, limit))

    def head(self, name: str, length: int) -> bytes:
        """The first `length` bytes of an entry, less when it is shorter. Raises as `stream`."""
        head = b""
        for piece in self.stream(name):
            head += piece
            if len(head) >= length:
                break
        return head[:length]

    def stream(self, name: str, limit: int | None = None) -> Iterator[bytes]:
        """One entry, unpacked a piece at a time.

        Raises MissingEntry, and BadArchive for an entry that unpacks to more than the ceiling (or
        `limit`, when that is lower), or is damaged; what was given until then is worth nothing.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise MissingEntry(f"it holds no {name}")
        bound = self._ceiling if limit is None else min(limit, self._ceiling)
        return self._unpacked(entry, bound)

    def _unpacked(self, entry: ZipEntry, bound: int) -> Iterator[bytes]:
        if entry.size > bound:
            raise BadArchive(f"the entry {entry.name} unpacks to more than {bound} bytes")
        total = crc = 0
        for piece in self._pieces(entry):
            total += len(piece)
            if total > entry.size:
                raise _damaged(entry, "it unpacks to more than it states")
            crc = zlib.crc32(piece, crc)
            yield piece
        if total != entry.size:
            raise _damaged(entry, "it unpacks to less than it states")
        if crc != entry.crc:
            raise _damaged(entry, "its checksum differs")

    def _pieces(self, entry: ZipEntry) -> Iterator[bytes]:
        """The unpacked bytes, no piece larger than a chunk. Raises BadArchive."""
        end = entry.offset + entry.packed_size
        unpacker = None if entry.method == STORED else zlib.decompressobj(-zlib.MAX_WBITS)
        for at in range(entry.offset, end, CHUNK):
            packed = self._content.read(at, min(CHUNK, end - at))
            if unpacker is None:
                yield packed
                continue
            while packed:
                if unpacker.eof:
                    raise _damaged(entry, "there are bytes behind its end")
                try:
                    piece = unpacker.decompress(packed, CHUNK)
                except zlib.error as bad:
                    raise _damaged(entry, str(bad)) from None
                packed = unpacker.unconsumed_tail or unpacker.unused_data
                if piece:
                    yield piece
        if unpacker is not None and not unpacker.eof:
            # What is left is output that the last call had no room for, or the end is missing.
            while piece := unpacker.decompress(b"", CHUNK):
                yield piece
            if not unpacker.eof:
                raise _damaged(entry, "it ends too early")

    def read_text(self, name: str, limit: int | None = None) -> str:
        """One entry as text. Raises BadArchive as `read` does, and when it is not UTF-8."""
        try:
            return self.read(name, limit).decode("utf-8")
        except UnicodeDecodeError as bad:
            raise BadArchive(f"the entry {name} is not UTF-8 text") from bad

    def component_name(self) -> str:
        """The entry name of the component to run. Raises NoPayload."""
        return select_component(self.names)

    def component(self) -> bytes:
        """The component to run. Raises NoPayload, and BadArchive as `read` does."""
        return self.read(self.component_name())

    def built_at_level(self) -> int | None:
        """The WIT level recorded when it was built; None for no record or a malformed one."""
        try:
            record = json.loads(self.read_text(BUILD_RECORD, 1 << 16))
        except (BadArchive, ValueError, RecursionError):
            return None
        level = record.get("built_at_level") if isinstance(record, dict) else None
        return level if type(level) is int and level >= 0 else None


def _damaged(entry: ZipEntry, reason: str) -> BadArchive:
    return BadArchive(f"the entry {entry.name} is damaged: {reason}")


def build_record(level: int) -> Entry:
    """The `murmur-build.json` entry that records a built-at level."""
    return Entry(
        BUILD_RECORD, json.dumps({"built_at_level": level}, separators=(",", ":")).encode() + b"\n"
    )


def archive_bytes(entries: Sequence[Entry]) -> bytes:
    """A `.mur.zip` of the entries in their order; equal entries give equal bytes.

    The zip format holds no more than 4 GiB an entry here, which the ceiling makes irrelevant.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, so that readers take the mode
            info.external_attr = (stat.S_IFREG | (0o755 if entry.executable else 0o644)) << 16
            packed.writestr(info, entry.data)
    return target.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file through an exclusive temporary sibling and a rename; its mode is the umask's.

    Raises OSError; nothing is left behind then.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

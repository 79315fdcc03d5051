"""Reading and writing `.mur.zip` archives. spec/registry.md 2.

An archive is hostile until proven otherwise: entries are only ever read by name into memory, each
under the decompression ceiling; a name that climbs, a link and an encrypted or exotic entry is as
if it were not there. Writing is deterministic: the same entries give the same bytes.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

MANIFEST: Final = "murmur.yaml"
COMPONENT: Final = "capsule.wasm"
SKILL: Final = "skill.md"
BUILD_RECORD: Final = "murmur-build.json"
SUFFIX: Final = ".mur.zip"

CEILING_VARIABLE: Final = "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"
DEFAULT_CEILING: Final = 524_288_000
MAX_ENTRIES: Final = 10_000

_CHUNK: Final = 1 << 20
# The oldest moment a zip can hold; a fixed one keeps archives byte-identical.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class BadArchive(Exception):
    """An archive that cannot be used; the text says why, for a diagnostic of the caller."""


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


def _safe_name(name: str) -> str | None:
    """An entry name without leading slashes; None when it climbs or names a drive."""
    stripped = name.lstrip("/\\")
    segments = re.split(r"[/\\]", stripped)
    if ".." in segments or _DRIVE.match(stripped) or "\0" in stripped:
        return None
    return stripped


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


class Archive:
    """An opened `.mur.zip`, held in memory. `links` names its symbolic links, which are ignored."""

    def __init__(self, data: bytes, ceiling: int) -> None:
        """Raises BadArchive when `data` is no zip or lists too many entries."""
        self._ceiling = ceiling
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError) as bad:
            raise BadArchive(f"not a zip archive: {bad}") from bad
        infos = self._zip.infolist()
        if len(infos) > MAX_ENTRIES:
            raise BadArchive(f"more than {MAX_ENTRIES} entries")
        self._entries: dict[str, list[zipfile.ZipInfo]] = {}
        self._roots: list[str] = []
        self.links: list[str] = []
        for info in infos:
            name = _safe_name(info.filename)
            if name is None or info.is_dir():
                continue
            if _is_link(info):
                self.links.append(name)
                continue
            self._entries.setdefault(name, []).append(info)
            # A leading slash keeps an entry from being a payload, although it can be read.
            if name == info.filename:
                self._roots.append(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The safe entry names, in archive order."""
        return tuple(self._entries)

    def has(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, limit: int | None = None) -> bytes:
        """One entry, unpacked.

        Raises MissingEntry, and BadArchive for an entry that occurs twice, unpacks to more than
        the ceiling (or `limit`, when that is lower), or is damaged.
        """
        found = self._entries.get(name)
        if found is None:
            raise MissingEntry(f"it holds no {name}")
        if len(found) > 1:
            raise BadArchive(f"the entry {name} occurs {len(found)} times")
        info = found[0]
        if info.flag_bits & 0x1:
            raise BadArchive(f"the entry {name} is encrypted")
        if info.compress_type not in _METHODS:
            raise BadArchive(f"the entry {name} is packed with method {info.compress_type}")
        bound = self._ceiling if limit is None else min(limit, self._ceiling)
        pieces = []
        total = 0
        try:
            with self._zip.open(info) as stream:
                while piece := stream.read(_CHUNK):
                    total += len(piece)
                    if total > bound:
                        raise BadArchive(f"the entry {name} unpacks to more than {bound} bytes")
                    pieces.append(piece)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as bad:
            raise BadArchive(f"the entry {name} is damaged: {bad}") from bad
        return b"".join(pieces)

    def read_text(self, name: str, limit: int | None = None) -> str:
        """One entry as text. Raises BadArchive as `read` does, and when it is not UTF-8."""
        try:
            return self.read(name, limit).decode("utf-8")
        except UnicodeDecodeError as bad:
            raise BadArchive(f"the entry {name} is not UTF-8 text") from bad

    def component_name(self) -> str:
        """The entry name of the component to run. Raises NoPayload."""
        return select_component(self._roots)

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

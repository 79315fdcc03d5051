"""The artifact index of one scope, `artifacts-index.json`, schema 2: its form, read and written.

An asset of every release; it lists every version of every artifact of the scope, each with the
release that holds it. Key spellings are those recommended in spec/registry.md 14, and this is the
one module that knows them. What is read may be anybody's: every field is checked before it can
become a path, and a file that breaks the format is E-IDX-002.
"""

import contextlib
import dataclasses
import functools
import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from murmur.core.diagnostics import error
from murmur.manifest.names import is_bare_name
from murmur.store.component import Contracts
from murmur.store.names import FullName, version_fault, version_order
from murmur.store.platforms import payload_stem

INDEX_FILE: Final = "artifacts-index.json"
SCHEMA_VERSION: Final = "2"
SIZE_LIMIT: Final = 32 << 20
"""The most bytes that are read of an index, wherever it comes from."""

_HEX: Final = re.compile(r"[0-9a-f]{64}")
_FILE_NAME: Final = re.compile(r"[^/\\\x00-\x1f\x7f]+")
_WHITE_SPACE: Final = re.compile(r"\s")
_NO_CONTRACTS: Final = Contracts((), ())


@dataclasses.dataclass(frozen=True, slots=True)
class IndexFile:
    """One payload of a version: its asset name, its hash, its platform (None: every platform)."""

    name: str
    sha256: str
    platform: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class IndexVersion:
    """One version. `release` is the tag of the release that holds its files."""

    version: str
    release: str
    files: tuple[IndexFile, ...]
    contracts: Contracts = _NO_CONTRACTS
    built_at_level: int | None = None

    @property
    def platforms(self) -> tuple[str | None, ...]:
        return tuple(file.platform for file in self.files)

    def file_for(self, platform: str) -> IndexFile | None:
        """The payload for a host: its own, else the platform-independent one; None for neither."""
        by = {file.platform: file for file in self.files}
        return by.get(platform) or by.get(None)


@dataclasses.dataclass(frozen=True, slots=True)
class IndexArtifact:
    """One artifact: its bare name, its role, and its versions, newest first."""

    name: str
    role: str
    versions: tuple[IndexVersion, ...]
    description: str | None = None
    tags: tuple[str, ...] = ()

    def find(self, version: str) -> IndexVersion | None:
        return next((each for each in self.versions if each.version == version), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Index:
    """A whole index. `updated_at` is RFC 3339 in UTC, to the second; None when it does not say."""

    scope: str
    artifacts: tuple[IndexArtifact, ...] = ()
    updated_at: str | None = None

    def find(self, name: str) -> IndexArtifact | None:
        """The artifact of that bare name."""
        return next((each for each in self.artifacts if each.name == name), None)

    def full_name(self, artifact: IndexArtifact) -> FullName:
        return FullName.of(self.scope, artifact.name)


_Item = TypeVar("_Item")


class BadIndex(Exception):
    """What breaks the format, and the place where it does: the path of a field."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason

    def below(self, place: str) -> "BadIndex":
        return BadIndex(f"{place}.{self.place}" if self.place else place, self.reason)


def mentions(query: str, texts: Iterable[str | None]) -> bool:
    """Whether an artifact's name, description or one of its tags holds `query`, in any case."""
    return any(query.casefold() in (text or "").casefold() for text in texts)


def parse_index(data: bytes, source: str) -> Index:
    """The index in `data`; `source` is the path or URL that messages name.

    Unknown keys are ignored. Raises E-IDX-002.
    """
    try:
        return read_index(data)
    except BadIndex as broken:
        raise error("E-IDX-002", source=source, reason=str(broken)) from None


def read_index(data: bytes) -> Index:
    """The same for a reader that has no diagnostics. Raises BadIndex."""
    with _nothing_collected():
        return _index(data)


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keeps Python from looking for garbage meanwhile: all that an index is made of stays, and
    looking through it over and over takes as long as reading it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _index(data: bytes) -> Index:
    if len(data) > SIZE_LIMIT:
        raise BadIndex("", f"it is larger than {SIZE_LIMIT} bytes")
    try:
        top = json.loads(data)
    except (ValueError, RecursionError) as bad:
        raise BadIndex("", f"it is not JSON: {bad}") from None
    if not isinstance(top, dict):
        raise BadIndex("", "it is not a JSON object")
    version = top.get("schema_version")
    if type(version) is not int and not isinstance(version, str):
        raise BadIndex("", "it has no schema_version")
    if str(version) != SCHEMA_VERSION:
        reason = f"its schema_version is {version}, and this mur reads {SCHEMA_VERSION} only"
        raise BadIndex("", reason)
    scope = _string(top, "scope")
    if not is_bare_name(scope):
        raise BadIndex("scope", f"{scope!r} is no scope name")
    artifacts = _each(top, "artifacts", _artifact)
    _once("artifacts", "the artifact", [each.name for each in artifacts])
    return Index(scope, tuple(artifacts), _optional(top, "updated_at"))


def _each(
    block: Mapping[str, Any], key: str, read: Callable[[Mapping[str, Any]], _Item]
) -> list[_Item]:
    """A list of objects, each read by `read`."""
    values = block.get(key)
    if not isinstance(values, list):
        raise BadIndex(key, "it is not a list")
    items = []
    try:
        for value in values:
            if not isinstance(value, dict):
                raise BadIndex("", "it is not an object")
            items.append(read(value))
    except BadIndex as broken:
        raise broken.below(f"{key}[{len(items)}]") from None
    return items


def _artifact(block: Mapping[str, Any]) -> IndexArtifact:
    name = _string(block, "name")
    if not is_bare_name(name):
        raise BadIndex("name", f"{name!r} is no artifact name")
    role = _string(block, "runtime" if "runtime" in block else "role")
    versions = _each(block, "versions", functools.partial(_version, name))
    if not versions:
        raise BadIndex("versions", "it is empty")
    if len(versions) > 1:
        _once("versions", "the version", [each.version for each in versions])
        versions.sort(key=lambda each: version_order(each.version), reverse=True)
    tags = _strings(block, "tags")
    return IndexArtifact(name, role, tuple(versions), _optional(block, "description"), tags)


def _version(name: str, block: Mapping[str, Any]) -> IndexVersion:
    version = _string(block, "version")
    fault = version_fault(version)
    if fault is not None:
        raise BadIndex("version", fault)
    release = _string(block, "release" if "release" in block else "tag")
    if not release or _WHITE_SPACE.search(release):
        raise BadIndex("release", "a tag is not empty and holds no white space")
    level = block.get("built_at_level")
    if level is not None and (type(level) is not int or level < 0):
        raise BadIndex("built_at_level", "it is no non-negative integer")
    files = _each(block, "files", functools.partial(_file, name, version))
    if not files:
        raise BadIndex("files", "it is empty")
    if len(files) > 1:
        _once("files", "the platform", [file.platform or "none" for file in files])
    return IndexVersion(version, release, tuple(files), _contracts(block), level)


def _file(name: str, version: str, block: Mapping[str, Any]) -> IndexFile:
    sha256 = _string(block, "sha256")
    if not _HEX.fullmatch(sha256):
        raise BadIndex("sha256", "it is not 64 lowercase hex digits")
    platform = _optional(block, "platform")
    if platform is not None and not _FILE_NAME.fullmatch(platform):
        raise BadIndex("platform", f"{platform!r} is no platform tag")
    asset = _optional(block, "name")
    if asset is None:
        asset = payload_stem(name, version, platform) + ".mur.zip"
    if not _FILE_NAME.fullmatch(asset) or asset in (".", ".."):
        raise BadIndex("name", f"{asset!r} is no file name")
    return IndexFile(asset, sha256, platform)


def _contracts(block: Mapping[str, Any]) -> Contracts:
    """`{exports, imports}`, or one flat list, which says not which of the two each name is."""
    value = block.get("interfaces")
    if value is None:
        return _NO_CONTRACTS
    if isinstance(value, list):
        return Contracts((), _strings(block, "interfaces"))
    if not isinstance(value, dict):
        raise BadIndex("interfaces", "it is not an object")
    try:
        return Contracts(_strings(value, "exports"), _strings(value, "imports"))
    except BadIndex as broken:
        raise broken.below("interfaces") from None


def _string(block: Mapping[str, Any], key: str) -> str:
    value = block.get(key)
    if not isinstance(value, str):
        raise BadIndex(key, "it is not a string")
    return value


def _optional(block: Mapping[str, Any], key: str) -> str | None:
    return None if block.get(key) is None else _string(block, key)


def _strings(block: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = block.get(key)
    if not value and (value is None or isinstance(value, list)):
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadIndex(key, "it is not a list of strings")
    return tuple(value)


def _once(place: str, what: str, names: list[str]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise BadIndex(place, f"{what} {name} occurs twice")
        seen.add(name)


# --- writing -------------------------------------------------------------------------------


def render_index(index: Index) -> bytes:
    """The file's bytes: artifacts by name, versions newest first, files by platform."""
    top: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if index.updated_at is not None:
        top["updated_at"] = index.updated_at
    top["scope"] = index.scope
    top["artifacts"] = [
        _artifact_object(each) for each in sorted(index.artifacts, key=lambda each: each.name)
    ]
    return (json.dumps(top, indent=2, ensure_ascii=False) + "\n").encode()


def _artifact_object(artifact: IndexArtifact) -> dict[str, Any]:
    block: dict[str, Any] = {"name": artifact.name, "runtime": artifact.role}
    if artifact.description is not None:
        block["description"] = artifact.description
    block["tags"] = list(artifact.tags)
    newest_first = sorted(
        artifact.versions, key=lambda each: version_order(each.version), reverse=True
    )
    block["versions"] = [_version_object(each) for each in newest_first]
    return block


def _version_object(version: IndexVersion) -> dict[str, Any]:
    block: dict[str, Any] = {"version": version.version, "release": version.release}
    if version.built_at_level is not None:
        block["built_at_level"] = version.built_at_level
    block["interfaces"] = {
        "exports": list(version.contracts.exports),
        "imports": list(version.contracts.imports),
    }
    block["files"] = [
        {"name": file.name, "sha256": file.sha256}
        | ({"platform": file.platform} if file.platform else {})
        for file in sorted(version.files, key=lambda file: file.platform or "")
    ]
    return block

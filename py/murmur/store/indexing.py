"""`mur index`: the index of one scope out of a release's `.mur.zip` files. spec/registry.md 14.

Everything an index says of a version is read from its files, never taken from the caller; only the
tag of the release is. An earlier index adds the versions that the folder does not hold.
"""

import dataclasses
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.names import is_bare_name
from murmur.store.archive import BUILD_RECORD, SUFFIX, BadArchive, write_whole
from murmur.store.component import Contracts, read_contracts
from murmur.store.content import hold_file
from murmur.store.index import (
    SIZE_LIMIT,
    Index,
    IndexArtifact,
    IndexFile,
    IndexVersion,
    parse_index,
    render_index,
)
from murmur.store.levels import built_at_level
from murmur.store.names import LOCAL_SCOPE, MURMUR_SCOPE, version_fault, version_order
from murmur.store.payload import Payload, open_payload
from murmur.store.platforms import PLATFORMS, payload_stem
from murmur.store.sources import MURMUR_REPOSITORY

_REPOSITORY: Final = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)/([A-Za-z0-9._-]+)")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")


@dataclasses.dataclass(frozen=True, slots=True)
class Indexed:
    """A written index, and how many versions of the earlier one were kept and were replaced."""

    index: Index
    output: str
    merged: str | None = None
    kept: int = 0
    replaced: int = 0

    @property
    def line(self) -> str:
        """The command's line."""
        artifacts = len(self.index.artifacts)
        versions = sum(len(artifact.versions) for artifact in self.index.artifacts)
        line = (
            f"Indexed {_counted(artifacts, 'artifact')} ({_counted(versions, 'version')}) "
            f"for scope {self.index.scope} into {self.output}"
        )
        if self.merged is None:
            return line
        kept = f"{_counted(self.kept, 'version')} kept from {self.merged}"
        return f"{line}; {kept}, {self.replaced} replaced"


@dataclasses.dataclass(frozen=True, slots=True)
class _Asset:
    """One file of the release, read."""

    file: IndexFile
    version: str
    contracts: Contracts
    level: int | None
    """The level that the file records; None for none."""
    name: str
    role: str
    description: str | None
    tags: tuple[str, ...]


def write_index(
    folder: str,
    repository: str,
    release: str,
    output: str,
    merge: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Indexed:
    """Indexes the folder's files and writes `output` whole.

    Raises E-IDX-001, E-IDX-002, E-IDX-003 and E-IO-003; an existing output is then as it was.
    """
    environ = os.environ if environ is None else environ
    scope = scope_of(repository)
    if not release or re.search(r"\s", release):
        raise error(
            "E-IDX-003",
            value=f"--release {release!r}",
            reason="a release tag is not empty and holds no white space",
        )
    earlier = _earlier(merge, scope) if merge is not None else None
    assets = [_read(path, environ) for path in _archives(folder)]
    fresh = _artifacts(assets, release)
    artifacts, kept, replaced = _merged(fresh, earlier)
    index = Index(scope, artifacts, _now(environ))
    try:
        write_whole(Path(output), render_index(index))
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{output} cannot be written", reason=failure.strerror, hint=""
        ) from failure
    return Indexed(index, output, merge, kept, replaced)


def scope_of(repository: str) -> str:
    """The scope of a repository `<owner>/<repo>`: its owner, lowercased. Raises E-IDX-003."""

    def refuse(reason: str) -> NoReturn:
        raise error("E-IDX-003", value=f"--repo {repository!r}", reason=reason)

    match = _REPOSITORY.fullmatch(repository)
    if match is None or match[2] in (".", ".."):
        refuse("a repository is <owner>/<repo>")
    if repository.lower() == MURMUR_REPOSITORY:
        return MURMUR_SCOPE
    scope = match[1].lower()
    if scope in (LOCAL_SCOPE, MURMUR_SCOPE):
        refuse(f"the scope {scope} is reserved")
    if not is_bare_name(scope):
        refuse(f"its owner {scope} is no scope name")
    return scope


def _earlier(path: str, scope: str) -> Index:
    """The index to merge with. Raises E-IO-003, E-IDX-002 and E-IDX-003."""
    try:
        data = hold_file(path).read(0, SIZE_LIMIT + 1)
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure
    index = parse_index(data, path)
    if index.scope != scope:
        raise error(
            "E-IDX-003",
            value=f"--merge {path}",
            reason=f"it is the index of the scope {index.scope}, and this one is of {scope}",
        )
    return index


def _archives(folder: str) -> list[Path]:
    """The files to index, by name. Raises E-IDX-001 for none and E-IO-003."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.name.endswith(SUFFIX))
            paths = [Path(folder, name) for name in names]
            found = [path for path in paths if path.is_file()]
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{folder} cannot be read", reason=failure.strerror, hint=""
        ) from failure
    if not found:
        raise error("E-IDX-001", file=folder, reason=f"it holds no {SUFFIX} file")
    return found


def _refuse(path: Path, reason: str) -> NoReturn:
    raise error("E-IDX-001", file=path, reason=reason)


def _read(path: Path, environ: Mapping[str, str]) -> _Asset:
    """One file as its index lists it. Raises E-IDX-001 and E-IO-003."""
    try:
        content = hold_file(path)
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure
    try:
        payload = open_payload(content, path.name, environ)
    except MurmurError as bad:
        _refuse(path, bad.message)
    manifest = payload.manifest
    platform = _platform(path, payload)
    role = manifest.runtime or "tool"
    return _Asset(
        IndexFile(path.name, content.sha256, platform),
        manifest.version,
        _contracts(path, payload),
        _recorded_level(path, payload),
        manifest.name,
        role,
        short_description(manifest.description),
        manifest.tags or derived_tags(role, manifest.name),
    )


def _platform(path: Path, payload: Payload) -> str | None:
    """The platform in the file's name, whose other parts the manifest must confirm."""
    manifest = payload.manifest
    if not is_bare_name(manifest.name):
        _refuse(path, f"its manifest's name {manifest.name!r} is no artifact name")
    fault = version_fault(manifest.version)
    if fault is not None:
        _refuse(path, f"its manifest's version cannot be a file name: {fault}")
    stem = payload_stem(manifest.name, manifest.version, None)
    named = path.name.removesuffix(SUFFIX)
    tag = named[len(stem) + 1 :] if named.startswith(stem + "-") else None
    native = payload.kind == "native"
    if tag in PLATFORMS and native:
        return tag
    if named == stem and not native:
        return None
    if named == stem:
        _refuse(path, f"it is native, and its name carries no platform: {stem}-<platform>{SUFFIX}")
    if tag in PLATFORMS:
        _refuse(path, f"it is not native, and its name carries the platform {tag}")
    expected = f"{stem}-<platform>" if native else stem
    _refuse(
        path,
        f"its manifest says {manifest.name}@{manifest.version}, "
        f"so its name should be {expected}{SUFFIX}",
    )


def _contracts(path: Path, payload: Payload) -> Contracts:
    """The `murmur:` interfaces of the component; none for a payload without one."""
    if payload.kind != "wasm":
        return Contracts((), ())
    try:
        archive = payload.archive
        found = read_contracts(archive.stream(archive.component_name()))
    except BadArchive as bad:
        _refuse(path, str(bad))
    if found is None:
        _refuse(path, f"its {payload.archive.component_name()} is no component that can be read")
    return Contracts(_ours(found.exports), _ours(found.imports))


def _ours(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name.startswith("murmur:"))


def _recorded_level(path: Path, payload: Payload) -> int | None:
    level = payload.archive.built_at_level()
    if level is None and payload.archive.has(BUILD_RECORD):
        _refuse(path, f"its {BUILD_RECORD} is malformed")
    return level


def short_description(text: str) -> str | None:
    """The first sentence of a description's first line; None when there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _SENTENCE_END.split(line, maxsplit=1)[0] or None


def derived_tags(role: str, name: str) -> tuple[str, ...]:
    """The role, then the parts of the name after it."""
    return tuple(dict.fromkeys((role, *filter(None, name.split("-")))))


def _artifacts(assets: Sequence[_Asset], release: str) -> list[IndexArtifact]:
    by: dict[str, dict[str, list[_Asset]]] = {}
    for asset in assets:
        by.setdefault(asset.name, {}).setdefault(asset.version, []).append(asset)
    artifacts = []
    for name, versions in by.items():
        newest = versions[max(versions, key=version_order)][0]
        listed = tuple(_version(files, release) for files in versions.values())
        artifacts.append(IndexArtifact(name, newest.role, listed, newest.description, newest.tags))
    return artifacts


def _version(assets: Sequence[_Asset], release: str) -> IndexVersion:
    recorded = {asset.level for asset in assets if asset.level is not None}
    if len(recorded) > 1:
        raise error(
            "E-IDX-001",
            file=", ".join(asset.file.name for asset in assets),
            reason="files of one version record different WIT levels: "
            + ", ".join(str(level) for level in sorted(recorded)),
        )
    exports = {name for asset in assets for name in asset.contracts.exports}
    imports = {name for asset in assets for name in asset.contracts.imports}
    contracts = Contracts(tuple(sorted(exports)), tuple(sorted(imports)))
    level = recorded.pop() if recorded else built_at_level(contracts)
    files = tuple(asset.file for asset in assets)
    return IndexVersion(assets[0].version, release, files, contracts, level)


def _merged(
    fresh: Sequence[IndexArtifact], earlier: Index | None
) -> tuple[tuple[IndexArtifact, ...], int, int]:
    """The new index's artifacts, and how many versions were kept and how many replaced."""
    if earlier is None:
        return tuple(fresh), 0, 0
    by = {artifact.name: artifact for artifact in fresh}
    kept = replaced = 0
    for old in earlier.artifacts:
        new = by.get(old.name)
        versions = [] if new is None else list(new.versions)
        for version in old.versions:
            at = next((n for n, v in enumerate(versions) if v.version == version.version), None)
            if at is None:
                versions.append(_with_level(version))
                kept += 1
                continue
            if set(versions[at].files) != set(version.files):
                replaced += 1
            if version.built_at_level is not None:
                versions[at] = dataclasses.replace(
                    versions[at], built_at_level=version.built_at_level
                )
        by[old.name] = dataclasses.replace(_describing(new, old), versions=tuple(versions))
    return tuple(by.values()), kept, replaced


def _with_level(version: IndexVersion) -> IndexVersion:
    if version.built_at_level is not None:
        return version
    return dataclasses.replace(version, built_at_level=built_at_level(version.contracts))


def _describing(new: IndexArtifact | None, old: IndexArtifact) -> IndexArtifact:
    """The one of the two whose newest version is the newest: it describes the artifact."""
    if new is None:
        return old

    def newest(artifact: IndexArtifact) -> tuple[object, ...]:
        return max(version_order(each.version) for each in artifact.versions)

    return old if newest(old) > newest(new) else new


def _now(environ: Mapping[str, str]) -> str:
    """The moment of writing, or the one that reproducible builds tell (SOURCE_DATE_EPOCH)."""
    told = environ.get("SOURCE_DATE_EPOCH", "")
    moment = int(told) if re.fullmatch(r"[0-9]{1,11}", told) else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

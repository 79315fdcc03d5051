"""What a store holds, for `mur list` and `mur search --index local`. spec/registry.md 14 and 19.

Read from the records beside the payloads; a payload itself is opened only where its record is
missing. Nothing is written, and no lock is needed: a version directory in which a writer is
between two of its renames is looked at again once the writer is done.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from murmur.core.diagnostics import MurmurError
from murmur.manifest.names import is_bare_name
from murmur.store.archive import SUFFIX
from murmur.store.choosing import Candidate
from murmur.store.component import Contracts
from murmur.store.names import FullName, version_fault, version_order
from murmur.store.platforms import PLATFORMS, payload_stem
from murmur.store.record import Record
from murmur.store.stores import Store, StoredArtifact, holding_version

_HASH = ".sha256"


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """One version of one artifact in a store. `role` is None where nothing there can be read.

    `tags` are the platforms its payloads are filed under; None stands for one filed under none.
    """

    store: str
    name: FullName
    version: str
    tags: tuple[str | None, ...]
    record: Record | None

    @property
    def role(self) -> str | None:
        return self.record.role if self.record is not None else None

    @property
    def contracts(self) -> Contracts | None:
        return self.record.contracts if self.record is not None else None

    @property
    def platforms(self) -> tuple[str, ...]:
        return tuple(tag for tag in self.tags if tag is not None)

    def matching(self, prefix: str) -> tuple[str, ...]:
        """The recorded interfaces, exported or imported, that start with `prefix`."""
        contracts = self.contracts
        names = (*contracts.exports, *contracts.imports) if contracts else ()
        return tuple(sorted({name for name in names if name.startswith(prefix)}))

    def candidate(self) -> Candidate:
        return Candidate(self.version, self.contracts, self.tags)


def listing(store: Store, environ: Mapping[str, str] | None = None) -> list[Held]:
    """Every version in a store that has a payload, by name and then by version, oldest first.

    Raises OSError for a store that is there and cannot be read.
    """
    found = [
        held
        for name, version in _versions(store)
        if (held := _look(store, name, version, environ)) is not None
    ]
    found.sort(key=lambda held: (held.name.text, version_order(held.version)))
    return found


def _versions(store: Store) -> Iterator[tuple[FullName, str]]:
    for scope in _folders(store.root):
        if not is_bare_name(scope):
            continue
        for name in _folders(store.root / scope):
            if not is_bare_name(name):
                continue
            for version in _folders(store.root / scope / name):
                if version_fault(version) is None:
                    yield FullName.of(scope, name), version


def _folders(path: Path) -> list[str]:
    """The folders in a folder; none where it is missing, or went away meanwhile."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _look(
    store: Store, name: FullName, version: str, environ: Mapping[str, str] | None
) -> Held | None:
    directory = store.directory(name, version)
    stems, whole = _payloads(directory, name, version)
    if not whole:
        with holding_version(directory, exclusive=False):
            stems, whole = _payloads(directory, name, version)
    if not stems:
        return None
    stored = [
        StoredArtifact(store, name, version, tag, directory / (stem + SUFFIX))
        for tag, stem in stems.items()
    ]
    return Held(store.label, name, version, tuple(stems), _record(stored, environ))


def _payloads(directory: Path, name: FullName, version: str) -> tuple[dict[str | None, str], bool]:
    """The stem of each payload by its tag, and whether every zip has its hash and record."""
    try:
        files = set(os.listdir(directory))
    except OSError:
        return {}, True
    stems: dict[str | None, str] = {}
    whole = True
    for tag in (None, *PLATFORMS):
        stem = payload_stem(name, version, tag)
        parts = [stem + suffix in files for suffix in (SUFFIX, _HASH, ".meta.json")]
        if parts[0] and parts[1]:
            stems[tag] = stem
        whole = whole and all(parts) == any(parts)
    return stems, whole


def _record(stored: list[StoredArtifact], environ: Mapping[str, str] | None) -> Record | None:
    """The first record that can be read; else what the first readable payload says of itself."""
    for each in stored:
        record = each.record()
        if record is not None:
            if record.runtime == "wasm" and record.contracts is None:
                return dataclasses.replace(record, contracts=_contracts(each, environ))
            return record
    for each in stored:
        try:
            payload = each.open(environ)
        except MurmurError:
            continue
        return Record.of(each.full_name, payload, each.tag, None)
    return None


def _contracts(stored: StoredArtifact, environ: Mapping[str, str] | None) -> Contracts | None:
    try:
        return stored.open(environ).contracts
    except MurmurError:
        return None

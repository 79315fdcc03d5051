"""What the two stores hold, read without writing to either. spec/registry.md 9 and 15."""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from murmur.core.diagnostics import MurmurError
from murmur.manifest.names import is_full_name
from murmur.store.archive import SUFFIX
from murmur.store.component import Contracts
from murmur.store.levels import Misfit, built_at_level, misfits, served_level
from murmur.store.names import FullName
from murmur.store.stores import Store, StoredArtifact


@dataclasses.dataclass(frozen=True, slots=True)
class Installed:
    """One version of one artifact in one store.

    `label` is the level it was built at, in words. `problem` says why its payload could not be
    looked at, None when it could.
    """

    name: FullName
    version: str
    store: str
    label: str
    misfits: tuple[Misfit, ...]
    problem: str | None = None

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def fits(self) -> bool:
        return self.problem is None and not self.misfits


def installed(store: Store, platform: str, environ: Mapping[str, str]) -> list[Installed]:
    """Every artifact in a store, by name and version. Raises OSError for a store unread."""
    return [
        _look(store, name, version, platform, environ) for name, version in _versions(store.root)
    ]


def _versions(root: Path) -> Iterator[tuple[FullName, str]]:
    for scope in _folders(root, missing_is_empty=True):
        for name in _folders(root / scope):
            if not is_full_name(f"{scope}/{name}"):
                continue
            for version in _folders(root / scope / name):
                yield FullName.of(scope, name), version


def _folders(path: Path, *, missing_is_empty: bool = False) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    except FileNotFoundError:
        if missing_is_empty:
            return []
        raise


def _look(
    store: Store, name: FullName, version: str, platform: str, environ: Mapping[str, str]
) -> Installed:
    try:
        payloads = list(store.payloads(name, version))
        found = store.find(name, version, platform)
        if not payloads:
            return Installed(name, version, store.label, "", (), "it holds no payload")
        if found is None:
            return Installed(name, version, store.label, "", (), f"no payload for {platform}")
        return _read(found, environ)
    except MurmurError as refused:
        return Installed(name, version, store.label, "", (), refused.message)


def _read(stored: StoredArtifact, environ: Mapping[str, str]) -> Installed:
    payload = stored.open(environ)
    contracts = stored.contracts(payload)
    return Installed(
        stored.full_name,
        stored.version,
        stored.store.label,
        level_label(payload.archive.built_at_level(), contracts),
        misfits(contracts, served_level()),
    )


def level_label(recorded: int | None, contracts: Contracts | None) -> str:
    """The built-at label of an artifact. CLI reference, *WIT level*."""
    if recorded is None:
        derived = built_at_level(contracts)
        return "none (derived)" if derived is None else f"{derived} (derived)"
    if recorded > served_level().number:
        return f"{recorded} (newer than this mur knows)"
    return str(recorded)


def old_layout(stores: Sequence[Store]) -> list[str]:
    """A line for each directory in the flat `<name>/<version>/` layout, which nothing reads."""
    lines: list[str] = []
    for store in stores:
        try:
            flat = [
                store.root / name / version
                for name in _folders(store.root, missing_is_empty=True)
                for version in _folders(store.root / name)
                if _holds_archives(store.root / name / version)
            ]
        except OSError:
            continue
        lines += [
            f"{store.label} store: {path}: old layout, nothing reads it, safe to delete"
            for path in flat
        ]
    return lines


def _holds_archives(path: Path) -> bool:
    return any(entry.name.endswith(SUFFIX) and entry.is_file() for entry in os.scandir(path))

"""What the two stores hold, read without writing to either. spec/registry.md 9 and 15."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from murmur.core.diagnostics import MurmurError
from murmur.store.archive import SUFFIX
from murmur.store.component import Contracts
from murmur.store.levels import Misfit, built_at_level, misfits, served_level
from murmur.store.listing import Held, listing
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
    """Every artifact in a store, by name and version, as `mur list` finds them.

    Raises OSError for a store unread.
    """
    return [_look(store, held, platform, environ) for held in listing(store, environ)]


def _look(store: Store, held: Held, platform: str, environ: Mapping[str, str]) -> Installed:
    try:
        found = store.find(held.name, held.version, platform)
        if found is not None:
            return _read(found, environ)
        problem = f"no payload for {platform}"
    except MurmurError as refused:
        problem = refused.message
    return Installed(held.name, held.version, store.label, "", (), problem)


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
                for name in _folders(store.root)
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


def _folders(path: Path) -> list[str]:
    """The folders in a folder; none where it is missing."""
    try:
        return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    except FileNotFoundError:
        return []


def _holds_archives(path: Path) -> bool:
    return any(entry.name.endswith(SUFFIX) and entry.is_file() for entry in os.scandir(path))

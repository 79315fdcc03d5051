"""`mur install`: artifacts into a project's store (with pins in its lock) or the global store.

Everything is resolved and checked before the first write, so a refusal leaves the project as it
was. spec/registry.md 12 and the CLI reference's `mur install`. Fetching from a source is handed
in as a `Fetch`; compiling afterwards is the command's, since both need more than this package.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from murmur.core.diagnostics import error
from murmur.store.checks import conflict
from murmur.store.component import Contracts
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock, Pin, lock_path, pin_payloads, read_lock
from murmur.store.names import LOCAL_SCOPE, FullName
from murmur.store.payload import Payload
from murmur.store.platforms import UNKNOWN, host_platform, split_tag
from murmur.store.publish import read_archive_file
from murmur.store.references import Pinned
from murmur.store.stores import Store, StoredArtifact, resolve


@dataclasses.dataclass(frozen=True, slots=True)
class Ready:
    """One payload that may be stored. `tag` is the platform it is filed under.

    `present` says that the target store holds these very bytes already.
    """

    name: FullName
    payload: Payload
    tag: str | None
    owner_id: int | None = None
    present: bool = False

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.payload.manifest.version}"


Fetch = Callable[[Pinned], Ready]
"""Asks the source of a scope; raises E-REG-001 or E-REG-006 when it cannot answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Installed:
    """What an install did: payloads in the order asked for, and the pins that were adopted."""

    payloads: tuple[Ready, ...]
    adopted: tuple[Pin, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """Where an install writes. `project` is None for the global store, which has no lock."""

    store: Store
    project: Path | None


def from_stores(
    wanted: Sequence[Pinned], stores: Sequence[Store], target: Target, fetch: Fetch
) -> list[Ready]:
    """Every wanted artifact, ready to be stored: from the first of `stores`, else fetched.

    A manifest install looks into the project's own store first, a named artifact comes from the
    global store. Raises E-REG-001, E-REG-002, E-REG-006 and E-WIT-LEVEL-001; writes nothing.
    """
    platform = host_platform()
    stored = [resolve(item.name, item.version, stores, platform) for item in wanted]
    for item, found in zip(wanted, stored, strict=True):
        record = found.record() if found is not None else None
        if record is not None:  # by the record alone, before any payload is read
            require_fit(str(item), record.contracts)
    return [
        _open(found, target.store) if found is not None else fetch(item)
        for item, found in zip(wanted, stored, strict=True)
    ]


def newest_fitting(name: FullName, store: Store, refuse: Callable[[FullName], Exception]) -> Pinned:
    """The newest version of a `local/` artifact in the global store that fits and runs here.

    Raises what `refuse` makes when there is none, or when the artifact's scope has a source,
    whose index alone may say what is newest.
    """
    if name.scope == LOCAL_SCOPE:
        platform = host_platform()
        for version in store.versions(name):
            found = store.find(name, version, platform)
            if found is not None and not misfits(found.contracts(found.open()), served_level()):
                return Pinned(name, version)
    raise refuse(name)


def from_file(path: str) -> Ready:
    """The archive at `path` as `local/<name>`. Raises as `read_archive_file`; E-WIT-LEVEL-001."""
    payload = read_archive_file(path)
    name = FullName.of(LOCAL_SCOPE, payload.manifest.name)
    require_fit(f"{name}@{payload.manifest.version}", payload.contracts)
    tag = None
    if payload.kind == "native":
        try:
            _, tag = split_tag(Path(path).name)
        except ValueError:
            tag = None
        if tag is None:
            tag = payload.native_platform()
            tag = None if tag == "darwin" else tag
    return Ready(name, payload, tag)


def require_fit(reference: str, contracts: Contracts | None) -> None:
    """Raises E-WIT-LEVEL-001 unless every interface is the served one."""
    level = served_level()
    wrong = misfits(contracts, level)
    if wrong:
        raise error(
            "E-WIT-LEVEL-001",
            artifact=reference,
            level=level.number,
            reason="; ".join(str(misfit) for misfit in wrong),
        )


def store_all(ready: Sequence[Ready], target: Target) -> Installed:
    """Stores every payload and writes the project's pins once.

    Raises E-RUN-003 and E-REG-005 before anything is written, then E-IO-003.
    """
    pins = [_pin(item) for item in ready] if target.project is not None else []
    if target.project is not None:
        _check_lock(read_lock(lock_path(target.project)), pins)
    for item in ready:
        if not item.present:
            target.store.put(item.name, item.payload, item.tag, owner_id=item.owner_id)
    if target.project is None:
        return Installed(tuple(ready))
    _, adopted = pin_payloads(pins, lock_path(target.project))
    return Installed(tuple(ready), adopted)


def _open(found: StoredArtifact, target: Store) -> Ready:
    payload = found.open()
    require_fit(found.reference, found.contracts(payload))
    record = found.record()
    tag = found.tag if payload.kind == "native" else None
    return Ready(
        found.full_name,
        payload,
        tag,
        record.owner_id if record else None,
        present=found.store == target,
    )


def _pin(item: Ready) -> Pin:
    version = item.payload.manifest.version
    if item.payload.kind != "native":
        return Pin(item.name, version, any=item.payload.sha256, owner_id=item.owner_id)
    # An untagged native payload runs here or nowhere, so it is pinned for this host.
    tag = item.tag or host_platform()
    if tag == UNKNOWN:
        raise error(
            "E-IO-003",
            what=f"{item.reference} cannot be pinned",
            reason="it is native, and neither its file name nor this host says for which platform",
            hint="install it with -g, or rename the file to <name>-<version>-<platform>.mur.zip",
        )
    return Pin(item.name, version, platforms={tag: item.payload.sha256}, owner_id=item.owner_id)


def _check_lock(lock: Lock | None, pins: Sequence[Pin]) -> None:
    for new in pins:
        held = lock.find(new.name) if lock else None
        reason = conflict(held, new) if held else None
        if reason is not None:
            raise error(
                "E-REG-005",
                artifact=f"{new.name}@{new.resolved_version}",
                reason=reason,
                hint="if the new bytes are the ones you want, remove its entry from murmur.lock "
                "and install again",
            )

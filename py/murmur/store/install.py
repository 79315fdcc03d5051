"""`mur install`: artifacts into a project's store (with pins in its lock) or the global store.

Everything is resolved, fetched and checked before the first write, so a refusal leaves the project
as it was. spec/registry.md 12 and the CLI reference's `mur install`. Asking sources is the
fetcher's work (store.fetching); compiling afterwards is the command's.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from murmur.core.diagnostics import MurmurError, error
from murmur.store.checks import conflict
from murmur.store.fetching import Fetcher, Planned
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock, Pin, holding, lock_path, merge_pins, read_lock
from murmur.store.names import LOCAL_SCOPE, FullName, version_order
from murmur.store.platforms import UNKNOWN, host_platform, split_tag
from murmur.store.publish import read_archive_file
from murmur.store.ready import Ready, native_tag, owner_check, require_fit
from murmur.store.references import Pinned
from murmur.store.sources import unserved
from murmur.store.stores import Store, StoredArtifact, resolve


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
    wanted: Sequence[Pinned], stores: Sequence[Store], target: Target, fetcher: Fetcher
) -> list[Ready]:
    """Every wanted artifact, ready to be stored: from the first of `stores`, else its source.

    A manifest install looks into the project's own store first, a named artifact comes from the
    global store. Refusals come in the order of spec/diagnostics.md 6.6: what does not fit, the
    store, the sources. Raises E-WIT-LEVEL-001, E-REG-001, E-REG-002, E-REG-005, E-REG-006 and
    E-IDX-002; writes nothing.
    """
    platform = host_platform()
    stored = [resolve(item.name, item.version, stores, platform) for item in wanted]
    for item, found in zip(wanted, stored, strict=True):
        record = found.record() if found is not None else None
        if record is not None:  # by the record alone, before any payload is read
            require_fit(str(item), record.contracts)
    missing = [item for item, found in zip(wanted, stored, strict=True) if found is None]
    plans = fetcher.plan(missing) if missing else []
    for plan in plans:
        if isinstance(plan, MurmurError) and plan.code == "E-WIT-LEVEL-001":
            raise plan
    held = [None if found is None else _open(found, target.store) for found in stored]
    fetched = iter(fetcher.fetch(_settled(plans)))
    return [ready or next(fetched) for ready in held]


def _settled(plans: Sequence[Planned | MurmurError]) -> list[Planned]:
    settled = []
    for plan in plans:
        if isinstance(plan, MurmurError):
            raise plan
        settled.append(plan)
    return settled


def for_this_host(ready: Sequence[Ready]) -> list[Ready]:
    """The payloads of a whole release, marked so that the lock gets what this host would run.

    One version of an artifact is pinned, the newest; a payload for another platform is not.
    """
    newest: dict[FullName, str] = {}
    for item in ready:
        version = item.payload.manifest.version
        if item.tag in (None, host_platform()):
            held = newest.setdefault(item.name, version)
            newest[item.name] = max(held, version, key=version_order)
    return [
        dataclasses.replace(
            item,
            pinned=item.tag in (None, host_platform())
            and newest.get(item.name) == item.payload.manifest.version,
        )
        for item in ready
    ]


def newest_local(name: FullName, store: Store) -> Pinned:
    """The newest version of a `local/` artifact in the global store that fits and runs here.

    Raises E-REG-001 when there is none.
    """
    platform = host_platform()
    for version in store.versions(name):
        found = store.find(name, version, platform)
        if found is not None and not misfits(found.contracts(found.open()), served_level()):
            return Pinned(name, version)
    raise unserved(name, None)


def from_store_platforms(item: Pinned, store: Store) -> list[Ready]:
    """Every payload of one version that the global store holds, verified, where no source is.

    Raises E-REG-001 when there is none, E-REG-002 and E-WIT-LEVEL-001.
    """
    found = list(store.payloads(item.name, item.version))
    if not found:
        raise unserved(item.name, item.version)
    return [_open(each, store) for each in found]


def from_file(path: str) -> Ready:
    """The archive at `path` as `local/<name>`. Raises as `read_archive_file`; E-WIT-LEVEL-001."""
    payload = read_archive_file(path)
    name = FullName.of(LOCAL_SCOPE, payload.manifest.name)
    require_fit(f"{name}@{payload.manifest.version}", payload.contracts)
    try:
        _, named = split_tag(Path(path).name)
    except ValueError:
        named = None
    return Ready(name, payload, native_tag(payload, named))


def store_all(ready: Sequence[Ready], target: Target) -> Installed:
    """Stores every payload and writes the project's pins once.

    A project is held meanwhile, so that of two installs at once the second sees what the first
    pinned. Raises E-RUN-003 and E-REG-005 before anything is written, then E-IO-003.
    """
    if target.project is None:
        _put(ready, target)
        return Installed(tuple(ready))
    pins = [_pin(item) for item in ready if item.pinned]
    path = lock_path(target.project)
    with holding(target.project):
        _check_lock(read_lock(path), pins)
        _put(ready, target)
        _, adopted = merge_pins(pins, path)
    return Installed(tuple(ready), adopted)


def _put(ready: Sequence[Ready], target: Target) -> None:
    for item in ready:
        if not item.present:
            target.store.put(item.name, item.payload, item.tag, owner_id=item.owner_id)


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
    check = owner_check(lock)
    for new in pins:
        if new.owner_id is not None:
            check(f"{new.name}@{new.resolved_version}", new.name.scope, new.owner_id)
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

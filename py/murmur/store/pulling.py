"""What a running capsule may install, and what it may not: the decision of `manage.pull`.

Nothing is written here but the pin. spec/registry.md 18; spec/sessions.md 15.9;
spec/formations-and-newer-manifest.md A5.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from murmur.core.diagnostics import MurmurError
from murmur.manifest.grants import InstallGrant
from murmur.manifest.install_patterns import FORMS, parse_pattern
from murmur.manifest.names import is_full_name
from murmur.store.checks import conflict
from murmur.store.fetching import Fetcher
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock, Pin, holding, lock_path, merge_pins, read_lock, write_lock
from murmur.store.names import FullName, version_fault
from murmur.store.payload import Payload
from murmur.store.ready import owner_check
from murmur.store.references import Pinned
from murmur.store.sources import Sources
from murmur.store.stores import Store, StoredArtifact, resolve

Tier = Literal["skill", "tool"]

PREFIX: Final = "not-granted: "
"""How every refusal begins."""


class NotGranted(Exception):
    """A pull or removal that is refused; the text is what the component reads."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{PREFIX}{reason}")


@dataclasses.dataclass(frozen=True, slots=True)
class Pull:
    """An artifact that may be installed: its verified payload and what it counts as."""

    name: FullName
    version: str
    tier: Tier
    payload: Payload
    owner_id: int | None
    platform: str

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.version}"

    def pin(self, session: str) -> Pin:
        sha256 = self.payload.sha256
        native = self.payload.kind == "native"
        return Pin(
            self.name,
            self.version,
            any=None if native else sha256,
            platforms={self.platform: sha256} if native else {},
            owner_id=self.owner_id,
            origin="runtime",
            session=session,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Origins:
    """Where pulls are answered from. `sources` is asked only for a grant of `from: sources`."""

    stores: Sequence[Store]
    sources: Callable[[], Sources]
    platform: str
    environ: Mapping[str, str]


def decide(
    grant: InstallGrant | None,
    name: str,
    version: str,
    origins: Origins,
    lock: Lock | None,
    reserved: Sequence[str],
) -> Pull:
    """The pull of one artifact, in the documented order. Raises NotGranted.

    Until some entry matches the name, no store is read.
    """
    full = granted_name(grant, name)
    assert grant is not None
    fault = version_fault(version)
    if fault is not None:
        raise NotGranted(f"the version '{version}' is no single path segment: {fault}")
    if full.name in reserved:
        raise NotGranted(
            f"{full} has the name of a tool that the runtime itself provides; reserved are "
            + ", ".join(reserved)
        )
    try:
        payload, owner_id, fit = _resolve(grant, full, version, origins, lock)
    except MurmurError as refused:
        raise NotGranted(f"{refused.code}: {refused.message}") from None
    tier = _tier(full, payload)
    _check_packed(full, version, payload)
    if not _matches(getattr(grant, tier), full):
        raise NotGranted(f"{full} is a {tier}, and no capabilities.install.{tier} entry matches it")
    if fit is not None:
        raise NotGranted(f"{full}@{version} does not fit this mur: {fit}")
    return Pull(full, version, tier, payload, owner_id, origins.platform)


def granted_name(grant: InstallGrant | None, name: str) -> FullName:
    """The full name, when some entry of either list matches it. Raises NotGranted."""
    if grant is None or not (grant.skill or grant.tool):
        raise NotGranted("the capsule declares no capabilities.install")
    if not is_full_name(name):
        raise NotGranted(f"'{name}' is no full artifact name, <scope>/<name>")
    full = FullName(name)
    if not _matches((*grant.skill, *grant.tool), full):
        raise NotGranted(f"no capabilities.install entry matches {full}; entries are {FORMS}")
    return full


def _matches(entries: Sequence[str], name: FullName) -> bool:
    return any(parse_pattern(entry).matches(name.text) for entry in entries)


def _resolve(
    grant: InstallGrant, name: FullName, version: str, origins: Origins, lock: Lock | None
) -> tuple[Payload, int | None, str | None]:
    """The verified payload, its owner id, and why it does not fit; from the first that has it.

    Raises NotGranted and what the stores and sources refuse with.
    """
    stored = resolve(name, version, origins.stores, origins.platform)
    if stored is not None:
        payload = stored.open(origins.environ)
        return payload, _owner(stored), _misfit(stored, payload)
    if "sources" not in grant.sources:
        raise NotGranted(f"{name}@{version} is in no store, and capabilities.install.from lists no "
                         "sources")  # fmt: skip
    fetcher = Fetcher(origins.sources, origins.stores[-1], owner_check(lock))
    (plan,) = fetcher.plan([Pinned(name, version)])
    if isinstance(plan, MurmurError):
        raise plan
    (ready,) = fetcher.fetch([plan])
    return ready.payload, ready.owner_id, None


def _owner(stored: StoredArtifact) -> int | None:
    record = stored.record()
    return record.owner_id if record is not None else None


def _misfit(stored: StoredArtifact, payload: Payload) -> str | None:
    wrong = misfits(stored.contracts(payload), served_level())
    return "; ".join(map(str, wrong)) if wrong else None


def _tier(name: FullName, payload: Payload) -> Tier:
    """What the payload counts as, by packaging type and role together. Raises NotGranted."""
    kind, role = payload.kind, payload.manifest.runtime
    if kind == "static" and role == "skill":
        return "skill"
    if kind in ("wasm", "native") and role == "tool":
        return "tool"
    raise NotGranted(
        f"{name} is a {role} packaged as {kind}, and a running capsule installs skills and tools "
        "only"
    )


def _check_packed(name: FullName, version: str, payload: Payload) -> None:
    found = (payload.manifest.name, payload.manifest.version)
    if found != (name.name, version):
        raise NotGranted(f"the archive of {name}@{version} says that it is {found[0]}@{found[1]}")


def pin_pull(project: Path, pull: Pull, session: str) -> Pin:
    """Pins a pull in the project's lock and returns the entry as it stands then.

    Raises NotGranted where the lock holds another version or other bytes, and what reading and
    writing the lock raises.
    """
    path = lock_path(project)
    new = pull.pin(session)
    with holding(project):
        lock = read_lock(path)
        held = lock.find(pull.name) if lock is not None else None
        if held is not None:
            _check_held(held, new)
        merged, _ = merge_pins([new], path)
    pin = merged.find(pull.name)
    assert pin is not None
    return pin


def check_pull(lock: Lock | None, pull: Pull, session: str) -> None:
    """What `pin_pull` would refuse, before anything is written. Raises NotGranted."""
    held = lock.find(pull.name) if lock is not None else None
    if held is not None:
        _check_held(held, pull.pin(session))


def _check_held(held: Pin, new: Pin) -> None:
    reason = conflict(held, new)
    if held.resolved_version != new.resolved_version:
        reason = f"murmur.lock pins it at {held.resolved_version}"
    if reason is not None:
        raise NotGranted(f"{new.name}@{new.resolved_version}: {reason}")


def unpin(project: Path, name: FullName, declared: bool) -> bool:
    """Takes a pulled artifact's pin away; False when there is none.

    Raises NotGranted for an artifact that the manifest declares or an operator pinned, and what
    reading and writing the lock raises.
    """
    if declared:
        raise NotGranted(f"murmur.yaml declares {name}; remove it there")
    path = lock_path(project)
    with holding(project):
        lock = read_lock(path)
        held = lock.find(name) if lock is not None else None
        if lock is None or held is None:
            return False
        if held.origin != "runtime":
            raise NotGranted(f"{name} was pinned by the operator, not by a running capsule")
        write_lock(path, lock.without(name))
    return True
